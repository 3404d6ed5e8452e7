import { Anchor, Button, Switch, Text } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'wouter';
import { ErrorAlert } from '../../parts/errors.tsx';
import { list_rows } from '../../parts/Loading.tsx';
import { PageTitle } from '../../parts/layout.tsx';
import { type Column, DataTable, MoreButton, TableSkeleton } from '../../parts/lists/DataTable.tsx';
import { type Filter, FilterBar, MrnSearch, useFilters } from '../../parts/lists/FilterBar.tsx';
import { countPeriod, PeriodFilter, usePeriod } from '../../parts/lists/Period.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { saveFile } from '../../parts/saveFile.ts';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { callForFile } from '../../service/api.ts';
import { useAction, usePages } from '../../service/queries.ts';
import { useClientOptions } from '../../service/useClientOptions.ts';
import { useUrlFilters } from '../../service/useUrlFilters.ts';
import { type AuditRecord, groupReads, type RecordGroup } from './groupReads.ts';
import { RecordDrawer, Result } from './RecordDrawer.tsx';
import { useVerification, VerifyButton, VerifyResult } from './Verify.tsx';

const actor_types = [
  { value: 'client', label: 'Application' },
  { value: 'operator', label: 'Operator' },
  { value: 'link', label: 'Link user' },
  { value: 'practice', label: 'Practice' },
  { value: 'worker', label: 'Worker' },
  { value: 'system', label: 'System' },
];

const columns: Column<RecordGroup>[] = [
  {
    head: 'What',
    cell: ({ first, records }) => (
      <>
        {first.sentence}
        {records.length > 1 && `, ${records.length} times`}
      </>
    ),
  },
  {
    head: 'Who',
    phone: 'line',
    cell: ({ first }) => (
      <>
        <Text size="sm" className="breakable">
          {nameActor(first)}
        </Text>
        <Text size="xs" c="dimmed" className="breakable unbroken">
          {describeActor(first)}
        </Text>
      </>
    ),
  },
  {
    head: 'About',
    cell: ({ first }) => (first.job_id === null && first.account === null ? '–' : <Subject record={first} />),
    phone: 'line',
  },
  { head: 'Outcome', cell: ({ first }) => <Result record={first} />, phone: 'end' },
  { head: 'Time', cell: ({ first }) => <Timestamp at={first.at} show="exact" /> },
];

/** The name of the client or operator; the service itself works as worker and system. */
function nameActor({ actor_kind, actor, actor_name }: AuditRecord): string {
  if (actor_kind === 'worker' || actor === 'system') return 'Chartwire';
  // The email address of a refused sign-in is not stored.
  return actor_name ?? (actor === 'unknown' ? 'Unknown person' : actor);
}

function describeActor({ actor_kind, actor, actor_name, client_name, address }: AuditRecord): string {
  const kind = actor_types.find(({ value }) => value === actor_kind)?.label;
  const email = actor_kind === 'operator' && actor_name !== null ? actor : null;
  const client = client_name === actor_name ? null : client_name;
  return [kind, email, client, address].filter((each) => each !== null && each !== undefined).join(' · ');
}

/** The job or account that the record is about; ids are in the details. */
function Subject({ record: { job_id, client_id, account } }: { record: AuditRecord }) {
  if (job_id === null) return <span className="secondary breakable">{account}</span>;
  if (client_id === null) return <span className="nowrap">Job {job_id}</span>;
  return (
    <Anchor component={Link} href={`~/dashboard/clients/${client_id}/jobs/${job_id}`} size="sm" className="nowrap">
      Job {job_id}
    </Anchor>
  );
}

export default function Audit() {
  const filters: Filter[] = [
    { name: 'client_id', label: 'Client', options: useClientOptions() },
    { name: 'actor_kind', label: 'Actor type', options: actor_types },
    { name: 'actor', label: 'Actor' },
    { name: 'action', label: 'Action' },
  ];
  // An MRN is health data and therefore never in the URL.
  const [mrn, setMrn] = useState('');
  const verification = useVerification();
  const period = usePeriod('from', 'to');
  const values = { ...useFilters(filters), ...period };
  const search = mrn === '' ? values : { ...values, patient_mrn: mrn };
  const { get, set } = useUrlFilters();
  const own_reading = get('own_reading') === 'show' ? '' : 'hide';
  const records = usePages(mrn === '' ? 'audit.list' : 'audit.search', {}, { filters: { ...search, own_reading } });
  const groups = groupReads(records.data ?? []);
  const shown = groups.find(({ first }) => first.id === get('record'));
  return (
    <>
      <PageTitle
        actions={
          <>
            <VerifyButton verification={verification} />
            <Export search={search} />
          </>
        }
      >
        Audit log
      </PageTitle>
      <VerifyResult verification={verification} />
      <FilterBar filters={filters} used={countPeriod(period) + (mrn === '' ? 0 : 1)} onClear={() => setMrn('')}>
        <PeriodFilter from="from" to="to" />
        <MrnSearch mrn={mrn} setMrn={setMrn} />
      </FilterBar>
      <Switch
        label="Show my own reading of this log"
        mb="md"
        checked={own_reading === ''}
        onChange={({ currentTarget }) => set('own_reading', currentTarget.checked ? 'show' : '')}
      />
      <QueryResult query={records} placeholder={<TableSkeleton columns={columns} rows={list_rows} />}>
        {() => (
          <>
            <DataTable
              label="Audit log"
              rows={groups}
              columns={columns}
              rowKey={({ first }) => first.id}
              href={({ first }) => `?${withRecord(first.id)}`}
              empty="No matching records. Change or clear the filters."
            />
            <MoreButton query={records} />
          </>
        )}
      </QueryResult>
      <RecordDrawer group={shown} onClose={() => set('record', '')} />
    </>
  );
}

/** The current filters, with this record opened. */
function withRecord(id: string): URLSearchParams {
  const params = new URLSearchParams(window.location.search);
  params.set('record', id);
  return params;
}

function Export({ search }: { search: Record<string, string> }) {
  const { mutate, isPending, error } = useAction<void>(async () => {
    const body = Object.fromEntries(Object.entries(search).filter(([, value]) => value));
    // Always by POST, because the search may contain an MRN.
    saveFile('audit.csv', await callForFile('audit.export-search', {}, { body }));
  });
  return (
    <>
      <Button variant="default" loading={isPending} onClick={() => mutate()}>
        Export CSV
      </Button>
      {error && <ErrorAlert error={error} />}
    </>
  );
}
