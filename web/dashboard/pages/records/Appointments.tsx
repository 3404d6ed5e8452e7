import { Title } from '@mantine/core';
import type { Appointment } from '../../../../src/model/records/appointments.ts';
import type { Provider } from '../../../../src/model/records/providers.ts';
import { Moment } from '../../parts/Moment.tsx';
import { type Column, PagedRows } from '../../parts/Rows.tsx';
import { usePages } from '../../service/usePages.ts';
import { useAnswer } from '../../service/useService.ts';
import { DayFilters, useDayFilters } from './DayFilters.tsx';
import { useOrganization } from './organization.tsx';

export function Appointments() {
  const { of } = useOrganization();
  const filters = useDayFilters();
  const found = usePages<Appointment>(of('records/appointments/search'), { search: filters.search });
  const providers = useAnswer<{ providers: Provider[] }>(of('records/providers'));
  const options = (providers.data?.providers ?? []).map(({ ehr_id, name }) => ({ value: ehr_id, label: name }));
  return (
    <>
      <Title order={2} size="h4" mb="sm">
        Appointments
      </Title>
      <DayFilters filters={filters} choice={{ name: 'provider_ehr_id', label: 'Provider', options }} />
      <PagedRows
        of={found}
        label="Appointments"
        columns={[patient_column, ...appointment_columns]}
        keyOf={(row) => row.id}
        href={(row) => `/appointments/${row.id}`}
        empty={filters.narrowed ? 'No appointment matches. Choose other days.' : 'No appointment is held yet.'}
      />
    </>
  );
}

const patient_column: Column<Appointment> = { head: 'Patient', cell: (row) => row.patient_name ?? '–' };

export const appointment_columns: Column<Appointment>[] = [
  { head: 'Starts', cell: (row) => <Moment at={row.datetime} /> },
  { head: 'Minutes', cell: (row) => row.duration, align: 'right' },
  { head: 'Type', cell: (row) => row.appointment_type },
  { head: 'Status', cell: (row) => row.status },
  { head: 'Provider', cell: (row) => row.provider_name ?? row.provider_ehr_id },
];
