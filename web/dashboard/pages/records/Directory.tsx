import { Button, Group, TextInput } from '@mantine/core';
import { useState } from 'react';
import { ActionButton } from '../../parts/ActionButton.tsx';
import type { Column } from '../../parts/DataTable.tsx';
import { Status } from '../../parts/Status.tsx';
import { call, type RowOf } from '../../service/api.ts';
import { usePages } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';
import { useOrganization } from './organization.tsx';
import { SearchList, ShortList, type ShortRow } from './RecordList.tsx';

export function Providers() {
  return (
    <ShortList
      kind="providers"
      title="Providers"
      columns={provider_columns}
      keyOf={(row) => row.id}
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
  return <ShortList kind="locations" title="Locations" columns={columns} keyOf={(row) => row.id} />;
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

export function Staff() {
  return <ShortList kind="staff" title="Staff" columns={staff_columns} keyOf={(row) => row.id} />;
}

const staff_columns: Column<ShortRow<'staff'>>[] = [
  { head: 'Name', cell: (row) => row.name },
  { head: 'Role', cell: (row) => row.role ?? '–' },
  { head: 'EMR ID', cell: (row) => row.ehr_id },
  { head: 'Status', cell: (row) => <Status of={row.status} /> },
];

export function Pharmacies() {
  return <ShortList kind="pharmacies" title="Pharmacies" columns={pharmacy_columns} keyOf={(row) => row.id} />;
}

const pharmacy_columns: Column<ShortRow<'pharmacies'>>[] = [
  { head: 'Name', cell: (row) => row.name },
  { head: 'City', cell: (row) => [row.address.city, row.address.state].filter(Boolean).join(', ') || '–' },
  { head: 'Phone', cell: (row) => row.phone ?? '–' },
  { head: 'EMR ID', cell: (row) => row.ehr_id },
  { head: 'Status', cell: (row) => <Status of={row.status} /> },
];

export function InsuranceCompanies() {
  const { params } = useOrganization();
  const [filters, setFilters] = useState<Record<string, string>>({});
  const query = usePages('insurance-providers.search', params, { filters });
  return (
    <SearchList
      title="Insurance companies"
      query={query}
      filtered={Object.keys(filters).length > 0}
      columns={insurance_columns}
      keyOf={(row) => row.id}
    >
      <SearchForm fields={[['name', 'Name']]} onSearch={setFilters} />
    </SearchList>
  );
}

const insurance_columns: Column<RowOf<'insurance-providers.search'>>[] = [
  { head: 'Name', cell: (row) => row.name },
  { head: 'Payer ID', cell: (row) => row.payer_id ?? '–' },
  { head: 'City', cell: (row) => [row.city, row.state].filter(Boolean).join(', ') || '–' },
  { head: 'EMR ID', cell: (row) => row.ehr_id },
  { head: 'Status', cell: (row) => <Status of={row.active ? 'active' : 'inactive'} /> },
];

export function ReferringProviders() {
  const { params } = useOrganization();
  const [filters, setFilters] = useState<Record<string, string>>({});
  const query = usePages('referring-providers.search', params, { filters });
  return (
    <SearchList
      title="Referring providers"
      query={query}
      filtered={Object.keys(filters).length > 0}
      columns={referring_columns}
      keyOf={(row) => row.id}
    >
      <SearchForm fields={referring_fields} onSearch={setFilters} />
    </SearchList>
  );
}

const referring_fields = [
  ['last_name', 'Last name'],
  ['first_name', 'First name'],
  ['npi', 'NPI'],
] as const;

const referring_columns: Column<RowOf<'referring-providers.search'>>[] = [
  { head: 'Name', cell: (row) => row.name },
  { head: 'Specialty', cell: (row) => row.speciality ?? '–' },
  { head: 'NPI', cell: (row) => row.npi ?? '–' },
  { head: 'Phone', cell: (row) => row.phone ?? '–' },
  { head: 'EMR ID', cell: (row) => row.ehr_id },
];

type SearchFormProps = {
  fields: readonly (readonly [name: string, label: string])[];
  onSearch: (filters: Record<string, string>) => void;
};

function SearchForm({ fields, onSearch }: SearchFormProps) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const form = new FormData(event.currentTarget);
        const values = fields.map(([name]) => [name, String(form.get(name) ?? '').trim()] as const);
        onSearch(Object.fromEntries(values.filter(([, value]) => value !== '')));
      }}
    >
      <Group align="flex-end" mb="md" gap="sm">
        {fields.map(([name, label]) => (
          <TextInput key={name} name={name} label={label} w={180} />
        ))}
        <Button type="submit">Search</Button>
      </Group>
    </form>
  );
}
