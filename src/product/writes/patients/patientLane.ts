import type { Account } from '../../accounts/accounts.ts';
import type { Fragment, Query } from '../../../platform/db/database.ts';
import type { RerunCandidate } from '../../jobs/rerunCandidate.ts';
import { hashToken } from '../../../platform/security/hash.ts';
import type { Lane } from '../write.ts';

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

/** A subquery for our id of a patient, or null, to be used in the statement that checks a write's references. */
export function patientIdByMrn(sql: Query, account: Account, mrn: string): Fragment {
  return sql`(SELECT id FROM patients WHERE client_id = ${account.client_id}
    AND organization_id = ${account.organization_id} AND mrn = ${mrn} ORDER BY id LIMIT 1)`;
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
