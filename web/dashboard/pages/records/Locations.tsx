import { Title } from '@mantine/core';
import type { Location } from '../../../../src/model/records/locations.ts';
import { ActButton } from '../../parts/ActButton.tsx';
import { Answer } from '../../parts/Answer.tsx';
import { type Column, Rows } from '../../parts/Rows.tsx';
import { Status } from '../../parts/Status.tsx';
import { ask } from '../../service/ask.ts';
import { useSession } from '../../service/session.tsx';
import { useAnswer } from '../../service/useService.ts';
import { useOrganization } from './organization.tsx';

export function Locations() {
  const { of } = useOrganization();
  const { may } = useSession();
  const asked = useAnswer<{ locations: Location[] }>(of('records/locations'));
  return (
    <>
      <Title order={2} size="h4" mb="sm">
        Locations
      </Title>
      <Answer to={asked}>
        {({ locations }) => (
          <Rows
            label="Locations"
            rows={locations}
            columns={may('operator') ? [...columns, action] : columns}
            keyOf={(row) => row.id}
            empty="No location is held yet. They come with the next sync."
          />
        )}
      </Answer>
    </>
  );
}

const columns: Column<Location>[] = [
  { head: 'Name', cell: (row) => row.name },
  {
    head: 'Address',
    cell: ({ address }) => [address.address1, address.city, address.state].filter(Boolean).join(', ') || '–',
  },
  { head: 'Phone', cell: (row) => row.phone ?? '–' },
  { head: 'EMR ID', cell: (row) => row.ehr_id },
  { head: 'Status', cell: (row) => <Status of={row.status} /> },
];

const action: Column<Location> = { head: 'Actions', cell: (row) => <Switching location={row} /> };

function Switching({ location }: { location: Location }) {
  const { of } = useOrganization();
  const status = location.status === 'active' ? 'inactive' : 'active';
  return (
    <ActButton
      aria-label={`Make ${status}: ${location.name}`}
      act={() => ask(of(`locations/${location.id}`), { method: 'PATCH', body: { status } })}
    >
      {status === 'active' ? 'Make active' : 'Make inactive'}
    </ActButton>
  );
}
