import { Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { BackLink, Section } from '../../parts/layout.tsx';
import type { Column } from '../../parts/lists/DataTable.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Status } from '../../parts/Status.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Copyable, Fields } from '../../parts/values.tsx';
import { usePages, useQuery } from '../../service/queries.ts';
import type { Appointment } from '../../service/types.ts';
import { type Code, describeCode } from './codes.ts';
import { DateFilters, useDateFilters } from './DateFilters.tsx';
import { Day } from './Day.tsx';
import { useOrganization } from './organization.tsx';
import { PracticeTime } from './PracticeTime.tsx';
import { RecordTable } from './RecordFields.tsx';
import { SearchList, useRecords } from './RecordList.tsx';

export function Appointments() {
  const { params } = useOrganization();
  const state = useDateFilters({ today_first: true });
  const query = usePages('appointments.search', params, { filters: state.filters });
  const providers = useRecords('providers').data?.providers ?? [];
  const { statuses, columns } = useAppointmentColumns();
  const selects = [
    {
      name: 'provider_ids',
      label: 'Provider',
      options: providers.map(({ ehr_id, name }) => ({ value: ehr_id, label: name })),
    },
    {
      name: 'status',
      label: 'Status',
      options: [
        ...Object.entries(own_statuses).map(([value, label]) => ({ value, label })),
        ...statuses
          .filter(({ code }) => !(code in own_statuses))
          .map(({ code }) => ({ value: code, label: describeCode(code, statuses) })),
      ],
    },
  ];
  return (
    <SearchList
      kind="appointments"
      title="Appointments"
      query={query}
      filtered={Object.keys(state.filters).length > 0}
      columns={[{ head: 'Patient', cell: (row) => row.patient_name ?? '–' }, ...columns]}
      rowKey={(row) => row.id}
      href={(row) => `/appointments/${row.id}`}
      below={failureReason}
    >
      <DateFilters state={state} selects={selects} />
    </SearchList>
  );
}

/** The statuses of bookings that the EMR does not have. An EMR may have a status of the same name. */
const own_statuses = { pending: 'Pending booking', failed: 'Failed booking' } as const;

/** The columns of a list of appointments. A canceled one is struck through. */
export function useAppointmentColumns(): { statuses: readonly Code[]; columns: Column<Appointment>[] } {
  const statuses = useRecords('visit_statuses').data?.visit_statuses ?? [];
  const types = useRecords('visit_types').data?.visit_types ?? [];
  const mark = (row: Appointment, cell: ReactNode) => (isCanceled(row, statuses) ? <s>{cell}</s> : cell);
  const columns: Column<Appointment>[] = [
    { head: 'Start (practice time)', cell: (row) => mark(row, <PracticeTime at={row.datetime} />) },
    { head: 'Minutes', cell: (row) => mark(row, row.duration), align: 'right' },
    { head: 'Type', cell: (row) => mark(row, describeCode(row.appointment_type, types)) },
    { head: 'Status', cell: (row) => <AppointmentStatus of={row} statuses={statuses} /> },
    { head: 'Provider', cell: (row) => mark(row, row.provider_name ?? row.provider_ehr_id) },
  ];
  return { statuses, columns };
}

/** As the API decides it for the word `cancelled`. */
function isCanceled({ status }: Appointment, statuses: readonly Code[]): boolean {
  return /\bcancel/i.test(describeCode(status, statuses));
}

function AppointmentStatus({ of, statuses }: { of: Appointment; statuses: readonly Code[] }) {
  return of.ehr_appointment_id === null ? <Status of={of.status} /> : describeCode(of.status, statuses);
}

/** Why a booking was not made. */
export function failureReason({ failure_reason }: Appointment): ReactNode {
  return failure_reason === undefined ? null : (
    <Text size="sm" c="red">
      {failure_reason}
    </Text>
  );
}

export function AppointmentPage({ id }: { id: string }) {
  const { params } = useOrganization();
  const query = useQuery('records.get', { ...params, kind: 'appointments', id });
  const statuses = useRecords('visit_statuses').data?.visit_statuses ?? [];
  const types = useRecords('visit_types').data?.visit_types ?? [];
  return (
    <QueryResult query={query}>
      {({ record }) =>
        'datetime' in record && (
          <Stack>
            <div>
              <BackLink href="/appointments">All appointments</BackLink>
              <Title order={2} size="h2">
                Appointment on <PracticeTime at={record.datetime} />
              </Title>
            </div>
            {failureReason(record)}
            <Details of={record} statuses={statuses} types={types} />
            <RecordTable title="Insurances" rows={record.insurances} />
            <RecordTable title="Diagnoses" rows={record.diagnoses} />
            <RecordTable title="Medications" rows={record.medications} />
          </Stack>
        )
      }
    </QueryResult>
  );
}

type DetailsProps = { of: Appointment; statuses: readonly Code[]; types: readonly Code[] };

/** What staff ask about a visit; its insurances, diagnoses and medications have tables of their own. */
function Details({ of, statuses, types }: DetailsProps) {
  const locations = useRecords('locations').data?.locations ?? [];
  const providers = useRecords('providers').data?.providers ?? [];
  const second = of.secondary_provider_ehr_id;
  return (
    <Section title="Details" order={3}>
      <Fields
        of={{
          Patient: of.patient_name,
          MRN: of.patient_mrn,
          'Date of birth': of.patient_dob && <Day of={of.patient_dob} />,
          Phone: of.patient_phone,
          Status: <AppointmentStatus of={of} statuses={statuses} />,
          Type: describeCode(of.appointment_type, types),
          Duration: `${of.duration} min`,
          Mode: of.appointment_mode,
          Provider: of.provider_name ?? of.provider_ehr_id,
          ...(second && { 'Second provider': providers.find(({ ehr_id }) => ehr_id === second)?.name ?? second }),
          Location: locations.find(({ ehr_id }) => ehr_id === of.location)?.name ?? of.location,
          Reason: of.reason,
          ...(of.complaint_type && { Complaint: of.complaint_type }),
          ...(of.note && { Note: of.note }),
          ...(of.progress_note && { 'Progress note': of.progress_note }),
          'Insurance subscriber': of.insurance_subscriber,
          'Created in the EMR': of.created_at && <Timestamp at={of.created_at} />,
          'EMR appointment ID': of.ehr_appointment_id,
          'Appointment ID': <Copyable value={of.id} label="appointment ID" />,
        }}
      />
    </Section>
  );
}
