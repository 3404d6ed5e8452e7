import { Stack, Text, Title } from '@mantine/core';
import { BackLink, Section } from '../../parts/layout.tsx';
import type { Column } from '../../parts/lists/DataTable.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Status, statusLabel } from '../../parts/Status.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Copyable, Fields } from '../../parts/values.tsx';
import { usePages, useQuery } from '../../service/queries.ts';
import type { EligibilityCheck } from '../../service/types.ts';
import { DateFilters, useDateFilters } from './DateFilters.tsx';
import { Day } from './Day.tsx';
import { useOrganization } from './organization.tsx';
import { money, RecordTable } from './RecordFields.tsx';
import { SearchList } from './RecordList.tsx';

const path = '/eligibility-checks';

export function EligibilityChecks() {
  const { params } = useOrganization();
  const state = useDateFilters();
  const query = usePages('eligibility-checks.search', params, { filters: state.filters });
  const options = ['active', 'inactive', 'error', 'unknown'].map((value) => ({ value, label: statusLabel(value) }));
  return (
    <SearchList
      kind="eligibility_checks"
      title="Eligibility checks"
      query={query}
      filtered={Object.keys(state.filters).length > 0}
      columns={[...eligibility_columns, { head: 'Patient', cell: (row) => row.patient_name ?? '–' }]}
      rowKey={(row) => row.id}
      href={eligibilityPath}
    >
      <DateFilters state={state} selects={[{ name: 'coverage_status', label: 'Coverage', options }]} />
    </SearchList>
  );
}

export function eligibilityPath({ id }: EligibilityCheck): string {
  return `${path}/${id}`;
}

export const eligibility_columns: Column<EligibilityCheck>[] = [
  { head: 'Check', cell: (row) => row.emr_id },
  { head: 'Service date', cell: (row) => <Day of={row.service_date} /> },
  { head: 'Coverage', cell: (row) => <Status of={row.coverage_status} /> },
  { head: 'Payer', cell: (row) => row.payer_name ?? '–' },
  { head: 'Deductible', cell: (row) => money(row.benefits_summary.deductible), align: 'right' },
  { head: 'Out of pocket', cell: (row) => money(row.benefits_summary.out_of_pocket), align: 'right' },
];

export function EligibilityPage({ id }: { id: string }) {
  const { params } = useOrganization();
  const query = useQuery('records.get', { ...params, kind: 'eligibility_checks', id });
  return (
    <QueryResult query={query}>
      {({ record }) =>
        'coverage_status' in record && (
          <Stack>
            <div>
              <BackLink href={path}>All eligibility checks</BackLink>
              <Title order={2} size="h2">
                Eligibility check {record.emr_id}
              </Title>
            </div>
            <Details of={record} />
            <Benefits id={id} />
          </Stack>
        )
      }
    </QueryResult>
  );
}

function Details({ of }: { of: EligibilityCheck }) {
  const { deductible, out_of_pocket } = of.benefits_summary;
  return (
    <Section title="Details" order={3}>
      <Fields
        of={{
          Patient: of.patient_name,
          'Date of birth': of.patient_dob && <Day of={of.patient_dob} />,
          Coverage: <Status of={of.coverage_status} />,
          ...(of.status_message && { Explanation: of.status_message }),
          'Service date': <Day of={of.service_date} />,
          Payer: of.payer_name,
          Plan: of.plan_name,
          'Plan begins': of.plan_begin_date && <Day of={of.plan_begin_date} />,
          'Plan ends': of.plan_end_date && <Day of={of.plan_end_date} />,
          Subscriber: of.subscriber_name,
          'Member ID': of.subscriber_member_id,
          Relationship: of.patient_relationship,
          Provider: of.provider_name,
          Deductible: money(deductible),
          'Out of pocket': money(out_of_pocket),
          'Answered by the payer': of.response_at && <Timestamp at={of.response_at} />,
          'EMR visit ID': of.emr_encounter_id,
          'Check ID': <Copyable value={of.id} label="check ID" />,
        }}
      />
    </Section>
  );
}

const benefit_fields = [
  'line_number',
  'benefit_type',
  'coverage_level',
  'time_period',
  'amount',
  'percent',
  'network_indicator',
];

function Benefits({ id }: { id: string }) {
  const { params } = useOrganization();
  const query = useQuery('eligibility-checks.benefits', { ...params, id });
  return (
    <QueryResult query={query}>
      {({ benefits, total }) => (
        <>
          <RecordTable title="Benefits" rows={benefits} shown={benefit_fields} />
          {total > benefits.length && (
            <Text size="sm" c="dimmed">
              The first {benefits.length.toLocaleString()} of {total.toLocaleString()}. The API returns all of them.
            </Text>
          )}
        </>
      )}
    </QueryResult>
  );
}
