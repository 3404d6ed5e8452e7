import { Anchor, Stack, Text } from '@mantine/core';
import { Link } from 'wouter';
import { HiddenDetails } from '../../parts/HiddenDetails.tsx';
import { fieldLabel } from '../../parts/labels.ts';
import { BackLink, PageTitle, Section } from '../../parts/layout.tsx';
import { type Column, TableSection } from '../../parts/lists/DataTable.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Status } from '../../parts/Status.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Fields } from '../../parts/values.tsx';
import { useClient } from '../../service/client.tsx';
import { useQuery } from '../../service/queries.ts';
import type { Job, JobRow } from '../../service/types.ts';
import { JobActions } from './JobActions.tsx';
import { JobEvent } from './JobEvent.tsx';
import { JobNotice } from './JobNotice.tsx';
import { JobStatus, jobStatusLabel } from './JobStatus.tsx';
import { describeFailure, duration, jobDuration, referenceLabel, typeLabel } from './labels.ts';
import { Timeline } from './Timeline.tsx';

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
  const { job, details_hidden = false } = query.data ?? {};
  return (
    <>
      <BackLink href="/">All jobs</BackLink>
      <PageTitle
        actions={job && <JobActions job={job} details_hidden={details_hidden} />}
        subtitle={job && `Job ${job_id} · ${job.account.org_id} · ${job.account.user_id} · ${job.emr}`}
      >
        {job ? `${typeLabel(job.type)} · ${jobStatusLabel(job)}` : `Job ${job_id}`}
      </PageTitle>
      <QueryResult query={query}>
        {(response) => <JobDetails job={response.job} details_hidden={details_hidden} />}
      </QueryResult>
    </>
  );
}

function isFinal({ finished_at, event }: Job): boolean {
  return finished_at !== null && !event?.deliveries.some(({ status }) => status === 'pending');
}

function JobDetails({ job, details_hidden }: { job: Job; details_hidden: boolean }) {
  return (
    <Stack>
      {details_hidden && <HiddenDetails kind="job" id={String(job.job_id)} />}
      <JobNotice job={job} />
      <EditedFrom job={job} />
      <div className="columns">
        <Section title="Timeline">
          <Timeline job={job} />
        </Section>
        <Section title="Details">
          <Fields
            of={{
              'Patient MRN': job.patient_mrn,
              ...(job.reference !== null && { Reference: job.reference }),
              ...(job.patient && { Patient: <PatientLink patient={job.patient} /> }),
              Accepted: <Timestamp at={job.created_at} />,
              Started: <Timestamp at={job.started_at} />,
              Finished: <Timestamp at={job.finished_at} />,
              Duration: jobDuration(job),
              ...(job.parked_ms > 0 && { 'Waited for re-linking': duration(job.parked_ms) }),
              Attempts: job.attempts,
              ...(job.emr_requests !== null && { 'EMR requests': job.emr_requests.toLocaleString() }),
              ...(job.request_trace_id !== null && { 'Request trace': job.request_trace_id }),
              ...(job.attempt_trace_id !== null && { 'Last attempt trace': job.attempt_trace_id }),
            }}
          />
        </Section>
      </div>
      <TableSection
        title="Changes in the EMR"
        rows={job.changes}
        columns={change_columns}
        rowKey={(each) => each.property}
      />
      {!details_hidden && (
        <Section title="Request">
          <Fields of={Object.fromEntries(job.request.flatMap(describeField))} />
        </Section>
      )}
      <Section title="Event">
        <JobEvent job={job} />
      </Section>
      {job.runs.length > 1 && (
        <TableSection
          title="Runs of this request"
          rows={job.runs}
          columns={runColumns(job.job_id)}
          rowKey={(run) => run.job_id}
        />
      )}
      <TableSection
        title="Other jobs for this patient"
        rows={job.related}
        columns={related_columns}
        rowKey={(each) => each.job_id}
        href={(each) => `/${each.job_id}`}
      />
    </Stack>
  );
}

/** The failed job that this one corrects, and its copy where the notice does not name it. */
function EditedFrom({ job: { edited_from_job_id: from, edited_copy, error } }: { job: Job }) {
  const links = [
    ...(from === null ? [] : [{ text: 'Sent again from', job_id: from }]),
    ...(edited_copy && error === null ? [{ text: 'Edited copy:', job_id: edited_copy.job_id }] : []),
  ];
  return links.map(({ text, job_id }) => (
    <Text key={text} size="sm">
      {text}{' '}
      <Anchor component={Link} href={`/${job_id}`} size="sm">
        Job {job_id}
      </Anchor>
    </Text>
  ));
}

function PatientLink({ patient: { organization_id, id } }: { patient: NonNullable<Job['patient']> }) {
  const { linkTo } = useClient();
  return (
    <Anchor component={Link} href={linkTo(`/records/${organization_id}/patients/${id}`)} size="sm">
      View record
    </Anchor>
  );
}

const related_columns: Column<JobRow>[] = [
  { head: 'Job', cell: (each) => each.job_id },
  { head: 'Type', cell: (each) => typeLabel(each.type), phone: 'line' },
  { head: 'Status', cell: (each) => <JobStatus job={each} /> },
  { head: 'Reason', cell: (each) => (each.error_code === null ? '–' : describeFailure(each.error_code).label) },
  { head: 'Accepted', cell: (each) => <Timestamp at={each.created_at} /> },
];

const change_columns: Column<Job['changes'][number]>[] = [
  { head: 'Field', cell: (each) => each.field_label },
  { head: 'Before', cell: (each) => each.before ?? '–' },
  { head: 'After', cell: (each) => each.after ?? '–' },
  { head: 'Note', cell: (each) => each.note ?? '', phone: 'line' },
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

/** A field of the request with the names of what it refers to: `Harper Samplewell, MD (501)`. */
function describeField({ name, value, names }: Job['request'][number]): [string, string | null][] {
  const nameValue = (each: unknown) => {
    const named = names.find((known) => known.value.toLowerCase() === String(each).toLowerCase());
    return named && named.label !== named.value ? `${named.label} (${each})` : String(each);
  };
  if (Array.isArray(value) && value.every((each) => typeof each !== 'object')) {
    return [[fieldLabel(name), value.map(nameValue).join(', ')]];
  }
  if (value === null || value === undefined || typeof value === 'object') return flatten({ [name]: value });
  if (value === 'true' || value === 'false' || typeof value === 'boolean') {
    return [[fieldLabel(name), String(value) === 'true' ? 'Yes' : 'No']];
  }
  return [[names.length > 0 ? referenceLabel(name) : fieldLabel(name), nameValue(value)]];
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
