import { Button, Text } from '@mantine/core';
import { useState } from 'react';
import { type Column, PagedTable } from '../../parts/DataTable.tsx';
import { ErrorAlert } from '../../parts/errors.tsx';
import { type Filter, FilterBar, MrnSearch, useFilters } from '../../parts/FilterBar.tsx';
import { PageTitle } from '../../parts/layout.tsx';
import { countPeriod, PeriodFilter, usePeriod } from '../../parts/Period.tsx';
import { saveFile } from '../../parts/saveFile.ts';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { callForFile, type RowOf } from '../../service/api.ts';
import { useAction, usePages } from '../../service/queries.ts';
import { useClientOptions } from '../../service/useClientOptions.ts';
import { useVerification, VerifyButton, VerifyResult } from './Verify.tsx';

type AuditRecord = RowOf<'audit.list'>;

const actor_types = [
  { value: 'client', label: 'Application' },
  { value: 'operator', label: 'Operator' },
  { value: 'link', label: 'Link user' },
  { value: 'worker', label: 'Worker' },
  { value: 'system', label: 'System' },
];

const columns: Column<AuditRecord>[] = [
  { head: 'Time', cell: (record) => <Timestamp at={record.at} show="exact" /> },
  {
    head: 'Actor',
    phone: 'line',
    cell: (record) => (
      <>
        <Text size="sm" className="wide-cell breakable">
          {record.actor}
        </Text>
        <Text size="xs" c="dimmed">
          {[actor_types.find(({ value }) => value === record.actor_kind)?.label, record.client_name, record.address]
            .filter(Boolean)
            .join(' · ')}
        </Text>
      </>
    ),
  },
  {
    head: 'Action and details',
    phone: 'line',
    cell: (record) => (
      <>
        {record.action}
        <Details record={record} />
      </>
    ),
  },
  { head: 'Outcome', cell: (record) => record.outcome, phone: 'end' },
  { head: 'Patients', cell: (record) => record.patients, align: 'right' },
];

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
  const records = usePages(mrn === '' ? 'audit.list' : 'audit.search', {}, { filters: search });
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
      <PagedTable
        query={records}
        label="Audit log"
        columns={columns}
        rowKey={(record) => record.id}
        empty="No matching records. Change or clear the filters."
      />
    </>
  );
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

/** Below the action, and not in a column of its own: long details would push other columns out of the window. */
function Details({ record }: { record: AuditRecord }) {
  const job = record.job_id === null ? null : `job ${record.job_id}`;
  const detail = record.detail === null ? null : describe(record.detail);
  return [[job, record.subject, record.account], [detail]]
    .map((line) => line.filter((each) => each !== null).join(' · '))
    .filter((line) => line !== '')
    .map((line) => (
      <Text key={line} size="xs" c="dimmed" className="wide-cell breakable">
        {line}
      </Text>
    ));
}

/** `attempts 1 · code not_found`; nested values are shown as JSON. */
function describe(detail: Record<string, unknown>): string {
  return Object.entries(detail)
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join(' · ');
}
