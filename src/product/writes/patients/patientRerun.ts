import { apiError } from '../../../catalog/errors.ts';
import type { PatientStatus } from '../../../model/records/patients.ts';
import { lockPatient, type PatientRow, readPatient, savePatient } from '../../records/patients.ts';
import type { RerunJob, RerunRules } from '../write.ts';

type Transition = { status: PatientStatus; open_updates: number };

/**
 * Rules for writes on which the patient's status depends. `transition` returns the status after the job has been
 * queued again, or undefined if the present status does not allow it.
 */
export function patientRerun<Input>(
  patientOf: (job: RerunJob<Input>) => string,
  transition: (row: PatientRow) => Transition | undefined,
): RerunRules<Input> {
  return {
    blocker: async (tx, job) => {
      const row = await readPatient(tx, job.organization_id, patientOf(job));
      if (!row) return 'The patient no longer exists.';
      return transition(row) ? undefined : 'The patient has changed since. Send a new request.';
    },
    lock: async (tx, job) => {
      await lockPatient(tx, job.organization_id, patientOf(job));
    },
    prepare: async (tx, job) => {
      const row = await readPatient(tx, job.organization_id, patientOf(job));
      const next = row && transition(row);
      if (!row || !next) throw apiError('job_not_repeatable', { reason: 'The patient was changed at the same time.' });
      await savePatient(tx, job, row, { status: next.status }, next.open_updates);
    },
  };
}
