import type { Account } from '../../accounts/accounts.ts';
import { EmrFailure } from '../../connectors/connector.ts';
import type { Context } from '../../context.ts';
import { apiError } from '../../errors.ts';
import type { EventOf } from '../../events.ts';
import type { Steps } from '../../jobs/jobSteps.ts';
import { TelephoneEncounterRequest } from '../../model/telephoneEncounter.ts';
import { patientIdOf, patientLane, type Write } from '../write.ts';
import { matchMedication } from './matchMedication.ts';

const steps = { create: 'create_encounter', pharmacy: 'add_pharmacy', refill: 'add_refill' } as const;

type Needs =
  | 'findPatient'
  | 'listMedications'
  | 'listPatientPharmacies'
  | 'addPatientPharmacy'
  | 'createTelephoneEncounter'
  | 'addRefill';

/** A telephone call is recorded in the patient's chart, with a refill request where one was made. */
export const createTelephoneEncounter: Write<typeof TelephoneEncounterRequest, Needs> = {
  type: 'telephone_encounter.create',
  body: TelephoneEncounterRequest,
  needs: [
    'createTelephoneEncounter',
    'findPatient',
    'listMedications',
    'listPatientPharmacies',
    'addPatientPharmacy',
    'addRefill',
  ],
  label: 'Telephone encounters',
  restricted: true,
  check: checkReferences,
  accepted: ({ id, job_id }) => ({
    success: true,
    message: 'Telephone encounter creation queued. A webhook event follows on completion.',
    telephone_encounter_id: id,
    job_id,
  }),

  perform: async ({ id, body, emr, steps: run }) => {
    // An earlier try may have written all there was to write without being able to say so.
    const before = completed(id, body, run.outcomes);
    if (before) return before;
    const patient = await emr.findPatient(body.patient_mrn);
    if (!patient) throw new EmrFailure('not_found', `Patient with MRN '${body.patient_mrn}' not found.`);
    const name = body.refill_medication_name;
    const medication =
      name === undefined ? undefined : matchMedication(name, await emr.listMedications(patient.ehr_id));
    const pharmacy_ehr_id = body.pharmacy_ehr_id ?? null;

    const encounter = await run.write(steps.create, emr.createTelephoneEncounter, {
      patient_ehr_id: patient.ehr_id,
      provider_ehr_id: body.provider_id,
      location_ehr_id: body.location_id,
      assigned_to_ehr_id: body.assigned_to_id,
      high_priority: body.is_high_priority === 'true',
      reason: body.reason ?? null,
      caller: body.caller ?? null,
      message: body.message ?? null,
      pharmacy_ehr_id,
      template_name: body.template_name ?? null,
    });
    if (medication) {
      // A pharmacy without a refill is a note on the encounter; with one, the patient will go there.
      if (pharmacy_ehr_id !== null) {
        const known = await emr.listPatientPharmacies(patient.ehr_id);
        if (!known.some((pharmacy) => pharmacy.ehr_id === pharmacy_ehr_id)) {
          await run.write(steps.pharmacy, emr.addPatientPharmacy, { patient_ehr_id: patient.ehr_id, pharmacy_ehr_id });
        }
      }
      const refill = { encounter_ehr_id: encounter.ehr_id, medication_ehr_id: medication.ehr_id, pharmacy_ehr_id };
      await run.write(steps.refill, emr.addRefill, refill, { told: { medication_name: medication.name } });
    }
    const event = completed(id, body, run.outcomes);
    if (!event) throw new Error('Every step was taken, and still the encounter is not complete.');
    return event;
  },

  fail: ({ id, body, outcomes, problem }) => {
    const event = completed(id, body, outcomes);
    if (event) return { state: 'succeeded', event };
    const refill_medication_name = body.refill_medication_name ?? null;
    const encounter = outcomes.get(steps.create);
    if (encounter && refill_medication_name !== null) {
      const refill = { refill_medication_name, refill_failure_reason: problem.message };
      const data = { ...described(id, body, encounter), ...refill };
      return { state: 'partial', event: { type: 'telephone_encounter.created_partial', data } };
    }
    const told = { refill_medication_name, failure_reason: problem.message };
    const data = { telephone_encounter_id: id, patient_mrn: body.patient_mrn, ...told };
    return { state: 'failed', event: { type: 'telephone_encounter.failed', data } };
  },
};

/** The event of an encounter that stands in the EMR with all that was asked for, or undefined while something is missing. */
function completed(id: string, body: TelephoneEncounterRequest, outcomes: Steps['outcomes']): EventOf | undefined {
  const encounter = outcomes.get(steps.create);
  const refill = outcomes.get(steps.refill);
  if (!encounter || (body.refill_medication_name !== undefined && !refill)) return undefined;
  const refilled = refill && { refill_medication_name: String(refill.medication_name) };
  return { type: 'telephone_encounter.created', data: { ...described(id, body, encounter), ...refilled } };
}

function described(id: string, body: TelephoneEncounterRequest, encounter: Record<string, unknown>) {
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

/** One question to the database; the answers are read in the order in which faults are told. */
async function checkReferences(ctx: Context, account: Account, body: TelephoneEncounterRequest) {
  const { organization_id } = account;
  const [found] = await ctx.db.read<{
    provider: boolean;
    staff: boolean;
    location: boolean;
    pharmacy: boolean;
    patient_id: string | null;
  }>(
    account.client_id,
    (sql) => sql`SELECT
      EXISTS (SELECT FROM providers WHERE organization_id = ${organization_id} AND ehr_id = ${body.provider_id}) AS provider,
      EXISTS (SELECT FROM staff WHERE organization_id = ${organization_id} AND ehr_id = ${body.assigned_to_id}) AS staff,
      EXISTS (SELECT FROM locations WHERE organization_id = ${organization_id} AND ehr_id = ${body.location_id}) AS location,
      EXISTS (SELECT FROM pharmacies WHERE organization_id = ${organization_id}
               AND ehr_id = ${body.pharmacy_ehr_id ?? null}) AS pharmacy,
      ${patientIdOf(sql, account, body.patient_mrn)} AS patient_id`,
  );
  if (!found?.provider) throw apiError('provider_not_found', { id: body.provider_id }, { field: 'provider_id' });
  if (!found.staff) throw apiError('staff_not_found', { id: body.assigned_to_id }, { field: 'assigned_to_id' });
  if (!found.location) throw apiError('location_not_found', { id: body.location_id }, { field: 'location_id' });
  if (body.pharmacy_ehr_id !== undefined && !found.pharmacy) {
    throw apiError('pharmacy_not_found', { id: body.pharmacy_ehr_id }, { field: 'pharmacy_ehr_id' });
  }
  return patientLane(body.patient_mrn, found.patient_id);
}
