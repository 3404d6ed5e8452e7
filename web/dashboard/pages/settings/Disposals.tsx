import { Button, Group, Text, TextInput, Title } from '@mantine/core';
import { useState } from 'react';
import { ErrorAlert } from '../../parts/errors.tsx';
import { fieldLabel } from '../../parts/labels.ts';
import { type Column, DataTable } from '../../parts/lists/DataTable.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { saveFile } from '../../parts/saveFile.ts';
import { call, callForFile, type ResponseOf } from '../../service/api.ts';
import { useAction, useQuery } from '../../service/queries.ts';

type Disposal = ResponseOf<'disposals.list'>['disposals'][number];

/** What was deleted, by day and rule. */
export function Disposals() {
  const [period, setPeriod] = useState({ since: '', until: '' });
  const query = Object.fromEntries(Object.entries(period).filter(([, day]) => day !== ''));
  const report = useQuery('disposals.list', {}, { query });
  const day = (name: 'since' | 'until', label: string) => (
    <TextInput
      type="date"
      label={label}
      value={period[name]}
      onChange={(event) => {
        const { value } = event.currentTarget;
        setPeriod((before) => ({ ...before, [name]: value }));
      }}
    />
  );
  return (
    <section aria-label="Disposal report">
      <Title order={3} size="h4" mt="lg">
        Disposal report
      </Title>
      <Text size="sm" c="dimmed" mb="sm">
        What was deleted by retention periods and erasures, by day (UTC). Like the audit log, it is kept forever.
      </Text>
      <Group mb="sm" align="end">
        {day('since', 'From')}
        {day('until', 'To')}
        <Save query={query} />
      </Group>
      <QueryResult query={report}>
        {({ disposals }) => (
          <DataTable
            label="Disposal report"
            rows={disposals}
            columns={columns}
            rowKey={(row) => [row.day, row.client_id, row.data, row.rule, row.days].join(' ')}
            empty="Nothing was deleted in this period."
          />
        )}
      </QueryResult>
    </section>
  );
}

const rule_labels: Record<Disposal['rule'], string> = {
  setting: 'Period of the installation',
  client_period: 'Period of the client',
  erase_client: 'Erasure of the client',
  erase_organization: 'Erasure of a practice',
  erase_patient: 'Erasure of a patient',
};

const columns: Column<Disposal>[] = [
  { head: 'Day', cell: ({ day }) => <span className="nowrap">{day}</span> },
  { head: 'Client', cell: ({ client_id }) => <span className="breakable">{client_id}</span>, phone: 'line' },
  { head: 'Data', cell: ({ data }) => fieldLabel(data) },
  { head: 'Rule', cell: ({ rule, days }) => `${rule_labels[rule]}${days === null ? '' : ` (${days} days)`}` },
  { head: 'Rows', cell: ({ rows }) => rows, align: 'right' },
];

function Save({ query }: { query: { since?: string; until?: string } }) {
  const csv = useAction<void>(async () =>
    saveFile('disposals.csv', await callForFile('disposals.export', {}, { query })),
  );
  const json = useAction<void>(async () => {
    const { disposals } = await call('disposals.list', {}, { query });
    saveFile('disposals.json', new Blob([JSON.stringify({ disposals }, null, 2)], { type: 'application/json' }));
  });
  const error = csv.error ?? json.error;
  return (
    <>
      <Button variant="default" loading={csv.isPending} onClick={() => csv.mutate()}>
        Export CSV
      </Button>
      <Button variant="default" loading={json.isPending} onClick={() => json.mutate()}>
        Export JSON
      </Button>
      {error && <ErrorAlert error={error} />}
    </>
  );
}
