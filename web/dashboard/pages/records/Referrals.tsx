import { Stack, Title } from '@mantine/core';
import type { Column } from '../../parts/DataTable.tsx';
import { BackLink } from '../../parts/layout.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { usePages, useQuery } from '../../service/queries.ts';
import type { Referral } from '../../service/types.ts';
import { DateFilters, useDateFilters } from './DateFilters.tsx';
import { Day } from './Day.tsx';
import { useOrganization } from './organization.tsx';
import { RecordFields } from './RecordFields.tsx';
import { SearchList } from './RecordList.tsx';

export function Referrals() {
  const { params } = useOrganization();
  const state = useDateFilters();
  const query = usePages('referrals.search', params, { filters: state.filters });
  return (
    <SearchList
      kind="referrals"
      title="Referrals"
      query={query}
      filtered={Object.keys(state.filters).length > 0}
      columns={[...referral_columns, { head: 'Patient', cell: patientName }]}
      rowKey={(row) => row.id}
      href={(row) => `/referrals/${row.id}`}
    >
      <DateFilters state={state} />
    </SearchList>
  );
}

export const referral_columns: Column<Referral>[] = [
  { head: 'Referral', cell: (row) => row.ehr_id },
  { head: 'Date', cell: (row) => <Day of={row.referral_date} /> },
  { head: 'Priority', cell: (row) => row.priority ?? row.urgency ?? '–' },
  { head: 'From', cell: (row) => row.from_provider_name ?? row.from_provider_ehr_id ?? '–' },
  { head: 'To', cell: (row) => row.to_provider_name ?? row.to_provider_ehr_id ?? '–' },
  { head: 'Status', cell: (row) => row.status ?? '–' },
  { head: 'Documents', cell: (row) => row.document_ids.length, align: 'right' },
];

function patientName({ patient_first_name, patient_last_name }: Referral): string {
  return [patient_last_name, patient_first_name].filter(Boolean).join(', ') || '–';
}

export function ReferralPage({ id }: { id: string }) {
  const { params } = useOrganization();
  const query = useQuery('records.get', { ...params, kind: 'referrals', id });
  return (
    <QueryResult query={query}>
      {({ record }) =>
        'referral_date' in record && (
          <Stack>
            <div>
              <BackLink href="/referrals">All referrals</BackLink>
              <Title order={2} size="h2">
                Referral {record.ehr_id}
              </Title>
            </div>
            <RecordFields title="Details" of={record} />
          </Stack>
        )
      }
    </QueryResult>
  );
}
