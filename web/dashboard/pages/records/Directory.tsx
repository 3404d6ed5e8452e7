import { Button, Group, TextInput, Title } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { InsuranceProvider } from '../../../../src/model/records/insuranceProviders.ts';
import type { Pharmacy } from '../../../../src/model/records/pharmacies.ts';
import type { ReferringProvider } from '../../../../src/model/records/referringProviders.ts';
import type { StaffMember } from '../../../../src/model/records/staff.ts';
import { Answer } from '../../parts/Answer.tsx';
import { type Column, PagedRows, Rows } from '../../parts/Rows.tsx';
import { Status } from '../../parts/Status.tsx';
import { usePages } from '../../service/usePages.ts';
import { useAnswer } from '../../service/useService.ts';
import { useOrganization } from './organization.tsx';

const from_sync = 'None is held yet. They come with the next sync.';

export function Staff() {
  const { of } = useOrganization();
  const asked = useAnswer<{ staff: StaffMember[] }>(of('records/staff'));
  return (
    <Listed title="Staff">
      <Answer to={asked}>
        {({ staff }) => (
          <Rows label="Staff" rows={staff} columns={staff_columns} keyOf={(row) => row.id} empty={from_sync} />
        )}
      </Answer>
    </Listed>
  );
}

const staff_columns: Column<StaffMember>[] = [
  { head: 'Name', cell: (row) => row.name },
  { head: 'Role', cell: (row) => row.role ?? '–' },
  { head: 'EMR ID', cell: (row) => row.ehr_id },
  { head: 'Status', cell: (row) => <Status of={row.status} /> },
];

export function Pharmacies() {
  const { of } = useOrganization();
  const asked = useAnswer<{ pharmacies: Pharmacy[] }>(of('records/pharmacies'));
  return (
    <Listed title="Pharmacies">
      <Answer to={asked}>
        {({ pharmacies }) => (
          <Rows
            label="Pharmacies"
            rows={pharmacies}
            columns={pharmacy_columns}
            keyOf={(row) => row.id}
            empty={from_sync}
          />
        )}
      </Answer>
    </Listed>
  );
}

const pharmacy_columns: Column<Pharmacy>[] = [
  { head: 'Name', cell: (row) => row.name },
  { head: 'City', cell: (row) => [row.address.city, row.address.state].filter(Boolean).join(', ') || '–' },
  { head: 'Phone', cell: (row) => row.phone ?? '–' },
  { head: 'EMR ID', cell: (row) => row.ehr_id },
  { head: 'Status', cell: (row) => <Status of={row.status} /> },
];

export function InsuranceCompanies() {
  const { of } = useOrganization();
  const [search, setSearch] = useState<Record<string, string>>({});
  const found = usePages<InsuranceProvider>(of('records/insurance_providers/search'), { search });
  return (
    <Listed title="Insurance companies">
      <NameSearch names={[['name', 'Name']]} onSearch={setSearch} />
      <PagedRows
        of={found}
        label="Insurance companies"
        columns={insurance_columns}
        keyOf={(row) => row.id}
        more="Show more"
        empty="No company matches."
      />
    </Listed>
  );
}

const insurance_columns: Column<InsuranceProvider>[] = [
  { head: 'Name', cell: (row) => row.name },
  { head: 'Payer', cell: (row) => row.payer_id ?? '–' },
  { head: 'City', cell: (row) => [row.city, row.state].filter(Boolean).join(', ') || '–' },
  { head: 'EMR ID', cell: (row) => row.ehr_id },
  { head: 'Status', cell: (row) => <Status of={row.active ? 'active' : 'inactive'} /> },
];

export function ReferringProviders() {
  const { of } = useOrganization();
  const [search, setSearch] = useState<Record<string, string>>({});
  const found = usePages<ReferringProvider>(of('records/referring_providers/search'), { search });
  return (
    <Listed title="Referring providers">
      <NameSearch
        names={[
          ['last_name', 'Last name'],
          ['first_name', 'First name'],
          ['npi', 'NPI'],
        ]}
        onSearch={setSearch}
      />
      <PagedRows
        of={found}
        label="Referring providers"
        columns={referring_columns}
        keyOf={(row) => row.id}
        more="Show more"
        empty="No referring provider matches."
      />
    </Listed>
  );
}

const referring_columns: Column<ReferringProvider>[] = [
  { head: 'Name', cell: (row) => row.name },
  { head: 'Speciality', cell: (row) => row.speciality ?? '–' },
  { head: 'NPI', cell: (row) => row.npi ?? '–' },
  { head: 'Phone', cell: (row) => row.phone ?? '–' },
  { head: 'EMR ID', cell: (row) => row.ehr_id },
];

function Listed({ title, children }: { title: string; children: ReactNode }) {
  return (
    <>
      <Title order={2} size="h4" mb="sm">
        {title}
      </Title>
      {children}
    </>
  );
}

function NameSearch({
  names,
  onSearch,
}: {
  names: readonly (readonly [name: string, label: string])[];
  onSearch: (search: Record<string, string>) => void;
}) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const typed = new FormData(event.currentTarget);
        const said = names.map(([name]) => [name, String(typed.get(name) ?? '').trim()] as const);
        onSearch(Object.fromEntries(said.filter(([, value]) => value !== '')));
      }}
    >
      <Group align="flex-end" mb="md" gap="sm">
        {names.map(([name, label]) => (
          <TextInput key={name} name={name} label={label} w={180} />
        ))}
        <Button type="submit">Search</Button>
      </Group>
    </form>
  );
}
