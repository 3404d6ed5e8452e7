import { Stack, Title } from '@mantine/core';
import type { Column } from '../../parts/DataTable.tsx';
import { BackLink } from '../../parts/layout.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { usePages, useQuery } from '../../service/queries.ts';
import type { Appointment } from '../../service/types.ts';
import { DateFilters, useDateFilters } from './DateFilters.tsx';
import { useOrganization } from './organization.tsx';
import { PracticeTime } from './PracticeTime.tsx';
import { RecordFields, RecordTable } from './RecordFields.tsx';
import { SearchList, useRecords } from './RecordList.tsx';

export function Appointments() {
  const { params } = useOrganization();
  const state = useDateFilters();
  const query = usePages('appointments.search', params, { filters: state.filters });
  const providers = useRecords('providers').data?.providers ?? [];
  const options = providers.map(({ ehr_id, name }) => ({ value: ehr_id, label: name }));
  return (
    <SearchList
      kind="appointments"
      title="Appointments"
      query={query}
      filtered={Object.keys(state.filters).length > 0}
      columns={[{ head: 'Patient', cell: (row) => row.patient_name ?? '–' }, ...appointment_columns]}
      rowKey={(row) => row.id}
      href={(row) => `/appointments/${row.id}`}
    >
      <DateFilters state={state} select={{ name: 'provider_ehr_id', label: 'Provider', options }} />
    </SearchList>
  );
}

export const appointment_columns: Column<Appointment>[] = [
  { head: 'Start (practice time)', cell: (row) => <PracticeTime at={row.datetime} /> },
  { head: 'Minutes', cell: (row) => row.duration, align: 'right' },
  { head: 'Type', cell: (row) => row.appointment_type },
  { head: 'Status', cell: (row) => row.status },
  { head: 'Provider', cell: (row) => row.provider_name ?? row.provider_ehr_id },
];

export function AppointmentPage({ id }: { id: string }) {
  const { params } = useOrganization();
  const query = useQuery('records.get', { ...params, kind: 'appointments', id });
  return (
    <QueryResult query={query}>
      {({ record }) =>
        'datetime' in record && (
          <Stack>
            <div>
              <BackLink href="/appointments">All appointments</BackLink>
              <Title order={2} size="h4">
                Appointment on <PracticeTime at={record.datetime} />
              </Title>
            </div>
            <RecordFields title="Details" of={record} shown={{ datetime: <PracticeTime at={record.datetime} /> }} />
            <RecordTable title="Insurances" rows={record.insurances} />
            <RecordTable title="Diagnoses" rows={record.diagnoses} />
            <RecordTable title="Medications" rows={record.medications} />
          </Stack>
        )
      }
    </QueryResult>
  );
}
