import { isDeepStrictEqual } from 'node:util';
import { newId } from '../../../catalog/ids.ts';
import type { Payer } from '../../../emr/operations/guarantors.ts';
import type { Coverage, Demographics } from '../../../emr/operations/patients.ts';
import { toNeedle } from '../../../model/fold.ts';
import type { Patient } from '../../../model/records/patients.ts';
import type { Tx } from '../../../platform/db/database.ts';
import type { Context } from '../../context.ts';
import { enqueue } from '../../jobs/enqueue.ts';
import { type PatientRow, savePatient } from '../../records/patients.ts';
import { newJob } from '../requestWrite.ts';
import { type PatientInput, requestedCoverages, toNewPatient, toPatientRecord } from './patientInput.ts';
import { patientLane } from './patientLane.ts';

/** A coverage to add or change. A company other than before must exist in the EMR by the time it is written. */
export type ChangedCoverage = Omit<Coverage, 'company'> & {
  company_ehr_id: string | null;
  company_name: string;
  /** What the EMR was sent before, if anything. */
  before: { priority: Coverage['priority']; same_company: boolean } | null;
};

/** Changes to a patient in the EMR. A PATCH of an active patient contains demographics only. */
export type PatientChange = {
  demographics: Demographics;
  save_previous_address: boolean;
  /** The fields of our patient record after the update. */
  shown: Partial<Patient>;
  coverages?: ChangedCoverage[];
  /** Someone else still pays: a new insurance gets the existing guarantor. */
  guaranteed?: boolean;
  payer?: Payer | null;
  pharmacy_ehr_id?: string;
  check_eligibility?: boolean;
};
export type PatientUpdateInput = PatientChange & { patient_id: string; ehr_id: string; mrn: string };

export const update_type = 'patient.update';

/** Queues an update in the lane of a locked, active patient. Returns the job's id. */
export async function queueUpdate(
  ctx: Context,
  tx: Tx,
  account: { client_id: string; organization_id: string; id: string; connector: string },
  { patient, change, reference }: { patient: PatientRow; change: PatientChange; reference: string | null },
): Promise<number> {
  const { ehr_id, mrn } = patient.doc;
  if (ehr_id === null || mrn === null) throw new Error('Only a patient with a chart in the EMR can be updated.');
  const input: PatientUpdateInput = { patient_id: patient.id, ehr_id, mrn, ...change };
  const operation = { id: newId(), type: update_type, input, reference };
  const job_id = await enqueue(tx, newJob(ctx, account, operation, patientLane(mrn, patient.id)));
  if (job_id === undefined) throw new Error('A job without an idempotency key is always queued.');
  const open_updates = patient.open_updates + 1;
  await savePatient(tx, account, patient, { status: 'pending_update', open_updates });
  return job_id;
}

/** What the client has changed on a new patient since it was sent to the EMR; undefined if nothing. */
export async function findChanges(
  tx: Tx,
  organization_id: string,
  { amended_by: _sent, ...sent }: PatientInput,
  { amended_by: _wanted, ...wanted }: PatientInput,
): Promise<PatientChange | undefined> {
  if (isDeepStrictEqual(sent, wanted)) return undefined;
  const [before, after] = [toNewPatient(sent), toNewPatient(wanted)];
  const { payer, coverages: _all, check_eligibility, pharmacy_ehr_id, ...demographics } = after;
  const coverages = await changedCoverages(tx, organization_id, sent, wanted);
  return {
    demographics: Object.fromEntries(
      Object.entries(demographics)
        .filter(([name, value]) => !isDeepStrictEqual(value, Reflect.get(before, name)))
        // Fields that the client has removed are cleared.
        .map(([name, value]) => [name, value ?? null]),
    ),
    save_previous_address: true,
    shown: toPatientRecord(wanted),
    ...(coverages.length > 0 && { coverages }),
    ...(isDeepStrictEqual(payer, before.payer) ? { guaranteed: payer !== null } : { payer }),
    ...(pharmacy_ehr_id !== null && pharmacy_ehr_id !== before.pharmacy_ehr_id && { pharmacy_ehr_id }),
    ...(check_eligibility && !before.check_eligibility && { check_eligibility }),
  };
}

async function changedCoverages(
  tx: Tx,
  organization_id: string,
  sent: PatientInput,
  wanted: PatientInput,
): Promise<ChangedCoverage[]> {
  const earlier = requestedCoverages(sent);
  const changed: ChangedCoverage[] = [];
  for (const [n, coverage] of requestedCoverages(wanted).entries()) {
    const was = earlier[n];
    if (!coverage || isDeepStrictEqual(coverage, was)) continue;
    const { company, ...rest } = coverage;
    const before = was ? { priority: was.priority, same_company: isDeepStrictEqual(company, was.company) } : null;
    changed.push({ ...rest, ...(await findCompanyRecord(tx, organization_id, company)), before });
  }
  return changed;
}

async function findCompanyRecord(tx: Tx, organization_id: string, company: Coverage['company']) {
  if ('ehr_id' in company) return { company_ehr_id: company.ehr_id, company_name: '' };
  const [record] = await tx<{ ehr_id: string }[]>`SELECT ehr_id FROM insurance_providers
    WHERE organization_id = ${organization_id} AND name_folded = ${toNeedle(company.name)} AND status = 'active'
    ORDER BY id LIMIT 1`;
  return { company_ehr_id: record?.ehr_id ?? null, company_name: company.name };
}
