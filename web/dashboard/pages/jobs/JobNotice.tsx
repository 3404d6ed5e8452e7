import { Alert, Anchor, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { JobWhole } from '../../../../src/model/dashboard/jobs.ts';
import { Moment } from '../../parts/Moment.tsx';
import { review_words, wordEnd } from './words.ts';

/** What a reader must know first: what went wrong and what to do, or what the job waits for. */
export function JobNotice({ job }: { job: JobWhole }) {
  return (
    <>
      {job.state === 'needs_review' && <Review job={job} />}
      {job.error && job.finished_at !== null && <Ended job={job} error={job.error} />}
      <Waiting job={job} />
    </>
  );
}

function Review({ job }: { job: JobWhole }) {
  if (job.review) {
    return (
      <Alert color="gray" title={`Resolved: ${review_words[job.review.outcome].toLowerCase()}`}>
        <Text size="sm" className="breakable">
          {job.review.note}
        </Text>
        <Text size="xs" c="dimmed">
          {job.review.by}, <Moment at={job.review.at} />
        </Text>
      </Alert>
    );
  }
  const markers = openMarkers(job);
  return (
    <Alert color="grape" title="Somebody has to look">
      <Text size="sm">
        {job.emr} was sent a write and never confirmed it, so nobody knows whether it is done. Look into the patient’s
        chart, then resolve this job.
      </Text>
      {markers.length > 0 && (
        <Text size="sm" className="breakable">
          The write carries this mark: {markers.join(', ')}
        </Text>
      )}
    </Alert>
  );
}

/** The marks of writes that were sent and of which no outcome is known. */
function openMarkers({ steps }: JobWhole): string[] {
  return steps.flatMap(({ kind, name, detail }, n) => {
    const known = steps.slice(n + 1).some((later) => later.name === name && later.kind === 'outcome');
    return kind === 'intent' && !known && typeof detail?.marker === 'string' ? [detail.marker] : [];
  });
}

function Ended({ job, error }: { job: JobWhole; error: NonNullable<JobWhole['error']> }) {
  const { short, advice } = wordEnd(error.code);
  return (
    <Alert color="red" title={short}>
      <Text size="sm" className="breakable">
        {error.message}
      </Text>
      {job.review === null && <Text size="sm">{advice}</Text>}
      {job.not_again !== null && job.state !== 'needs_review' && (
        <Text size="sm">It cannot be run again: {job.not_again}</Text>
      )}
    </Alert>
  );
}

function Waiting({ job }: { job: JobWhole }) {
  if (job.state === 'parked') {
    return (
      <Notice title="Waits for the account to be linked again">
        Since <Moment at={job.parked_since} />. {job.account_reason ?? ''} It goes on by itself once the account is
        linked again, and fails after 14 days.
      </Notice>
    );
  }
  if (job.waits_for !== null) {
    return (
      <Notice title="Waits for its turn">
        <Anchor component={Link} href={`/${job.waits_for}`} size="sm">
          Job {job.waits_for}
        </Anchor>{' '}
        of the same patient goes first.
      </Notice>
    );
  }
  if (job.state !== 'queued' || job.error === null) return null;
  return (
    <Notice title="Waits for its next try">
      {job.error.message} Tried next: <Moment at={job.next_try_at} />
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
