import { Button, Group, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { Route, Switch } from 'wouter';
import { ErrorAlert } from '../../parts/errors.tsx';
import { DocsLink, PageTitle } from '../../parts/layout.tsx';
import { type Column, PagedTable, type Selection } from '../../parts/lists/DataTable.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { AccountName } from '../../parts/values.tsx';
import { useClient } from '../../service/client.tsx';
import { useRequestedPatient } from '../../service/patientRequest.tsx';
import { usePages } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';
import type { JobRow } from '../../service/types.ts';
import { EditJobPage } from './EditJob.tsx';
import { ExportJobs } from './ExportJobs.tsx';
import { JobPage } from './Job.tsx';
import { JobFilters, useJobFilters, useUnknownState } from './JobFilters.tsx';
import { JobListHead } from './JobListHead.tsx';
import { failingStepLabel, JobStatus } from './JobStatus.tsx';
import { canRunAgainHelp, describeFailure, jobDuration, review_labels, typeLabel } from './labels.ts';
import { RunAgainMany } from './RunAgainMany.tsx';
import { type JobPatients, useJobPatients } from './useJobPatients.ts';

export default function Jobs() {
  return (
    <Switch>
      <Route path="/:job_id/edit">{({ job_id }) => <EditJobPage key={job_id} job_id={job_id} />}</Route>
      <Route path="/:job_id">{({ job_id }) => <JobPage key={job_id} job_id={job_id} />}</Route>
      <Route>
        <JobList />
      </Route>
    </Switch>
  );
}

function JobList() {
  const { client_id } = useClient();
  const { may, sees_patients } = useSession();
  // Not in the URL, which ends up in browser histories and logs.
  const [mrn, setMrn] = useState('');
  const [reference, setReference] = useState('');
  useRequestedPatient(setMrn);
  const [selected, setSelected] = useState<ReadonlySet<string | number>>(new Set());
  // Those in the open dialog, which stays while their states change.
  const [running, setRunning] = useState<readonly JobRow[]>();
  const url_filters = useJobFilters();
  const about_patient = { ...(mrn !== '' && { mrn }), ...(reference !== '' && { reference }) };
  const searched = Object.keys(about_patient).length > 0;
  const unknown_state = useUnknownState();
  const filtered = searched || Object.values(url_filters).some((value) => value !== '');
  const filters: Record<string, string> = { ...url_filters, ...about_patient };
  // Every read of a patient's jobs is in the audit log, so that list has no live updates.
  const jobs = usePages(
    searched ? 'jobs.search' : 'jobs.list',
    { client_id },
    { live: searched ? [] : ['jobs'], filters },
  );
  const patients = useJobPatients(jobs.data ?? []);
  // Jobs that a live update or a filter has removed are no longer selected.
  const chosen = running ?? (jobs.data ?? []).filter((job) => selected.has(job.job_id) && isUnfixed(job));
  const onOpenChange = (opened: boolean) => {
    setRunning(opened ? chosen : undefined);
    if (!opened) setSelected(new Set());
  };
  const selection: Selection<JobRow> = {
    selected: new Set(chosen.map(({ job_id }) => job_id)),
    onChange: setSelected,
    rowLabel: ({ job_id }) => `Select job ${job_id}`,
    isSelectable: isUnfixed,
  };
  return (
    <>
      <PageTitle actions={sees_patients && <ExportJobs filters={filters} />}>Jobs</PageTitle>
      <JobFilters {...{ mrn, setMrn, reference, setReference }} />
      <JobListHead filters={filters} searched={searched} unknown_state={unknown_state} />
      {patients.error && <ErrorAlert error={patients.error} retry={patients.retry} />}
      {chosen.length > 0 && (
        <Group mb="sm" gap="sm" role="region" aria-label="Selected jobs">
          <Text size="sm">{chosen.length} selected</Text>
          <RunAgainMany of={{ job_ids: chosen.map(({ job_id }) => job_id).reverse() }} onOpenChange={onOpenChange} />
          <Button size="compact-sm" variant="subtle" onClick={() => setSelected(new Set())}>
            Clear selection
          </Button>
        </Group>
      )}
      <PagedTable
        query={jobs}
        label="Jobs"
        columns={listColumns(patients)}
        rowKey={(job) => job.job_id}
        href={(job) => `/${job.job_id}`}
        // The reason and the MRN arrive after the list.
        lines={({ error_code }) => (error_code === null ? 2 : 4)}
        {...(may('operator') ? { selection } : {})}
        empty={
          filtered ? (
            'No matching jobs. Change or clear the filters.'
          ) : (
            <>
              No jobs yet. Every write request and every sync creates one.{' '}
              <DocsLink path="">Send your first write</DocsLink>.
            </>
          )
        }
      />
    </>
  );
}

/** Whether running it again can help. The server decides about each one. */
function isUnfixed({ state, review_outcome, error_code }: JobRow): boolean {
  if (state === 'needs_review') return review_outcome === 'not_done';
  return (state === 'failed' || state === 'partial') && canRunAgainHelp(error_code, true);
}

function listColumns(patients: JobPatients): Column<JobRow>[] {
  return [
    { head: 'Job', cell: (job) => job.job_id },
    { head: 'Type', cell: (job) => <span className="unbroken">{typeLabel(job.type)}</span>, phone: 'line' },
    { head: 'Status', cell: (job) => <JobStatus job={job} /> },
    { head: 'Reason', cell: (job) => renderReason(job, patients.of(job)?.message) },
    {
      head: 'MRN',
      cell: (job) => {
        const { mrn = null, reference = null } = patients.of(job) ?? {};
        return (
          <div className="mrn">
            {mrn ?? '–'}
            {reference !== null && <div className="secondary breakable">{reference}</div>}
          </div>
        );
      },
    },
    {
      head: 'Practice',
      cell: ({ account }) => <AccountName account={account} />,
    },
    {
      head: 'Accepted',
      cell: (job) => (
        <>
          <Timestamp at={job.created_at} />
          <div className="secondary nowrap">{`Duration: ${jobDuration(job)}`}</div>
        </>
      ),
    },
  ];
}

/** Why the job failed or waits: the label of its code, and what the EMR said. */
function renderReason(job: JobRow, message: string | null | undefined): ReactNode {
  const notes = [
    job.review_outcome && `Resolved: ${review_labels[job.review_outcome].toLowerCase()}`,
    job.state === 'parked' && 'The account must be re-linked',
    job.run_again_of !== null && `Rerun of job ${job.run_again_of}`,
  ].filter((note) => typeof note === 'string');
  if (job.error_code === null && notes.length === 0) return '–';
  return (
    <div className="reason">
      {job.error_code !== null && (
        <>
          <Text size="sm" fw={600}>
            {/* While a job is retried, the code of an attempt says nothing about the outcome. */}
            {job.state === 'retrying' ? (
              failingStepLabel(job)
            ) : (
              <>
                {describeFailure(job.error_code).label} <code className="secondary">{job.error_code}</code>
              </>
            )}
          </Text>
          {/* Two lines, whether or not the text has arrived: rows must not grow under the pointer. */}
          <Text size="sm" lineClamp={2} mih="2lh" title={message ?? ''}>
            {message}
          </Text>
        </>
      )}
      {notes.map((note) => (
        <div key={note} className="secondary">
          {note}
        </div>
      ))}
    </div>
  );
}
