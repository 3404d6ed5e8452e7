import { Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Column } from '../../parts/DataTable.tsx';
import { BackLink } from '../../parts/layout.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Status } from '../../parts/Status.tsx';
import { usePages, useQuery } from '../../service/queries.ts';
import type { Appointment } from '../../service/types.ts';
import { type Code, describeCode } from './codes.ts';
import { DateFilters, useDateFilters } from './DateFilters.tsx';
import { useOrganization } from './organization.tsx';
import { PracticeTime } from './PracticeTime.tsx';
import { RecordFields, RecordTable } from './RecordFields.tsx';
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
            <RecordFields
              title="Details"
              of={record}
              shown={{
                datetime: <PracticeTime at={record.datetime} />,
                appointment_type: describeCode(record.appointment_type, types),
                status: <AppointmentStatus of={record} statuses={statuses} />,
              }}
            />
            <RecordTable title="Insurances" rows={record.insurances} />
            <RecordTable title="Diagnoses" rows={record.diagnoses} />
            <RecordTable title="Medications" rows={record.medications} />
          </Stack>
        )
      }
    </QueryResult>
  );
}
