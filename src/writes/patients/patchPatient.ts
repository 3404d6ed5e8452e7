import type { Account } from '../../accounts/accounts.ts';
import { connectorOf } from '../../accounts/openAccount.ts';
import type { Connector } from '../../connectors/connector.ts';
import type { Context } from '../../context.ts';
import type { Tx } from '../../db/database.ts';
import { apiError } from '../../errors.ts';
import { enqueueAgain } from '../../jobs/enqueue.ts';
import type { Patient } from '../../model/patient.ts';
import { active_fields, type PatientChanges } from '../../model/patientRequest.ts';
import { lockPatient, type PatientRow, savePatient } from '../../records/patientRow.ts';
import { newJob, refuseMissing, refuseRestricted } from '../requestWrite.ts';
import { checkPatient, restrictedFields } from './checkPatient.ts';
import { createPatient } from './patient.create.ts';
import { updatePatient } from './patient.update.ts';
import { demographicsOf, type StoredPatient, saidOf } from './patientInput.ts';
import { checkPair, checkPlaces, onlyNamed, type References, referencesOf, unknownId } from './patientReferences.ts';
import { queueUpdate } from './patientUpdates.ts';

/** What became of the request; undefined when there is no such patient. */
export type Patched = { message: string; job_id?: number; mrn: string | null } | undefined;

/** Changes a patient as its state allows: what its creation will use, or the chart in the EMR. */
export async function patchPatient(
  ctx: Context,
  tx: Tx,
  account: Account,
  id: string,
  changes: PatientChanges,
): Promise<Patched> {
  const { save_previous_address: _how, ...data } = changes;
  if (Object.keys(data).length === 0) throw apiError('no_field');
  const row = await lockPatient(tx, account.organization_id, id);
  if (!row) return undefined;
  const connector = connectorOf(ctx, account.connector);
  const { status } = row.doc;
  if (status === 'pending' || status === 'failed') {
    refuseRestricted(ctx, connector, restrictedFields(data));
    return amendCreation(tx, connector, account, row, data);
  }
  const fixed = Object.keys(changes).find((field) => !active_fields.has(field));
  if (fixed) throw apiError('fixed_field', { field: fixed }, { field: fixed });
  refuseRestricted(
    ctx,
    connector,
    restricted_on_active.filter((field) => field in changes),
  );
  refuseMissing(ctx, account, { label: 'Patient updates', needs: updatePatient.needs });
  const job_id = await queueUpdate(tx, connector, account, row, await changeOf(tx, account, changes));
  return { message: 'Patient update queued. A webhook event follows on completion.', job_id, mrn: row.doc.mrn };
}

/** What only some EMRs can change on a patient whom they have. */
export const restricted_on_active = [...active_fields].filter(
  (field) => !/^(phone|cell_phone|email|address_\w+)$/.test(field),
);

/** The creation uses the new values; one that has failed is queued again. */
async function amendCreation(
  tx: Tx,
  connector: Connector,
  account: Account,
  row: PatientRow,
  changes: PatientChanges,
): Promise<Patched> {
  const [operation] = await tx<{ input: StoredPatient }[]>`SELECT input FROM operations WHERE id = ${row.id}`;
  if (!operation) throw new Error('A patient that was asked for has an operation.');
  const { resolved: _before, ...asked } = operation.input;
  const wanted = { ...asked, ...changes };
  const input: StoredPatient = { ...wanted, resolved: checkPatient(await find(tx, account, wanted), wanted) };
  await savePatient(tx, account, row, { ...saidOf(input), status: 'pending' });
  if (row.doc.status === 'pending') {
    await tx`UPDATE operations SET input = ${JSON.stringify(input)}::text::json WHERE id = ${row.id}`;
    return { message: 'Patient update queued with the creation of the patient.', mrn: null };
  }
  const lane = { key: `patient:${row.id}` };
  const job_id = await enqueueAgain(
    tx,
    newJob(connector, account, { id: row.id, type: createPatient.type, input }, lane),
  );
  const message = 'Patient update queued: the patient is created anew with it. A webhook event follows.';
  return { message, job_id, mrn: null };
}

/** What is asked of an active patient. Whoever is named must be known, or nothing at all is changed. */
async function changeOf(tx: Tx, account: Account, changes: PatientChanges) {
  checkPair('referring_provider', changes);
  checkPair('pcp', changes);
  const found = await find(tx, account, changes);
  checkPlaces(found, changes);
  const { save_previous_address = true, ...values } = changes;
  const demographics = demographicsOf(values, {
    referring_ehr_id: doctorOf('referring_provider', found.referring, found.referring_named, changes),
    pcp_ehr_id: doctorOf('pcp', found.pcp, found.pcp_named, changes),
  });
  return { demographics: JSON.parse(JSON.stringify(demographics)), save_previous_address, shown: shownOf(changes) };
}

function doctorOf(
  role: 'referring_provider' | 'pcp',
  by_id: string | null,
  named: string[],
  changes: PatientChanges,
): string | null {
  const noun = role === 'pcp' ? 'Primary care provider' : 'Referring provider';
  if (changes[`${role}_id`] !== undefined) {
    if (by_id === null) throw unknownId(noun, `${role}_id`, changes);
    return by_id;
  }
  return changes[`${role}_last_name`] ? onlyNamed(role, named, changes) : null;
}

/** What the cached patient shows of the changes. */
function shownOf(changes: PatientChanges): Partial<Patient> {
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
    ...Object.fromEntries(names.filter((name) => name in changes).map((name) => [name, changes[name] || null])),
    ...(address_state === undefined ? {} : { address_state: address_state.toUpperCase() }),
  };
}

async function find(tx: Tx, account: Account, body: PatientChanges): Promise<References> {
  const [found] = (await referencesOf(tx, account.organization_id, body)) as unknown as References[];
  if (!found) throw new Error('Every question for references has an answer.');
  return found;
}
