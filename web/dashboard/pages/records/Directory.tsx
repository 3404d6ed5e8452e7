import { ActionButton } from '../../parts/forms/ActionButton.tsx';
import type { Column } from '../../parts/lists/DataTable.tsx';
import { Status } from '../../parts/Status.tsx';
import { call } from '../../service/api.ts';
import { useSession } from '../../service/session.tsx';
import { useOrganization } from './organization.tsx';
import { ShortList, type ShortRow } from './RecordList.tsx';

export function Providers() {
  return (
    <ShortList
      kind="providers"
      title="Providers"
      columns={provider_columns}
      rowKey={(row) => row.id}
      href={(row) => `/providers/${row.id}`}
    />
  );
}

const provider_columns: Column<ShortRow<'providers'>>[] = [
  { head: 'Name', cell: (row) => row.name },
  { head: 'NPI', cell: (row) => row.npi ?? '–' },
  { head: 'EMR ID', cell: (row) => row.ehr_id },
  { head: 'Working days', cell: (row) => workingDays(row.hours) },
  { head: 'Availability', cell: (row) => (row.hide_in_availability ? 'Hidden' : 'Shown') },
  { head: 'Status', cell: (row) => <Status of={row.status} /> },
];

function workingDays(hours: ShortRow<'providers'>['hours']): string {
  const days = hours.filter(({ shifts }) => shifts.length > 0);
  return days.length === 0 ? 'None' : days.map(({ day }) => day.slice(0, 3)).join(', ');
}

export function Locations() {
  const { may } = useSession();
  const columns = may('operator') ? [...location_columns, location_actions] : location_columns;
  return <ShortList kind="locations" title="Locations" columns={columns} rowKey={(row) => row.id} />;
}

const location_columns: Column<ShortRow<'locations'>>[] = [
  { head: 'Name', cell: (row) => row.name },
  {
    head: 'Address',
    cell: ({ address }) => [address.address1, address.city, address.state].filter(Boolean).join(', ') || '–',
  },
  { head: 'Phone', cell: (row) => row.phone ?? '–' },
  { head: 'EMR ID', cell: (row) => row.ehr_id },
  { head: 'Status', cell: (row) => <Status of={row.status} /> },
];

const location_actions: Column<ShortRow<'locations'>> = {
  head: 'Actions',
  cell: (row) => <ToggleLocation location={row} />,
};

function ToggleLocation({ location: { id, name, status } }: { location: ShortRow<'locations'> }) {
  const { params } = useOrganization();
  const active = status === 'active';
  return (
    <ActionButton
      aria-label={`${active ? 'Deactivate' : 'Activate'} ${name}`}
      action={() => call('locations.update', { ...params, id }, { body: { status: active ? 'inactive' : 'active' } })}
    >
      {active ? 'Deactivate' : 'Activate'}
    </ActionButton>
  );
}
