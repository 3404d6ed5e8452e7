import { Alert, Anchor, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { textOr } from '../../parts/labels.ts';
import { statusLabel } from '../../parts/Status.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { useClient } from '../../service/client.tsx';
import { useSession } from '../../service/session.tsx';
import type { Job } from '../../service/types.ts';
import { failingStepLabel } from './JobStatus.tsx';
import { describeFailure, review_labels } from './labels.ts';

/** What an operator needs to know about the job: what went wrong and what to do, or what it is waiting for. */
export function JobNotice({ job }: { job: Job }) {
  if (job.state === 'needs_review') return <Review job={job} />;
  if (job.error && job.finished_at !== null) return <FailureNotice job={job} error={job.error} />;
  return <Waiting job={job} />;
}

function Review({ job }: { job: Job }) {
  if (job.review) {
    return (
      <Alert color="gray" title={`Resolved: ${review_labels[job.review.outcome].toLowerCase()}`}>
        <Text size="sm" className="breakable">
          {job.review.note}
        </Text>
        <Text size="xs" c="dimmed">
          {job.review.by}, <Timestamp at={job.review.at} />
        </Text>
      </Alert>
    );
  }
  const markers = listPendingMarkers(job);
  return (
    <Alert color="grape" title={describeFailure('outcome_unknown').label}>
      <Text size="sm">
        {job.emr} did not confirm a write. Check in the EMR whether it was saved, then resolve this job.
      </Text>
      {job.error && (
        <Text size="sm" c="dimmed" className="breakable">
          Last error: {job.error.message}
        </Text>
      )}
      {markers.length > 0 && (
        <Text size="sm" className="breakable">
          Write marker: {markers.join(', ')}
        </Text>
      )}
    </Alert>
  );
}

/** The markers of writes that were sent and have no known outcome. */
function listPendingMarkers({ steps }: Job): string[] {
  return steps.flatMap(({ kind, name, detail }, n) => {
    const has_outcome = steps.slice(n + 1).some((later) => later.name === name && later.kind === 'outcome');
    return kind === 'intent' && !has_outcome && typeof detail?.marker === 'string' ? [detail.marker] : [];
  });
}

function FailureNotice({ job, error }: { job: Job; error: NonNullable<Job['error']> }) {
  const { label } = describeFailure(error.code);
  const newer = job.runs.find(({ job_id }) => job_id > job.job_id);
  const repaired = newer ?? job.edited_copy;
  return (
    <Alert
      color={repaired || job.state === 'cancelled' ? 'gray' : 'red'}
      title={<span className="breakable">{textOr(error.message, '') || label}</span>}
    >
      <Text size="sm">
        {label} <code className="secondary">{error.code}</code>
      </Text>
      <Text size="sm" fw={500} mt="xs" component="div">
        {repaired ? (
          <>
            {newer ? 'It was run again as' : 'Edited copy:'}{' '}
            <Anchor component={Link} href={`/${repaired.job_id}`} size="sm">
              {newer ? 'job' : 'Job'} {repaired.job_id}
            </Anchor>{' '}
            · {statusLabel(repaired.state)}
          </>
        ) : (
          <Remedy job={job} code={error.code} />
        )}
      </Text>
    </Alert>
  );
}

/** What to do, with links to where it can be done. */
function Remedy({ job, code }: { job: Job; code: string }) {
  const { linkTo } = useClient();
  const { may } = useSession();
  const { remedy, send_again } = describeFailure(code);
  const { existing_patient, organization_id } = job;
  const provider = code === 'slot_taken' ? findProvider(job) : undefined;
  const edits = send_again === 'corrected' && job.not_editable === null && may('operator');
  return (
    <>
      {remedy} {edits ? '“Edit and send again” opens the request as a form.' : nextStep(job, code)}
      <ExistingChart chart={existing_patient} />
      {provider && (
        <div>
          <Anchor component={Link} href={linkTo(`/records/${organization_id}/providers/${provider.id}`)} size="sm">
            Availability of {provider.label}
          </Anchor>
        </div>
      )}
    </>
  );
}

/** The chart of a duplicate patient. */
export function ExistingChart({ chart }: { chart: Job['existing_patient'] }) {
  const { linkTo } = useClient();
  if (chart === null) return null;
  const { id, mrn, organization_id } = chart;
  return (
    <div>
      {id === null ? (
        `The existing chart has the MRN ${mrn}.`
      ) : (
        <Anchor component={Link} href={linkTo(`/records/${organization_id}/patients/${id}`)} size="sm">
          Open the existing chart (MRN {mrn})
        </Anchor>
      )}
    </div>
  );
}

/** The provider whom the request names. */
function findProvider({ request }: Job): { id: string; label: string } | undefined {
  for (const { names } of request) {
    for (const { label, record } of names) if (record?.kind === 'providers') return { id: record.id, label };
  }
  return undefined;
}

/** How to repeat the write. It follows the remedy and must not contradict it. */
function nextStep({ not_again, type }: Job, code: string): string {
  if (not_again !== null) return `This job cannot be run again: ${not_again}`;
  const { send_again } = describeFailure(code);
  if (type === 'sync' || send_again === 'unchanged') return 'Then run the job again.';
  if (send_again === 'corrected') return 'If the cause was fixed in the EMR instead, run the job again.';
  return '';
}

function Waiting({ job }: { job: Job }) {
  if (job.state === 'parked') {
    return (
      <Notice title="Waiting for re-linking">
        {textOr(job.account_reason, 'The account must be re-linked.')} Waiting since{' '}
        <Timestamp at={job.parked_since} show="clock" />. The job resumes after re-linking; otherwise it fails on{' '}
        <Timestamp at={findDeadline(job)} show="clock" />.
      </Notice>
    );
  }
  if (job.waits_for !== null) {
    return (
      <Notice title="Waiting for another job">
        <Anchor component={Link} href={`/${job.waits_for}`} size="sm">
          Job {job.waits_for}
        </Anchor>{' '}
        for the same patient runs first.
      </Notice>
    );
  }
  if (job.state !== 'retrying' || job.error === null) return null;
  return (
    <Notice title={textOr(job.error.message, describeFailure(job.error.code).label)}>
      {failingStepLabel(job)} · failing since <Timestamp at={job.retrying_since} /> ·{' '}
      {job.next_try_at === null ? (
        `attempt ${job.attempts} is running`
      ) : (
        <>
          next attempt <Timestamp at={job.next_try_at} />
        </>
      )}
      . It is retried for an hour; nothing has to be done unless {job.emr} stays down.
    </Notice>
  );
}

/** Jobs wait for 14 days. */
function findDeadline({ parked_since }: Job): string | null {
  return parked_since === null ? null : new Date(Date.parse(parked_since) + 14 * 86_400_000).toISOString();
}

function Notice({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Alert color="orange" title={title}>
      <Text size="sm" className="breakable">
        {children}
      </Text>
    </Alert>
  );
}
