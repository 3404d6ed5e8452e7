import { Button, Group, TextInput, Title } from '@mantine/core';
import { type FormEvent, useRef } from 'react';
import type { Patient } from '../../../../src/model/records/patients.ts';
import { type Column, PagedRows } from '../../parts/Rows.tsx';
import { Status } from '../../parts/Status.tsx';
import { usePages } from '../../service/usePages.ts';
import { type PatientSearch, useOrganization } from './organization.tsx';

export function Patients() {
  const { of, search } = useOrganization();
  const found = usePages<Patient>(of('records/patients/search'), { search });
  const searched = Object.keys(search).length > 0;
  return (
    <>
      <Title order={2} size="h4" mb="sm">
        Patients
      </Title>
      <SearchForm />
      <PagedRows
        of={found}
        label="Patients"
        columns={columns}
        keyOf={(patient) => patient.id}
        href={(patient) => `/patients/${patient.id}`}
        more="Show more"
        empty={
          searched
            ? 'No patient matches. Search by fewer fields, or by another spelling.'
            : 'No patient is held yet. They come with the next sync.'
        }
      />
    </>
  );
}

const fields = [
  ['last_name', 'Last name', 'text'],
  ['first_name', 'First name', 'text'],
  ['mrn', 'MRN', 'text'],
  ['dob', 'Date of birth', 'date'],
  ['phone', 'Phone', 'tel'],
] as const;

/** Asked when it is sent, not with every letter: each search is a look at charts, and stands in the audit trail. */
function SearchForm() {
  const { search, setSearch } = useOrganization();
  const form = useRef<HTMLFormElement>(null);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const typed = new FormData(event.currentTarget);
    const asked: PatientSearch = {};
    for (const [name] of fields) {
      const value = String(typed.get(name) ?? '').trim();
      if (value !== '') asked[name] = name === 'phone' ? asPhone(value) : value;
    }
    setSearch(asked);
  };
  return (
    <form ref={form} onSubmit={submit} autoComplete="off">
      <Group align="flex-end" mb="md" gap="sm">
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

/** Numbers are kept as NNN-NNN-NNNN, however they are typed. */
function asPhone(typed: string): string {
  const digits = typed.replace(/\D/g, '').replace(/^1(?=\d{10}$)/, '');
  return digits.length === 10 ? `${digits.slice(0, 3)}-${digits.slice(3, 6)}-${digits.slice(6)}` : typed;
}

const columns: Column<Patient>[] = [
  { head: 'Name', cell: (patient) => `${patient.last_name}, ${patient.first_name}` },
  { head: 'MRN', cell: (patient) => patient.mrn ?? '–' },
  { head: 'Date of birth', cell: (patient) => <time>{patient.dob ?? '–'}</time> },
  { head: 'Phone', cell: (patient) => patient.cell_phone ?? patient.phone ?? '–' },
  { head: 'State', cell: (patient) => <Status of={patient.status} /> },
];
