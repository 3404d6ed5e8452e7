import { apiError } from '../../../catalog/errors.ts';
import type { PatientStatus } from '../../../model/records/patients.ts';
import type { Fragment, Query } from '../../../platform/db/database.ts';
import { hashToken } from '../../../platform/security/signatures.ts';
import type { Account } from '../../accounts/accounts.ts';
import type { RerunCandidate } from '../../jobs/listJobs.ts';
import { patientByMrn } from '../../records/mergedCharts.ts';
import { lockPatient, type PatientRow, readPatient, savePatient } from '../../records/patients.ts';
import type { Lane, RerunJob, RerunRules } from '../defineWrite.ts';

/** The lane of a patient: by id, or by MRN if the patient has not been synced yet. */
export function patientLane(mrn: string, patient_id: string | null): Lane {
  const by_mrn = laneByMrn(mrn);
  return patient_id === null ? { key: by_mrn } : { key: `patient:${patient_id}`, earlier: by_mrn };
}

/** The key of the lane of a patient who has not been synced yet. */
export function laneByMrn(mrn: string): string {
  return laneKey('mrn', mrn);
}

/**
 * The key of a lane. Ids of more than 200 characters, which no EMR has, are hashed: an index entry is limited to 2,700
 * bytes.
 */
export function laneKey(prefix: string, id: string): string {
  return `${prefix}:${id.length <= 200 ? id : hashToken(id).toString('hex')}`;
}

/** A subquery for our id of a patient (of a merged chart: the one that survived), or null, to be used in the statement that checks a write's references. */
export function patientIdByMrn(sql: Query, account: Account, mrn: string): Fragment {
  return patientByMrn(sql, account, mrn, 'id');
}

/**
 * The lane for another run of a job. A patient who was known by MRN only may have been synced since, and a job that was
 * taken out of the patient's lane returns to it.
 */
export function currentLane({ lane, patient_mrn, patient_id }: RerunCandidate): Lane {
  return /^(mrn|patient|apart):/.test(lane) && patient_mrn !== null
    ? patientLane(patient_mrn, patient_id)
    : { key: lane };
}

/**
 * A query for the ids of a patient's jobs: those whose request names the MRN, the one that created the patient, and the
 * actions on encounters and notes on tasks created by one of these jobs. The patient of any other encounter or task is
 * known to the EMR only.
 * Every part uses an index: 4 ms with 400,000 jobs. OFFSET 0 keeps the lookups from becoming joins, which, if planned
 * while there were few jobs, read all of them.
 */
export function jobsOfPatient(sql: Query, client_id: string, mrn: string): Fragment {
  return sql`
    WITH direct AS MATERIALIZED (
      SELECT id FROM operations WHERE client_id = ${client_id} AND patient_mrn = ${mrn}
      UNION
      SELECT patient.id FROM organizations AS organization
        JOIN patients AS patient ON patient.client_id = ${client_id}
         AND patient.organization_id = organization.id AND patient.mrn = ${mrn}
    ), created AS MATERIALIZED (
      SELECT job.organization_id, step.name, step.detail ->> 'ehr_id' AS ehr_id
        FROM direct CROSS JOIN LATERAL (SELECT * FROM jobs WHERE operation_id = direct.id OFFSET 0) AS job
        CROSS JOIN LATERAL (SELECT * FROM job_steps WHERE job_id = job.id OFFSET 0) AS step
       WHERE step.name IN ('create_encounter', 'create_task') AND step.kind = 'outcome'
         AND step.detail ->> 'ehr_id' IS NOT NULL
    ), action AS MATERIALIZED (
      SELECT operation.id FROM created JOIN operations AS operation ON operation.client_id = ${client_id}
         AND operation.encounter_ehr_id = created.ehr_id AND operation.organization_id = created.organization_id
       WHERE created.name = 'create_encounter'
    ), note AS MATERIALIZED (
      SELECT operation.id FROM created JOIN operations AS operation ON operation.client_id = ${client_id}
         AND operation.task_ehr_id = created.ehr_id AND operation.organization_id = created.organization_id
       WHERE created.name = 'create_task'
    )
    SELECT job.id FROM (SELECT id FROM direct UNION SELECT id FROM action UNION SELECT id FROM note) AS operation
      CROSS JOIN LATERAL (SELECT id FROM jobs WHERE operation_id = operation.id OFFSET 0) AS job`;
}

type Transition = { status: PatientStatus; open_updates: number };

/**
 * Rules for writes on which the patient's status depends. `transition` returns the status after the job has been
 * queued again, or undefined if the present status does not allow it.
 */
export function patientRerun<Input>(
  readPatientId: (job: RerunJob<Input>) => string,
  transition: (row: PatientRow) => Transition | undefined,
): RerunRules<Input> {
  return {
    blocker: async (tx, job) => {
      const row = await readPatient(tx, job.organization_id, readPatientId(job));
      if (!row) return 'The patient no longer exists.';
      return transition(row) ? undefined : 'The patient has changed since. Send a new request.';
    },
    lock: async (tx, job) => {
      await lockPatient(tx, job.organization_id, readPatientId(job));
    },
    prepare: async (tx, job) => {
      const row = await readPatient(tx, job.organization_id, readPatientId(job));
      const next = row && transition(row);
      if (!row || !next) throw apiError('job_not_repeatable', { reason: 'The patient was changed at the same time.' });
      await savePatient(tx, job, row, next);
    },
  };
}
