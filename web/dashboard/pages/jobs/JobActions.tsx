import { Button, Radio, Stack, Text, Textarea } from '@mantine/core';
import { Link, useLocation } from 'wouter';
import { FormDialog } from '../../parts/forms/FormDialog.tsx';
import { CopyValue } from '../../parts/values.tsx';
import { review_outcomes } from '../../service/api.gen.ts';
import { call } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { useQuery } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';
import type { Job } from '../../service/types.ts';
import { Relink } from '../accounts/AccountActions.tsx';
import { useAccounts } from '../accounts/useAccounts.ts';
import { OpenInLarkspur } from '../sandbox/OpenInLarkspur.tsx';
import { toCurl } from './curl.ts';
import { canRunAgainHelp, describeFailure, review_labels } from './labels.ts';

export function JobActions({ job, details_hidden }: { job: Job; details_hidden: boolean }) {
  const { may, sandbox, sees_patients, operator } = useSession();
  const curl = details_hidden ? undefined : toCurl(job);
  return (
    <>
      <CopyValue value={String(job.job_id)}>Copy ID</CopyValue>
      {curl !== undefined && <CopyValue value={curl}>Copy as curl</CopyValue>}
      {sandbox && sees_patients && operator.all_clients && <OpenInEmr job={job} />}
      {may('operator') && <Changes job={job} />}
    </>
  );
}

/** What resolves the job's problem comes last, as the main action. */
function Changes({ job }: { job: Job }) {
  return (
    <>
      {canCancel(job) && <Cancel job={job} />}
      {job.state === 'parked' && <RelinkAccount job={job} />}
      {job.state === 'needs_review' && job.review === null && <Resolve job={job} />}
      {job.not_again === null && canRunAgainHelp(job.error_code, job.not_editable === null) && <RunAgain job={job} />}
      {job.not_editable === null && <EditAndSend job={job} />}
    </>
  );
}

/** What the job wrote in the sandbox's EMR, or the chart of its patient. */
function OpenInEmr({ job: { job_id, type, emr, patient_mrn, finished_at } }: { job: Job }) {
  const { client_id } = useClient();
  const clinic = useQuery('sandbox.get', {}).data?.sandbox;
  if (clinic?.client_id !== client_id || clinic.clinic_name !== emr || type === 'sync') return null;
  if (finished_at !== null) return <OpenInLarkspur of={{ job_id }} />;
  return patient_mrn === null ? null : <OpenInLarkspur of={{ mrn: patient_mrn }} />;
}

function RelinkAccount({ job }: { job: Job }) {
  const { data } = useAccounts();
  for (const organization of data?.organizations ?? []) {
    const account = organization.accounts.find(({ id }) => id === job.account.id);
    if (account) return <Relink account={account} organization={organization} />;
  }
  return null;
}

function EditAndSend({ job: { job_id, error_code } }: { job: Job }) {
  return (
    <Button
      component={Link}
      href={`/${job_id}/edit`}
      size="compact-sm"
      variant={error_code !== null && describeFailure(error_code).send_again === 'corrected' ? 'filled' : 'default'}
    >
      Edit and send again
    </Button>
  );
}

function RunAgain({ job: { job_id, error_code } }: { job: Job }) {
  const { client_id } = useClient();
  const [, navigate] = useLocation();
  return (
    <FormDialog
      name="run-again"
      opener="Run again"
      title={`Run job ${job_id} again`}
      submit="Run again"
      // Not the main action where the same values would fail again.
      look={{
        variant: error_code !== null && describeFailure(error_code).send_again === 'corrected' ? 'default' : 'filled',
      }}
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

/** Whether it waits and has sent nothing to the EMR. The server decides again. */
function canCancel({ state, steps, next_try_at, waits_for }: Job): boolean {
  const waits =
    state === 'retrying' ? next_try_at !== null || waits_for !== null : state === 'queued' || state === 'parked';
  return waits && !steps.some(({ kind }) => kind === 'intent');
}

function Cancel({ job: { job_id } }: { job: Job }) {
  const { client_id } = useClient();
  return (
    <FormDialog
      opener="Cancel job"
      look={{ variant: 'default' }}
      title={`Cancel job ${job_id}`}
      submit="Cancel job"
      success={`Job ${job_id} was canceled.`}
      action={() => call('jobs.cancel', { client_id, job_id: String(job_id) })}
    >
      <Text size="sm">
        Nothing has been sent to the EMR. The job ends without being performed, and its event reports that it was
        canceled. Later jobs for the same patient continue.
      </Text>
    </FormDialog>
  );
}

function Resolve({ job: { job_id } }: { job: Job }) {
  const { client_id } = useClient();
  return (
    <FormDialog
      opener="Resolve"
      look={{ variant: 'filled' }}
      title={`Resolve job ${job_id}`}
      submit="Resolve"
      success={`Job ${job_id} was resolved.`}
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
