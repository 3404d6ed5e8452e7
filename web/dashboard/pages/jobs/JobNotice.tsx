import { Alert, Anchor, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { Timestamp } from '../../parts/Timestamp.tsx';
import type { Job } from '../../service/types.ts';
import { failureOf, review_labels } from './labels.ts';

/** What went wrong and what to do, or what the job is waiting for. */
export function JobNotice({ job }: { job: Job }) {
  return (
    <>
      {job.state === 'needs_review' && <Review job={job} />}
      {job.error && job.finished_at !== null && <FailureNotice job={job} error={job.error} />}
      <Waiting job={job} />
    </>
  );
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
  const markers = openMarkers(job);
  return (
    <Alert color="grape" title="Needs review">
      <Text size="sm">
        {job.emr} did not confirm a write. Check in the EMR whether it was saved, then resolve this job.
      </Text>
      {markers.length > 0 && (
        <Text size="sm" className="breakable">
          Marker of the write: {markers.join(', ')}
        </Text>
      )}
    </Alert>
  );
}

/** The markers of writes that were sent and have no known outcome. */
function openMarkers({ steps }: Job): string[] {
  return steps.flatMap(({ kind, name, detail }, n) => {
    const known = steps.slice(n + 1).some((later) => later.name === name && later.kind === 'outcome');
    return kind === 'intent' && !known && typeof detail?.marker === 'string' ? [detail.marker] : [];
  });
}

function FailureNotice({ job, error }: { job: Job; error: NonNullable<Job['error']> }) {
  const { label, remedy } = failureOf(error.code);
  return (
    <Alert color="red" title={label}>
      <Text size="sm" className="breakable">
        {error.message}
      </Text>
      {job.review === null && <Text size="sm">{remedy}</Text>}
      {job.not_again !== null && job.state !== 'needs_review' && (
        <Text size="sm">This job cannot be run again: {job.not_again}</Text>
      )}
    </Alert>
  );
}

function Waiting({ job }: { job: Job }) {
  if (job.state === 'parked') {
    return (
      <Notice title="Waiting for re-linking">
        Since <Timestamp at={job.parked_since} />. {job.account_reason ?? ''} The job resumes after re-linking and fails
        after 14 days.
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

function Notice({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Alert color="orange" title={title}>
      <Text size="sm" className="breakable">
        {children}
      </Text>
    </Alert>
  );
}
