import { Title } from '@mantine/core';
import type { Claim } from '../../../../src/model/records/claims.ts';
import { type Column, PagedRows } from '../../parts/Rows.tsx';
import { usePages } from '../../service/usePages.ts';
import { DayFilters, useDayFilters } from './DayFilters.tsx';
import { useOrganization } from './organization.tsx';
import { money } from './words.ts';

export function Claims() {
  const { of } = useOrganization();
  const filters = useDayFilters();
  const found = usePages<Claim>(of('records/claims/search'), { search: filters.search });
  return (
    <>
      <Title order={2} size="h4" mb="sm">
        Claims
      </Title>
      <DayFilters filters={filters} />
      <PagedRows
        of={found}
        label="Claims"
        columns={[...claim_columns, patient_column]}
        keyOf={(row) => row.id}
        href={(row) => `/claims/${row.id}`}
        empty={filters.narrowed ? 'No claim matches. Choose other days.' : 'No claim is held yet.'}
      />
    </>
  );
}

const patient_column: Column<Claim> = { head: 'Patient', cell: (row) => row.patient_name ?? '–' };

export const claim_columns: Column<Claim>[] = [
  { head: 'Claim', cell: (row) => row.emr_claim_id },
  { head: 'Service date', cell: (row) => <time>{row.service_date}</time> },
  { head: 'Status', cell: (row) => row.claim_status_description ?? row.claim_status ?? '–' },
  { head: 'Charge', cell: (row) => money(row.total_charge), align: 'right' },
  { head: 'Paid', cell: (row) => money(row.total_payment), align: 'right' },
  { head: 'Balance', cell: (row) => money(row.balance), align: 'right' },
];
