import { Title } from '@mantine/core';
import type { Provider } from '../../../../src/model/records/providers.ts';
import { Answer } from '../../parts/Answer.tsx';
import { type Column, Rows } from '../../parts/Rows.tsx';
import { Status } from '../../parts/Status.tsx';
import { useAnswer } from '../../service/useService.ts';
import { useOrganization } from './organization.tsx';

export function Providers() {
  const { of } = useOrganization();
  const asked = useAnswer<{ providers: Provider[] }>(of('records/providers'));
  return (
    <>
      <Title order={2} size="h4" mb="sm">
        Providers
      </Title>
      <Answer to={asked}>
        {({ providers }) => (
          <Rows
            label="Providers"
            rows={providers}
            columns={columns}
            keyOf={(row) => row.id}
            href={(row) => `/providers/${row.id}`}
            empty="No provider is held yet. They come with the next sync."
          />
        )}
      </Answer>
    </>
  );
}

const columns: Column<Provider>[] = [
  { head: 'Name', cell: (row) => row.name },
  { head: 'NPI', cell: (row) => row.npi ?? '–' },
  { head: 'EMR ID', cell: (row) => row.ehr_id },
  { head: 'Works on', cell: (row) => daysOf(row.hours) },
  { head: 'In availability', cell: (row) => (row.hide_in_availability ? 'Hidden' : 'Shown') },
  { head: 'Status', cell: (row) => <Status of={row.status} /> },
];

function daysOf(hours: Provider['hours']): string {
  const worked = hours.filter(({ shifts }) => shifts.length > 0);
  return worked.length === 0 ? 'No hours' : worked.map(({ day }) => day.slice(0, 3)).join(', ');
}
