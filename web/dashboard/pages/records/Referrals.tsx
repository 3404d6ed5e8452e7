import { Stack, Title } from '@mantine/core';
import { BackLink, Section } from '../../parts/layout.tsx';
import type { Column } from '../../parts/lists/DataTable.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Copyable, Fields } from '../../parts/values.tsx';
import { usePages, useQuery } from '../../service/queries.ts';
import type { Referral } from '../../service/types.ts';
import { DateFilters, useDateFilters } from './DateFilters.tsx';
import { Day } from './Day.tsx';
import { useOrganization } from './organization.tsx';
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
            <Details of={record} />
          </Stack>
        )
      }
    </QueryResult>
  );
}

function Details({ of }: { of: Referral }) {
  return (
    <Section title="Details" order={3}>
      <Fields
        of={{
          Patient: patientName(of),
          MRN: of.patient_mrn,
          'Date of birth': of.patient_dob && <Day of={of.patient_dob} />,
          'Referral date': <Day of={of.referral_date} />,
          From: of.from_provider_name ?? of.from_provider_ehr_id,
          To: of.to_provider_name ?? of.to_provider_ehr_id,
          Priority: of.priority,
          ...(of.urgency && { Urgency: of.urgency }),
          Status: of.status,
          Diagnoses: of.diagnosis_codes.join(', '),
          Reason: of.reason,
          'EMR documents': of.document_ids.join(', '),
          'Last activity in the EMR': of.last_activity_at && <Timestamp at={of.last_activity_at} />,
          'Last changed in a sync': <Timestamp at={of.synced_at} />,
          'Referral ID': <Copyable value={of.id} label="referral ID" />,
        }}
      />
    </Section>
  );
}
