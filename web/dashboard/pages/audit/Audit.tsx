import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import type { AuditRecord } from '../../../../src/model/dashboard/audit.ts';
import type { ClientRow } from '../../../../src/model/dashboard/clients.ts';
import { type Filter, FilterBar, useFilters } from '../../parts/FilterBar.tsx';
import { Moment } from '../../parts/Moment.tsx';
import { PageTitle } from '../../parts/PageTitle.tsx';
import { type Column, PagedRows } from '../../parts/Rows.tsx';
import { usePages } from '../../service/usePages.ts';
import { useAnswer } from '../../service/useService.ts';
import { Export } from './Export.tsx';
import { Verify } from './Verify.tsx';

const kinds = [
  { value: 'client', label: 'Application' },
  { value: 'operator', label: 'Operator' },
  { value: 'link', label: 'Person in Link' },
  { value: 'worker', label: 'Worker' },
  { value: 'system', label: 'Service itself' },
];

const columns: Column<AuditRecord>[] = [
  { head: 'When', cell: (record) => <Moment at={record.at} /> },
  {
    head: 'Who',
    cell: (record) => (
      <>
        {record.actor}
        <Text size="xs" c="dimmed">
          {kinds.find(({ value }) => value === record.actor_kind)?.label}
        </Text>
      </>
    ),
  },
  { head: 'Did', cell: (record) => record.action },
  { head: 'Outcome', cell: (record) => record.outcome },
  { head: 'Client', cell: (record) => record.client_name ?? '–' },
  { head: 'Patients', cell: (record) => record.patients, align: 'right' },
  { head: 'About', cell: (record) => <About record={record} /> },
];

/** Who read or changed what. */
export default function Audit() {
  const clients = useAnswer<{ clients: ClientRow[] }>('clients', { live: ['accounts'] });
  const known = clients.data?.clients.map(({ client_id, name }) => ({ value: client_id, label: name })) ?? [];
  const filters: Filter[] = [
    { name: 'client_id', label: 'Client', choices: known },
    { name: 'actor_kind', label: 'Kind of actor', choices: kinds },
    { name: 'actor', label: 'Who, exactly' },
    { name: 'action', label: 'Did, exactly' },
    { name: 'from', label: 'From', type: 'moment' },
    { name: 'to', label: 'To', type: 'moment' },
  ];
  // An MRN is health data: it is kept here and not in the address.
  const [patient_mrn, setPatient] = useState('');
  const asked = useFilters(filters);
  const search = patient_mrn ? { patient_mrn } : undefined;
  const records = usePages<AuditRecord>(search ? 'audit/search' : 'audit', { filters: asked, search });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setPatient(String(new FormData(event.currentTarget).get('patient') ?? '').trim());
  };
  return (
    <>
      <PageTitle actions={<Export filters={asked} search={search} />}>Audit</PageTitle>
      <Stack gap="xs" mb="md">
        <Verify />
      </Stack>
      <FilterBar filters={filters} />
      <form onSubmit={submit}>
        <Group align="flex-end" gap="sm" mb="md">
          <TextInput name="patient" label="Patient, by exact MRN" autoComplete="off" />
          <Button type="submit" variant="light">
            Find
          </Button>
        </Group>
      </form>
      <PagedRows
        of={records}
        label="Audit trail"
        columns={columns}
        keyOf={(record) => record.id}
        empty="Nothing matches. Take a filter away."
      />
    </>
  );
}

function About({ record }: { record: AuditRecord }) {
  const told = [
    record.job_id === null ? undefined : `job ${record.job_id}`,
    record.subject ?? undefined,
    record.account ?? undefined,
  ].filter((each) => each !== undefined);
  return (
    <>
      <Text size="xs" miw={220} maw={280} className="breakable">
        {told.join(' · ') || '–'}
      </Text>
      {record.detail && (
        <Text size="xs" c="dimmed" miw={220} maw={280} className="breakable">
          {wordsOf(record.detail)}
        </Text>
      )}
    </>
  );
}

/** `attempts 1 · code not_found`; what is more than a word is written as data. */
function wordsOf(detail: Record<string, unknown>): string {
  return Object.entries(detail)
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join(' · ');
}
