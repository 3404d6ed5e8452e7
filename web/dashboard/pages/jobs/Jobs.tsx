import { Button, Group, Select, Text } from '@mantine/core';
import { useState } from 'react';
import { Route, Switch } from 'wouter';
import { type Column, PagedTable } from '../../parts/DataTable.tsx';
import { MrnSearch } from '../../parts/FilterBar.tsx';
import { PageTitle } from '../../parts/layout.tsx';
import { Status } from '../../parts/Status.tsx';
import { Timestamp, TimestampInput } from '../../parts/Timestamp.tsx';
import { job_filters, job_types } from '../../service/api.gen.ts';
import { useClient } from '../../service/client.tsx';
import { usePages } from '../../service/queries.ts';
import type { JobRow } from '../../service/types.ts';
import { useAccountOptions } from '../../service/useAccountOptions.ts';
import { useUrlFilters } from '../../service/useUrlFilters.ts';
import { JobPage } from './Job.tsx';
import { failureOf, jobDuration, review_labels, typeLabel } from './labels.ts';

export default function Jobs() {
  return (
    <Switch>
      <Route path="/:job_id">{({ job_id }) => <JobPage key={job_id} job_id={job_id} />}</Route>
      <Route>
        <JobList />
      </Route>
    </Switch>
  );
}

const url_filters = ['type', 'state', 'account_id', 'from', 'to'] as const;

function JobList() {
  const { client_id } = useClient();
  const { get } = useUrlFilters();
  // Not in the URL, which ends up in browser histories and logs.
  const [mrn, setMrn] = useState('');
  const filters = Object.fromEntries(url_filters.map((name) => [name, get(name)]));
  const filtered = mrn !== '' || Object.values(filters).some((value) => value !== '');
  // Every read of a patient's jobs is in the audit log, so that list has no live updates.
  const jobs = usePages(
    mrn === '' ? 'jobs.list' : 'jobs.search',
    { client_id },
    {
      live: mrn === '' ? ['jobs'] : [],
      filters: mrn === '' ? filters : { ...filters, mrn },
    },
  );
  return (
    <>
      <PageTitle>Jobs</PageTitle>
      <JobFilters mrn={mrn} setMrn={setMrn} filtered={filtered} />
      <PagedTable
        query={jobs}
        label="Jobs"
        columns={columns}
        keyOf={(job) => job.job_id}
        href={(job) => `/${job.job_id}`}
        empty={
          filtered
            ? 'No matching jobs. Change or clear the filters.'
            : 'No jobs yet. Every write request and every sync creates one.'
        }
      />
    </>
  );
}

const columns: Column<JobRow>[] = [
  { head: 'Job', cell: (job) => job.job_id },
  { head: 'Type', cell: (job) => typeLabel(job.type) },
  {
    head: 'Status',
    cell: (job) => (
      <>
        <Status of={job.state} />
        {notesOf(job).map((note) => (
          <Text key={note} size="xs" c="dimmed" maw={260}>
            {note}
          </Text>
        ))}
      </>
    ),
  },
  { head: 'Account', cell: (job) => `${job.account.org_id} · ${job.account.user_id}` },
  { head: 'Accepted', cell: (job) => <Timestamp at={job.created_at} /> },
  { head: 'Duration', cell: jobDuration, align: 'right' },
  { head: 'Attempts', cell: (job) => job.attempts, align: 'right' },
];

/** What happened to the job, and what to do if it failed. */
function notesOf(job: JobRow): string[] {
  if (job.review_outcome) return [`Resolved: ${review_labels[job.review_outcome].toLowerCase()}`];
  const rerun = job.run_again_of === null ? [] : [`Rerun of job ${job.run_again_of}`];
  if (job.error_code === null) return rerun;
  const { label, remedy } = failureOf(job.error_code);
  return [...rerun, label, ...(job.finished_at === null || remedy === '' ? [] : [remedy])];
}

const status_labels: Record<(typeof job_filters)[number], string> = {
  queued: 'Queued',
  running: 'Running',
  parked: 'Waiting for re-linking',
  succeeded: 'Succeeded',
  partial: 'Partial',
  failed: 'Failed',
  needs_review: 'Needs review (all)',
  unresolved: 'Needs review (unresolved)',
};

function JobFilters(props: { mrn: string; setMrn: (mrn: string) => void; filtered: boolean }) {
  const { get, set, clear } = useUrlFilters();
  const accounts = useAccountOptions();
  // A new key empties the MRN input.
  const [cleared, setCleared] = useState(0);
  const select = (name: string, label: string, w: number, data: { value: string; label: string }[]) => (
    <Select
      label={label}
      placeholder="All"
      clearable
      searchable={name === 'account_id'}
      w={w}
      data={data}
      value={get(name) || null}
      onChange={(value) => set(name, value ?? '')}
    />
  );
  const types = Object.entries(job_types).map(([value, label]) => ({ value, label }));
  const states = job_filters.map((value) => ({ value, label: status_labels[value] }));
  return (
    <Group align="flex-end" mb="md" gap="sm">
      {select('type', 'Type', 190, types)}
      {select('state', 'Status', 190, states)}
      {select('account_id', 'Account', 200, accounts)}
      <TimestampInput label="From" value={get('from')} onChange={(time) => set('from', time)} />
      <TimestampInput label="To" value={get('to')} onChange={(time) => set('to', time)} />
      <MrnSearch key={cleared} mrn={props.mrn} setMrn={props.setMrn} />
      {props.filtered && (
        <Button
          variant="subtle"
          onClick={() => {
            props.setMrn('');
            setCleared(cleared + 1);
            clear();
          }}
        >
          Clear filters
        </Button>
      )}
    </Group>
  );
}
