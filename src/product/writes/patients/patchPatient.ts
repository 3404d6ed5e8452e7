import { apiError } from '../../../catalog/errors.ts';
import type { Patient } from '../../../model/records/patients.ts';
import { active_fields, type PatientChanges, PatientRequest } from '../../../model/requests/patients.ts';
import type { Tx } from '../../../platform/db/database.ts';
import type { Account } from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import { enqueueAgain } from '../../jobs/enqueue.ts';
import { updateOperation } from '../../jobs/jobs.ts';
import { lockPatient, type PatientRow, savePatient } from '../../records/patients.ts';
import { newJob, rejectFields, requireSupported, sentFields } from '../requestWrite.ts';
import { createPatient } from './patient.create.ts';
import { updatePatient } from './patient.update.ts';
import { amendRequest, checkPatient, type PatientInput, toDemographics, toPatientRecord } from './patientInput.ts';
import {
  checkNamePair,
  checkPlaces,
  idNotFound,
  type NamedDoctors,
  onlyMatch,
  type References,
  type Role,
  selectReferences,
} from './patientReferences.ts';
import { queueUpdate } from './patientUpdates.ts';

/** Changes to a patient. `named`: the doctors in the EMR with the names in them. */
type PatientPatch = { id: string; changes: PatientChanges; named: NamedDoctors; reference: string | null };

/** Undefined if the patient does not exist. */
export type PatchResult = { message: string; job_id?: number; mrn: string | null } | undefined;

/** Changes a patient: the queued creation while the patient is pending or failed, afterwards the chart in the EMR. */
export async function patchPatient(
  ctx: Context,
  tx: Tx,
  account: Account,
  { id, changes, named, reference }: PatientPatch,
): Promise<PatchResult> {
  const { save_previous_address: _how, ...data } = changes;
  if (Object.keys(data).length === 0) throw apiError('no_field');
  const patient = await lockPatient(tx, account.organization_id, id);
  if (!patient) return undefined;
  const { status, mrn } = patient.doc;
  if (status === 'pending' || status === 'failed') {
    rejectFields(ctx, account, createPatient, sentFields(PatientRequest, data));
    return amendCreation(ctx, tx, account, { patient, changes: data, reference });
  }
  const fixed = Object.keys(changes).find((field) => !active_fields.has(field));
  if (fixed) throw apiError('fixed_field', { field: fixed }, { field: fixed });
  const stored = { stored_by: 'updatePatient', restricted_fields: restricted_on_active } as const;
  rejectFields(ctx, account, stored, Object.keys(changes));
  requireSupported(ctx, account, updatePatient);
  const change = await toPatientChange(tx, account, changes, named);
  const job_id = await queueUpdate(ctx, tx, account, { patient, change, reference });
  return { message: 'Patient update queued. A webhook event follows on completion.', job_id, mrn };
}

/** The fields of an active patient that the interface defines for some EMR products only. */
export const restricted_on_active = [...active_fields].filter(
  (field) => !/^(phone|cell_phone|email|address_\w+)$/.test(field),
);

/**
 * Changes the input of the creation, which keeps its reference. A creation that has failed is queued again, with the
 * reference of the change.
 */
async function amendCreation(
  ctx: Context,
  tx: Tx,
  account: Account,
  { patient, changes, reference }: { patient: PatientRow; changes: PatientChanges; reference: string | null },
): Promise<PatchResult> {
  const { id } = patient;
  const [operation] = await tx<{ input: PatientInput }[]>`SELECT input FROM operations WHERE id = ${id}`;
  if (!operation) throw new Error('The operation that creates the patient does not exist.');
  const { resolved: _before, amended_by: _earlier, ...request } = operation.input;
  const wanted = amendRequest(request, changes);
  const resolved = checkPatient(await readReferences(tx, account, wanted), wanted);
  const input: PatientInput = { ...wanted, resolved };
  await savePatient(tx, account, patient, { ...toPatientRecord(input), status: 'pending' });
  if (patient.doc.status === 'pending') {
    await tx`${updateOperation(tx, { id, input: { ...input, amended_by: reference } })}`;
    return { message: 'Patient update queued with the creation of the patient.', mrn: null };
  }
  const lane = { key: `patient:${id}` };
  const again = { id, type: createPatient.type, input, reference };
  const job_id = await enqueueAgain(tx, newJob(ctx, account, again, lane));
  const message = 'Patient update queued: the patient will be created with it. A webhook event follows on completion.';
  return { message, job_id, mrn: null };
}

/** The changes to an active patient. All references must resolve, or nothing is changed. */
async function toPatientChange(tx: Tx, account: Account, changes: PatientChanges, named: NamedDoctors) {
  checkNamePair('referring_provider', changes);
  checkNamePair('pcp', changes);
  const references = await readReferences(tx, account, changes);
  const cleared = references.required.find((field) => Reflect.get(changes, field) === null);
  if (cleared) throw apiError('missing_field', { field: cleared }, { field: cleared });
  checkPlaces(references, changes);
  const { save_previous_address, ...values } = changes;
  const demographics = toDemographics(values, {
    referring_ehr_id: findDoctor('referring_provider', references, changes, named),
    pcp_ehr_id: findDoctor('pcp', references, changes, named),
  });
  return {
    demographics: JSON.parse(JSON.stringify(demographics)),
    save_previous_address: save_previous_address ?? true,
    shown: recordChanges(changes),
  };
}

/** The EMR id of a doctor. Null if none is named, or if the EMR could not be asked: it then resolves the name itself. */
function findDoctor(role: Role, references: References, changes: PatientChanges, named: NamedDoctors): string | null {
  if (changes[`${role}_id`]) {
    const by_id = role === 'pcp' ? references.pcp : references.referring;
    if (by_id === null) throw idNotFound(references, `${role}_id`, changes);
    return by_id;
  }
  const matches = named[role];
  return matches === undefined ? null : onlyMatch(role, matches, changes);
}

/** The changes to the fields of our patient record. */
function recordChanges(changes: PatientChanges): Partial<Patient> {
  const names = [
    'phone',
    'cell_phone',
    'email',
    'address_street',
    'address_line2',
    'address_city',
    'address_zip',
  ] as const;
  const { address_state } = changes;
  return {
    ...Object.fromEntries(names.filter((name) => name in changes).map((name) => [name, changes[name]])),
    ...(address_state === undefined ? {} : { address_state: address_state?.toUpperCase() ?? null }),
  };
}

async function readReferences(tx: Tx, account: Account, body: PatientChanges): Promise<References> {
  const [references] = await tx<References[]>`${selectReferences(tx, account.organization_id, body)}`;
  if (!references) throw new Error('A query without FROM returned no row.');
  return references;
}
