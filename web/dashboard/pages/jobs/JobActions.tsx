import { Radio, Stack, Text, Textarea } from '@mantine/core';
import { useLocation } from 'wouter';
import type { JobWhole } from '../../../../src/model/dashboard/jobs.ts';
import { review_outcomes } from '../../../../src/model/dashboard/jobWords.ts';
import { Dialog } from '../../parts/Dialog.tsx';
import { ask } from '../../service/ask.ts';
import { useClient } from '../../service/client.tsx';
import { useSession } from '../../service/session.tsx';
import { review_words } from './words.ts';

/** What may be done about a job: nothing, for most. */
export function JobActions({ job }: { job: JobWhole }) {
  const { may } = useSession();
  if (!may('operator')) return null;
  return (
    <>
      {job.state === 'needs_review' && job.review === null && <Resolve job={job} />}
      {job.not_again === null && <RunAgain job={job} />}
    </>
  );
}

function RunAgain({ job }: { job: JobWhole }) {
  const { of } = useClient();
  const [, go] = useLocation();
  return (
    <Dialog
      opener="Run again"
      title={`Run job ${job.job_id} again`}
      submit="Run again"
      act={async () => {
        const { job_id } = await ask<{ job_id: number }>(of(`jobs/${job.job_id}/run-again`), { method: 'POST' });
        go(`/${job_id}`);
      }}
    >
      <Text size="sm">
        A new job is queued behind whatever waits for the same patient. What stands in the EMR already is not written
        again. The application is told of its end by an event of its own.
      </Text>
    </Dialog>
  );
}

function Resolve({ job }: { job: JobWhole }) {
  const { of } = useClient();
  return (
    <Dialog
      opener="Resolve"
      title={`Resolve job ${job.job_id}`}
      submit="Resolve"
      act={(typed) =>
        ask(of(`jobs/${job.job_id}/review`), {
          method: 'POST',
          body: { outcome: typed.get('outcome'), note: typed.get('note') },
        })
      }
    >
      <Radio.Group name="outcome" label="What did you find in the EMR?" required>
        <Stack gap="xs" mt="xs">
          {review_outcomes.map((outcome) => (
            <Radio key={outcome} value={outcome} label={review_words[outcome]} required />
          ))}
        </Stack>
      </Radio.Group>
      <Textarea
        name="note"
        label="Note"
        description="Where you looked and what you saw."
        required
        maxLength={2000}
        autosize
        minRows={3}
      />
      <Text size="sm" c="dimmed">
        This is said once. A job that was not done can then be run again.
      </Text>
    </Dialog>
  );
}
