import { type ApiError, apiError } from '../../../catalog/errors.ts';
import type { Operations } from '../../../emr/operations/operations.ts';
import type { EventOf } from '../../../model/events.ts';
import type { KindName } from '../../../model/records/kinds.ts';
import { TelephoneEncounterRequest } from '../../../model/requests/telephoneEncounters.ts';
import type { Fragment, Query } from '../../../platform/db/database.ts';
import type { Account } from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import type { Steps } from '../../jobs/jobSteps.ts';
import { referenceError } from '../../records/readRecords.ts';
import { defineWrite, notOffered, patientNotFound } from '../defineWrite.ts';
import { laneByMrn, patientLane } from '../patients/patientLane.ts';
import { matchMedication } from './matchMedication.ts';

const steps = { create: 'create_encounter', pharmacy: 'add_pharmacy', refill: 'add_refill' } as const;

/** Records a telephone call in the patient's chart, with an optional refill request. */
export const createTelephoneEncounter = defineWrite({
  type: 'telephone_encounter.create',
  label: 'Telephone encounter',
  plural_label: 'Telephone encounters',
  body: TelephoneEncounterRequest,
  sample: {
    patient_mrn: 'LK100001',
    provider_id: '501',
    location_id: '11',
    assigned_to_id: '703',
    reason: 'Medication question',
    caller: 'Ada Testpatient',
    message: 'Asks whether the evening dose can be taken with food.',
  },
  needs: ['createTelephoneEncounter', 'findPatient'],
  field_needs: { refill_medication_name: ['listMedications', 'addRefill'] },
  restricted: 'every_server',
  stored_by: 'createTelephoneEncounter',
  check: checkReferences,
  quick_check: {
    lane: ({ patient_mrn }) => laneByMrn(patient_mrn),
    lookups: {},
    references: (sql) => sql`SELECT provider AND staff AND location AND pharmacy AND NOT merged AS complete, patient_id
      FROM (${references(sql)}) AS each`,
  },
  acceptedResponse: ({ id, job_id }) => ({
    success: true,
    message: 'Telephone encounter creation queued. A webhook event follows on completion.',
    telephone_encounter_id: id,
    job_id,
  }),

  run: async ({ id, input, emr, steps: run }) => {
    // An earlier attempt may have written everything and failed to report it.
    const earlier = completedEvent(id, input, run.outcomes);
    if (earlier) return { event: earlier };
    const patient = await emr.findPatient(input.patient_mrn);
    if (!patient) throw patientNotFound(input.patient_mrn);
    const name = input.refill_medication_name;
    const refill = name === undefined ? undefined : await prepareRefill(emr, patient.ehr_id, name);
    const pharmacy_ehr_id = input.pharmacy_ehr_id ?? null;

    const encounter = await run.write(steps.create, emr.createTelephoneEncounter, {
      patient_ehr_id: patient.ehr_id,
      provider_ehr_id: input.provider_id,
      location_ehr_id: input.location_id,
      assigned_to_ehr_id: input.assigned_to_id,
      high_priority: input.is_high_priority === 'true',
      reason: input.reason ?? null,
      caller: input.caller ?? null,
      message: input.message ?? null,
      pharmacy_ehr_id,
      template_name: input.template_name ?? null,
    });
    if (refill) {
      const { addRefill, medication } = refill;
      // Without a refill the pharmacy is only a note on the encounter.
      if (pharmacy_ehr_id !== null) await addPharmacy(emr, run, patient.ehr_id, pharmacy_ehr_id);
      const request = { encounter_ehr_id: encounter.ehr_id, medication_ehr_id: medication.ehr_id, pharmacy_ehr_id };
      await run.write(steps.refill, addRefill, request, { with_outcome: { medication_name: medication.name } });
    }
    const event = completedEvent(id, input, run.outcomes);
    if (!event) throw new Error('All steps are done, but the encounter is not complete.');
    return { event };
  },

  onFailure: ({ id, input, outcomes, failure }) => {
    const event = completedEvent(id, input, outcomes);
    if (event) return { state: 'succeeded', event };
    const refill_medication_name = input.refill_medication_name ?? null;
    const encounter = outcomes.get(steps.create);
    if (encounter && refill_medication_name !== null) {
      const refill = { refill_medication_name, refill_failure_reason: failure.message };
      const data = { ...encounterFields(id, input, encounter), ...refill };
      return { state: 'partial', event: { type: 'telephone_encounter.created_partial', data } };
    }
    const data = {
      telephone_encounter_id: id,
      patient_mrn: input.patient_mrn,
      refill_medication_name,
      failure_reason: failure.message,
    };
    return { state: 'failed', event: { type: 'telephone_encounter.failed', data } };
  },
});

/** The medication to refill, and the operation that adds it. Nothing is written yet. */
async function prepareRefill(
  { listMedications, addRefill }: Partial<Operations>,
  patient_ehr_id: string,
  name: string,
) {
  if (!listMedications) throw notOffered('listMedications');
  if (!addRefill) throw notOffered('addRefill');
  return { addRefill, medication: matchMedication(name, await listMedications(patient_ehr_id)) };
}

