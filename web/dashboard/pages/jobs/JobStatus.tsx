import { Badge } from '@mantine/core';
import { fieldLabel } from '../../parts/labels.ts';
import { Status, statusLabel } from '../../parts/Status.tsx';

type Shown = { state: string; attempts: number; failing_step: string | null };

/** The status of a job; one that is retried says how often. */
export function JobStatus({ job }: { job: Shown }) {
  if (job.state !== 'retrying') return <Status of={job.state} />;
  return (
    <Badge color="orange" variant="light" className="unbroken">
      {jobStatusLabel(job)}
    </Badge>
  );
}

/** The label alone, for titles. */
export function jobStatusLabel({ state, attempts }: Pick<Shown, 'state' | 'attempts'>): string {
  return state === 'retrying' ? `Retrying (attempt ${attempts})` : statusLabel(state);
}

/** Which write of a retried job failed last. */
export function failingStepLabel({ failing_step }: Pick<Shown, 'failing_step'>): string {
  return failing_step === null
    ? 'Failing before the first write'
    : `Failing step: ${fieldLabel(failing_step).toLowerCase()}`;
}
