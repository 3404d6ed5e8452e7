import { Stack, Title } from '@mantine/core';
import type { Column } from '../../parts/DataTable.tsx';
import { BackLink } from '../../parts/layout.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { usePages, useQuery } from '../../service/queries.ts';
import type { Claim } from '../../service/types.ts';
import { DateFilters, useDateFilters } from './DateFilters.tsx';
import { useOrganization } from './organization.tsx';
import { money, RecordFields, RecordTable } from './RecordFields.tsx';
import { SearchList } from './RecordList.tsx';

export function Claims() {
  const { params } = useOrganization();
  const state = useDateFilters();
  const query = usePages('claims.search', params, { filters: state.filters });
  return (
    <SearchList
      kind="claims"
      title="Claims"
      query={query}
      filtered={Object.keys(state.filters).length > 0}
      columns={[...claim_columns, { head: 'Patient', cell: (row) => row.patient_name ?? '–' }]}
      rowKey={(row) => row.id}
      href={(row) => `/claims/${row.id}`}
    >
      <DateFilters state={state} />
    </SearchList>
  );
}

export const claim_columns: Column<Claim>[] = [
  { head: 'Claim', cell: (row) => row.emr_claim_id },
  { head: 'Service date', cell: (row) => <time>{row.service_date}</time> },
  { head: 'Status', cell: (row) => row.claim_status_description ?? row.claim_status ?? '–' },
  { head: 'Charge', cell: (row) => money(row.total_charge), align: 'right' },
  { head: 'Paid', cell: (row) => money(row.total_payment), align: 'right' },
  { head: 'Balance', cell: (row) => money(row.balance), align: 'right' },
];

/** Who pays for whom. */
const insurance_fields = [
  'insurance_name',
  'insurance_type',
  'claim_indicator_description',
  'subscriber_name',
  'subscriber_number',
];

export function ClaimPage({ id }: { id: string }) {
  const { params } = useOrganization();
  const query = useQuery('records.get', { ...params, kind: 'claims', id });
  return (
    <QueryResult query={query}>
      {({ record }) =>
        'emr_claim_id' in record && (
          <Stack>
            <div>
              <BackLink href="/claims">All claims</BackLink>
              <Title order={2} size="h4">
                Claim {record.emr_claim_id}
              </Title>
            </div>
            <RecordFields title="Details" of={record} />
            <RecordTable title="Line items" rows={record.line_items} />
            <RecordTable title="Payments" rows={record.payments} />
            <RecordTable title="Insurances" rows={record.insurances} shown={insurance_fields} />
            <RecordFields title="Balances" of={record.balances} />
            <RecordFields title="Voids and copies" of={record.void_claim} />
            <RecordTable title="Submissions" rows={record.submission_history.entries} />
            <RecordTable title="Billing activity" rows={record.billing_activity_log} />
          </Stack>
        )
      }
    </QueryResult>
  );
}
