import { Stack, Title } from '@mantine/core';
import { BackLink, Section } from '../../parts/layout.tsx';
import type { Column } from '../../parts/lists/DataTable.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Fields } from '../../parts/values.tsx';
import { usePages, useQuery } from '../../service/queries.ts';
import type { Claim } from '../../service/types.ts';
import { withCode } from './codes.ts';
import { DateFilters, useDateFilters } from './DateFilters.tsx';
import { Day } from './Day.tsx';
import { useOrganization } from './organization.tsx';
import { money, RecordFields, RecordTable } from './RecordFields.tsx';
import { SearchList } from './RecordList.tsx';

export function Claims() {
  const { params } = useOrganization();
  const state = useDateFilters();
  const query = usePages('claims.search', params, { filters: state.filters });
  const codes = new Map(
    (query.data ?? []).flatMap((row) => (row.claim_status ? [[row.claim_status, claimStatus(row)]] : [])),
  );
  const statuses = [...codes].map(([value = '', label = '']) => ({ value, label }));
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
      <DateFilters state={state} exact={[{ name: 'claim_status', label: 'Status code', options: statuses }]} />
    </SearchList>
  );
}

export const claim_columns: Column<Claim>[] = [
  { head: 'Claim', cell: (row) => row.emr_claim_id },
  { head: 'Service date', cell: (row) => <Day of={row.service_date} /> },
  { head: 'Status', cell: claimStatus },
  { head: 'Charge', cell: (row) => money(row.total_charge), align: 'right' },
  { head: 'Paid', cell: (row) => money(row.total_payment), align: 'right' },
  { head: 'Balance', cell: (row) => money(row.balance), align: 'right' },
];

/** `Paid in full (PAI)` */
function claimStatus({ claim_status, claim_status_description }: Claim): string {
  return describePair(claim_status, claim_status_description) ?? '–';
}

/** The code and its description in one field: `Primary (P)`. */
function describeInsurance({ claim_indicator_description, ...insurance }: Claim['insurances'][number]) {
  return { ...insurance, claim_indicator: describePair(insurance.claim_indicator, claim_indicator_description) };
}

function describePair(code: string | null, description: string | null): string | null {
  return code === null ? description : withCode(description ?? code, code);
}

/** What billing staff look for, each amount once. */
function Details({ claim }: { claim: Claim }) {
  const { balances } = claim;
  const amount = (text: string | null) => (text === null ? '–' : money(Number(text)));
  return (
    <Section title="Details" order={3}>
      <Fields
        of={{
          Patient: claim.patient_name,
          Provider: claim.provider_name,
          'Service date': <Day of={claim.service_date} />,
          'Claim date': <Day of={claim.claim_date} />,
          Status: claimStatus(claim),
          Type: claim.claim_type,
          ...(claim.void_flag && { Void: 'Yes' }),
          Diagnoses: claim.icd_codes.join(', '),
          Charge: money(claim.total_charge),
          Paid: money(claim.total_payment),
          'Paid by patient': amount(balances.patient_payment),
          Adjustment: money(claim.net_adjustment),
          'Patient responsibility': money(claim.patient_responsibility),
          'Patient balance': amount(balances.patient_balance),
          Balance: <strong>{money(claim.balance)}</strong>,
          'Billing notes': claim.billing_notes,
          'EMR appointment ID': claim.emr_appointment_id,
          'Last changed in a sync': <Timestamp at={claim.synced_at} />,
        }}
      />
    </Section>
  );
}

/** Who pays for whom. */
const insurance_fields = [
  'insurance_name',
  'insurance_type',
  'claim_indicator',
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
              <Title order={2} size="h2">
                Claim {record.emr_claim_id}
              </Title>
            </div>
            <Details claim={record} />
            <RecordTable title="Line items" rows={record.line_items} />
            <RecordTable title="Payments" rows={record.payments} />
            <RecordTable title="Insurances" rows={record.insurances.map(describeInsurance)} shown={insurance_fields} />
            <RecordFields title="Voids and copies" of={record.void_claim} />
            <RecordTable title="Submissions" rows={record.submission_history.entries} />
            <RecordTable title="Billing activity" rows={record.billing_activity_log} />
          </Stack>
        )
      }
    </QueryResult>
  );
}
