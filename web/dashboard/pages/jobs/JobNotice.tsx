import { Alert, Anchor, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { textOr } from '../../parts/labels.ts';
import { Timestamp } from '../../parts/Timestamp.tsx';
import type { Job } from '../../service/types.ts';
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
  const { label, cause, remedy } = describeFailure(error.code);
  const newer = job.runs.find(({ job_id }) => job_id > job.job_id);
  return (
    <Alert color={newer || job.state === 'cancelled' ? 'gray' : 'red'} title={label}>
      <Text size="sm" className="breakable">
        {textOr(error.message, '')}
      </Text>
      <Text size="sm" c="dimmed">
        {cause}
      </Text>
      <Text size="sm" fw={500} mt="xs">
        {newer ? (
          <>
            It was run again as{' '}
            <Anchor component={Link} href={`/${newer.job_id}`} size="sm">
              job {newer.job_id}
            </Anchor>
            .
          </>
        ) : (
          `${remedy} ${nextStep(job, error.code)}`
        )}
      </Text>
    </Alert>
  );
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
  if (job.state !== 'queued' || job.error === null) return null;
  return (
    <Notice title="Waiting for the next attempt">
      {job.error.message} Next attempt: <Timestamp at={job.next_try_at} />
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
