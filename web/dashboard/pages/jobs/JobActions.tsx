import { Radio, Stack, Text, Textarea } from '@mantine/core';
import { useLocation } from 'wouter';
import { FormDialog } from '../../parts/FormDialog.tsx';
import { review_outcomes } from '../../service/api.gen.ts';
import { call } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { useSession } from '../../service/session.tsx';
import type { Job } from '../../service/types.ts';
import { review_labels } from './labels.ts';

export function JobActions({ job }: { job: Job }) {
  const { may } = useSession();
  if (!may('operator')) return null;
  return (
    <>
      {job.state === 'needs_review' && job.review === null && <Resolve job={job} />}
      {job.not_again === null && <RunAgain job={job} />}
    </>
  );
}

function RunAgain({ job: { job_id } }: { job: Job }) {
  const { client_id } = useClient();
  const [, navigate] = useLocation();
  return (
    <FormDialog
      opener="Run again"
      title={`Run job ${job_id} again`}
      submit="Run again"
      action={async () => {
        const created = await call('jobs.run-again', { client_id, job_id: String(job_id) });
        navigate(`/${created.job_id}`);
      }}
    >
      <Text size="sm">
        This queues a new job after the patient’s other waiting jobs. Anything already saved in the EMR is not written
        again. The new job sends its own event.
      </Text>
    </FormDialog>
  );
}

function Resolve({ job: { job_id } }: { job: Job }) {
  const { client_id } = useClient();
  return (
    <FormDialog
      opener="Resolve"
      title={`Resolve job ${job_id}`}
      submit="Resolve"
      action={(form) => {
        const body = { outcome: String(form.get('outcome')), note: String(form.get('note')) };
        return call('jobs.review', { client_id, job_id: String(job_id) }, { body });
      }}
    >
      <Radio.Group name="outcome" label="Was it saved in the EMR?" required>
        <Stack gap="xs" mt="xs">
          {review_outcomes.map((outcome) => (
            <Radio key={outcome} value={outcome} label={review_labels[outcome]} required />
          ))}
        </Stack>
      </Radio.Group>
      <Textarea
        name="note"
        label="Note"
        description="Where you checked and what you found"
        required
        maxLength={2000}
        autosize
        minRows={3}
      />
      <Text size="sm" c="dimmed">
        This cannot be changed later. A job that was not saved can then be run again.
      </Text>
    </FormDialog>
  );
}
