import { connectorOf } from '../../accounts/openAccount.ts';
import type { EventOf } from '../../events.ts';
import { newId } from '../../ids.ts';
import { PatientRequest } from '../../model/patientRequest.ts';
import { insertPending, lockPatient, savePatient } from '../../records/patientRow.ts';
import { removeTwin } from '../../records/recordKind.ts';
import { failureOf, type Settled, type Write } from '../write.ts';
import { checkPatient, restrictedFields } from './checkPatient.ts';
import { newPatient, type StoredPatient, saidOf } from './patientInput.ts';
import { type References, referencesOf } from './patientReferences.ts';
import { differenceOf, queueUpdate } from './patientUpdates.ts';

const step = 'create_patient';

/** A chart is made in the EMR. The operation bears the patient's id, so that every run of it has the same marker. */
export const createPatient: Write<typeof PatientRequest, 'createPatient'> = {
  type: 'patient.create',
  body: PatientRequest,
  needs: ['createPatient'],
  label: 'New patients',
  restricted: false,
  restrictedFields,
  check: async (ctx, account, body) => {
    const [found] = await ctx.db.read<References>(account.client_id, (sql) =>
      referencesOf(sql, account.organization_id, body),
    );
    if (!found) throw new Error('Every question for references has an answer.');
    // Nobody else can write for this patient yet, so nothing has to be waited for.
    return { key: `new:${newId()}`, found: { resolved: checkPatient(found, body) } };
  },
  place: ({ tx, account: { client_id, organization_id }, id, body }) =>
    insertPending(tx, { client_id, organization_id }, id, saidOf(body as StoredPatient)),
  accepted: ({ id, job_id }) => ({
    success: true,
    message: 'Patient creation queued. A webhook event follows on completion.',
    patient_id: id,
    job_id,
    data: { patient_id: id, job_id },
  }),
  perform: async ({ id, body, emr, steps }) => {
    // What an earlier try may have sent is what is asked for again, even where the client has changed it since.
    const stored = (steps.kept(step) ?? body) as StoredPatient;
    return created(id, await steps.write(step, emr.createPatient, newPatient(stored), { kept: stored }));
  },
  fail: ({ id, outcomes, problem }) => {
    const made = outcomes.get(step);
    if (made) return { state: 'succeeded', event: created(id, made) };
    const duplicate = problem.details?.duplicate_patient_mrn;
    const data = {
      patient_id: id,
      ...failureOf(duplicate === undefined ? problem : { ...problem, code: 'duplicate_patient' }),
      ...(duplicate === undefined ? {} : { duplicate_patient_mrn: String(duplicate) }),
    };
    return { state: 'failed', event: { type: 'patient.failed', data } };
  },
  settle: settleCreation,
  again: {
    patientOf: (id) => id,
    move: ({ doc, open_updates }) => (doc.status === 'failed' ? { status: 'pending', open_updates } : undefined),
  },
};

function created(patient_id: string, made: Record<string, unknown>): EventOf {
  return { type: 'patient.created', data: { patient_id, mrn: String(made.mrn) } };
}

/** The patient is active or failed. What the client has changed since the EMR was asked is queued as an update. */
async function settleCreation({ tx, ctx, job, outcomes, kept }: Settled<PatientRequest>): Promise<void> {
  const { client_id, organization_id, account_id, operation_id: id } = job;
  const of = { client_id, organization_id };
  const row = await lockPatient(tx, organization_id, id);
  if (!row) return;
  const made = outcomes.get(step);
  if (!made) {
    await savePatient(tx, of, row, { status: 'failed' });
    return;
  }
  const sent = kept(step) as StoredPatient;
  const ehr_id = String(made.ehr_id);
  await removeTwin(tx, 'patients', organization_id, id, ehr_id);
  const chart = { ...saidOf(sent), ehr_id, mrn: String(made.mrn) };
  const active = await savePatient(tx, of, row, { ...chart, status: 'active' });
  const [wanted] = await tx<{ input: StoredPatient; connector: string }[]>`
    SELECT input, (SELECT connector FROM organizations WHERE id = ${organization_id}) AS connector
      FROM operations WHERE id = ${id}`;
  const difference = wanted && (await differenceOf(tx, organization_id, sent, wanted.input));
  if (!difference) return;
  const account = { ...of, id: account_id };
  await queueUpdate(tx, connectorOf(ctx, wanted.connector), account, active, difference);
}
