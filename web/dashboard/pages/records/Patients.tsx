import { Button, Group, TextInput } from '@mantine/core';
import { type FormEvent, useRef } from 'react';
import type { Column } from '../../parts/lists/DataTable.tsx';
import { Status } from '../../parts/Status.tsx';
import { usePages } from '../../service/queries.ts';
import type { Patient } from '../../service/types.ts';
import { Day } from './Day.tsx';
import { type PatientSearch, useOrganization } from './organization.tsx';
import { SearchList } from './RecordList.tsx';

export function Patients() {
  const { params, search } = useOrganization();
  const query = usePages('patients.search', params, { filters: search });
  return (
    <SearchList
      kind="patients"
      title="Patients"
      query={query}
      filtered={Object.keys(search).length > 0}
      columns={columns}
      rowKey={(patient) => patient.id}
      href={(patient) => `/patients/${patient.id}`}
    >
      <SearchForm />
    </SearchList>
  );
}

const fields = [
  ['last_name', 'Last name', 'text'],
  ['first_name', 'First name', 'text'],
  ['mrn', 'MRN', 'text'],
  ['dob', 'Date of birth', 'date'],
  ['phone', 'Phone', 'tel'],
] as const;

/** Searches on submit and not with every keystroke, because each search is recorded in the audit log. */
function SearchForm() {
  const { search, setSearch } = useOrganization();
  const form = useRef<HTMLFormElement>(null);
  const onSubmit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const input = new FormData(event.currentTarget);
    const values: PatientSearch = {};
    for (const [name] of fields) {
      const value = String(input.get(name) ?? '').trim();
      if (value !== '') values[name] = name === 'phone' ? formatPhone(value) : value;
    }
    setSearch(values);
  };
  return (
    <form ref={form} onSubmit={onSubmit} autoComplete="off">
      <Group align="flex-end" mb="md" gap="sm" className="filters">
        {fields.map(([name, label, type]) => (
          <TextInput key={name} name={name} label={label} type={type} defaultValue={search[name] ?? ''} w={150} />
        ))}
        <Button type="submit">Search</Button>
        {Object.keys(search).length > 0 && (
          <Button
            variant="default"
            onClick={() => {
              setSearch({});
              for (const input of form.current?.querySelectorAll('input') ?? []) input.value = '';
            }}
          >
            Clear
          </Button>
        )}
      </Group>
    </form>
  );
}

/** Phone numbers are stored as NNN-NNN-NNNN. */
function formatPhone(input: string): string {
  const digits = input.replace(/\D/g, '').replace(/^1(?=\d{10}$)/, '');
  return digits.length === 10 ? `${digits.slice(0, 3)}-${digits.slice(3, 6)}-${digits.slice(6)}` : input;
}

const columns: Column<Patient>[] = [
  { head: 'Name', cell: (patient) => `${patient.last_name}, ${patient.first_name}` },
  { head: 'MRN', cell: (patient) => patient.mrn ?? '–' },
  { head: 'Date of birth', cell: (patient) => <Day of={patient.dob} /> },
  { head: 'Phone', cell: (patient) => patient.cell_phone ?? patient.phone ?? '–' },
  { head: 'Status', cell: (patient) => <Status of={patient.status} /> },
];