/** Adds the pharmacy to the patient's list. In an EMR without such lists, only the refill names it. */
async function addPharmacy(
  { listPatientPharmacies, addPatientPharmacy }: Partial<Operations>,
  run: Steps,
  patient_ehr_id: string,
  pharmacy_ehr_id: string,
): Promise<void> {
  if (!listPatientPharmacies || !addPatientPharmacy) return;
  const pharmacies = await listPatientPharmacies(patient_ehr_id);
  if (pharmacies.some(({ ehr_id }) => ehr_id === pharmacy_ehr_id)) return;
  await run.write(steps.pharmacy, addPatientPharmacy, { patient_ehr_id, pharmacy_ehr_id });
}

/** The event of an encounter that is complete in the EMR; undefined while something is missing. */
function completedEvent(id: string, body: TelephoneEncounterRequest, outcomes: Steps['outcomes']): EventOf | undefined {
  const encounter = outcomes.get(steps.create);
  const refill = outcomes.get(steps.refill);
  if (!encounter || (body.refill_medication_name !== undefined && !refill)) return undefined;
  const refilled = refill && { refill_medication_name: String(refill.medication_name) };
  return { type: 'telephone_encounter.created', data: { ...encounterFields(id, body, encounter), ...refilled } };
}

function encounterFields(id: string, body: TelephoneEncounterRequest, encounter: Record<string, unknown>) {
  return {
    telephone_encounter_id: id,
    emr_encounter_id: String(encounter.ehr_id),
    patient_mrn: body.patient_mrn,
    provider_id: body.provider_id,
    location_id: body.location_id,
    assigned_to_id: body.assigned_to_id,
    reason: body.reason ?? null,
  };
}

type LookedUp = {
  provider: boolean;
  staff: boolean;
  location: boolean;
  pharmacy: boolean;
  patient_id: string | null;
};

/** What the request `sent` refers to, by its columns and the fields of its `input`. */
function references(sql: Query): Fragment {
  const listed = (table: string, id: string, condition = sql``) => sql`
    (SELECT true FROM ${sql(table)} AS listed WHERE listed.organization_id = sent.organization_id
        AND ehr_id = body.${sql(id)} ${condition} LIMIT 1) IS NOT NULL`;
  const active = sql`AND status = 'active'`;
  return sql`SELECT
    ${listed('providers', 'provider_id')} AS provider,
    ${listed('staff', 'assigned_to_id', active)} AS staff,
    ${listed('locations', 'location_id')} AS location,
    body.pharmacy_ehr_id IS NULL OR ${listed('pharmacies', 'pharmacy_ehr_id', active)} AS pharmacy,
    (SELECT id FROM patients WHERE patients.client_id = sent.client_id
        AND patients.organization_id = sent.organization_id AND mrn = body.patient_mrn ORDER BY id LIMIT 1) AS patient_id,
    EXISTS (SELECT FROM merged_charts WHERE merged_charts.client_id = sent.client_id
        AND merged_charts.organization_id = sent.organization_id AND mrn = body.patient_mrn) AS merged
    FROM json_to_record(sent.input) AS body (provider_id text, assigned_to_id text, location_id text,
      pharmacy_ehr_id text, patient_mrn text)`;
}

type Request = { ctx: Context; account: Account; body: TelephoneEncounterRequest };

/** One query; its results are checked in the order in which errors are reported. */
async function checkReferences({ ctx, account, body }: Request) {
  const { client_id, organization_id } = account;
  const [looked_up] = await ctx.db.read<LookedUp>(
    client_id,
    (sql) => sql`SELECT found.* FROM (
      SELECT ${client_id}::uuid AS client_id, ${organization_id}::uuid AS organization_id, ${sql.json(body)}::text::json AS input
    ) AS sent CROSS JOIN LATERAL (${references(sql)}) AS found`,
  );
  const unknown = (kind: KindName, error: ApiError) => referenceError(ctx.db, account, [kind], error);
  if (!looked_up?.provider) {
    const error = apiError('provider_not_found', { id: body.provider_id }, { field: 'provider_id' });
    throw await unknown('providers', error);
  }
  if (!looked_up.staff) {
    const error = apiError('staff_not_found', { id: body.assigned_to_id }, { field: 'assigned_to_id' });
    throw await unknown('staff', error);
  }
  if (!looked_up.location) {
    const error = apiError('location_not_found', { id: body.location_id }, { field: 'location_id' });
    throw await unknown('locations', error);
  }
  if (!looked_up.pharmacy) {
    const error = apiError('pharmacy_not_found', { id: body.pharmacy_ehr_id ?? '' }, { field: 'pharmacy_ehr_id' });
    throw await unknown('pharmacies', error);
  }
  return { lane: patientLane(body.patient_mrn, looked_up.patient_id), lookups: {} };
}
