import { Anchor, Paper, Stack, Text } from '@mantine/core';
import { Link } from 'wouter';
import { type Column, DataTable } from '../../parts/DataTable.tsx';
import { fieldLabel } from '../../parts/labels.ts';
import { PageTitle, Section } from '../../parts/layout.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Status } from '../../parts/Status.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Fields } from '../../parts/values.tsx';
import { useClient } from '../../service/client.tsx';
import { useQuery } from '../../service/queries.ts';
import type { Job } from '../../service/types.ts';
import { JobActions } from './JobActions.tsx';
import { JobEvent } from './JobEvent.tsx';
import { JobNotice } from './JobNotice.tsx';
import { jobDuration, typeLabel } from './labels.ts';
import { type TimelineLine, timelineOf } from './stepLabels.ts';

export function JobPage({ job_id }: { job_id: string }) {
  const { client_id } = useClient();
  // Every read of a job is in the audit log, so a job that can no longer change is not refetched.
  const query = useQuery(
    'jobs.get',
    { client_id, job_id },
    {
      live: ['jobs', 'events'],
      isFinal: ({ job }) => isFinal(job),
    },
  );
  return (
    <>
      <PageTitle actions={query.data && <JobActions job={query.data.job} />}>{`Job ${job_id}`}</PageTitle>
      <Text size="sm" mb="sm">
        <Anchor component={Link} href="/" size="sm">
          All jobs
        </Anchor>
      </Text>
      <QueryResult query={query}>{({ job }) => <JobDetails job={job} />}</QueryResult>
    </>
  );
}

function isFinal({ finished_at, event }: Job): boolean {
  return finished_at !== null && !event?.deliveries.some(({ status }) => status === 'pending');
}

function JobDetails({ job }: { job: Job }) {
  return (
    <Stack>
      <JobNotice job={job} />
      <Paper withBorder p="md">
        <Fields
          of={{
            Type: typeLabel(job.type),
            Status: <Status of={job.state} />,
            Account: `${job.account.org_id} · ${job.account.user_id}`,
            EMR: job.emr,
            'Patient MRN': job.patient_mrn,
            Accepted: <Timestamp at={job.created_at} />,
            Started: <Timestamp at={job.started_at} />,
            Finished: <Timestamp at={job.finished_at} />,
            Duration: jobDuration(job),
            Attempts: job.attempts,
            ...(job.request_trace_id !== null && { 'Trace of the request': job.request_trace_id }),
            ...(job.attempt_trace_id !== null && { 'Trace of the last attempt': job.attempt_trace_id }),
          }}
        />
      </Paper>
      <Section title="Timeline">
        <DataTable
          label="Timeline"
          rows={timelineOf(job.steps, job.emr, job.finished_at !== null)}
          columns={timeline_columns}
          keyOf={(line) => line.key}
          empty="Not started yet. The job is in the queue."
        />
      </Section>
      {job.changes.length > 0 && (
        <Section title="Changes in the EMR">
          <DataTable
            label="Changes in the EMR"
            rows={job.changes}
            columns={change_columns}
            keyOf={(each) => each.property}
            empty=""
          />
        </Section>
      )}
      <Section title="Event">
        <JobEvent job={job} />
      </Section>
      <Section title="Request">
        <Fields of={Object.fromEntries(flatten(job.input))} />
      </Section>
      {job.runs.length > 1 && (
        <Section title="Runs of this request">
          <DataTable
            label="Runs of this request"
            rows={job.runs}
            columns={runColumns(job.job_id)}
            keyOf={(run) => run.job_id}
            empty=""
          />
        </Section>
      )}
    </Stack>
  );
}

const timeline_columns: Column<TimelineLine>[] = [
  { head: 'Time', cell: (line) => <Timestamp at={line.at} /> },
  { head: 'Attempt', cell: (line) => line.attempt },
  { head: 'Step', cell: (line) => <span className="breakable">{line.text}</span> },
  { head: 'Duration', cell: (line) => line.duration, align: 'right' },
];

const change_columns: Column<Job['changes'][number]>[] = [
  { head: 'Field', cell: (each) => each.field_label },
  { head: 'Before', cell: (each) => each.before ?? '–' },
  { head: 'After', cell: (each) => each.after ?? '–' },
  { head: 'Note', cell: (each) => each.note ?? '' },
];

function runColumns(current_id: number): Column<Job['runs'][number]>[] {
  return [
    {
      head: 'Job',
      cell: (run) =>
        run.job_id === current_id ? (
          `${run.job_id} (this job)`
        ) : (
          <Anchor component={Link} href={`/${run.job_id}`} size="sm">
            {run.job_id}
          </Anchor>
        ),
    },
    { head: 'Status', cell: (run) => <Status of={run.state} /> },
    { head: 'Accepted', cell: (run) => <Timestamp at={run.created_at} /> },
  ];
}

/** Labels and values of a request; nested fields are labeled with their parent, and lists are shown as JSON. */
function flatten(value: Record<string, unknown>, parent = ''): [string, string | null][] {
  return Object.entries(value).flatMap(([name, each]): [string, string | null][] => {
    const label = parent === '' ? fieldLabel(name) : `${parent}: ${fieldLabel(name).toLowerCase()}`;
    if (each === null || each === undefined) return [[label, null]];
    // Neither null nor a list, so an object of JSON.
    if (typeof each === 'object' && !Array.isArray(each)) return flatten(each as Record<string, unknown>, label);
    return [[label, Array.isArray(each) ? JSON.stringify(each) : String(each)]];
  });
}
