import { apiError } from '../../../catalog/errors.ts';
import { EmrFailure } from '../../../emr/emrFailure.ts';
import type { Operations } from '../../../emr/operations/operations.ts';
import type { EventOf } from '../../../model/events.ts';
import type { LiveInsurance } from '../../../model/liveChart.ts';
import {
  InsuranceChanges,
  priorities,
  type SubscriberRelationship,
  subscriber_relationships,
} from '../../../model/requests/insurance.ts';
import { insuranceId } from '../../records/patientInsurances.ts';
import { defineWrite, patientNotFound } from '../defineWrite.ts';
import { patientLane } from '../patients/patientLane.ts';
import {
  findCompany,
  type InsuranceLookups,
  insuranceFailed,
  insuranceFields,
  readChart,
  readSubscriber,
} from './insuranceReferences.ts';

const step = 'update_insurance';

type Lookups = InsuranceLookups & { patient_insurance_id: string };

/** Updates an insurance in a patient's chart; fields that were not sent keep their values. */
export const updatePatientInsurance = defineWrite({
  type: 'patient.insurance.update',
  label: 'Insurance update',
  plural_label: 'Insurance updates',
  body: InsuranceChanges,
  path: ['patient_mrn', 'emr_insurance_id'],
  sample: { patient_mrn: 'LK100001', emr_insurance_id: '85001', group_id: 'GRP8404', copayment: 25 },
  needs: ['findPatient', 'listPatientInsurances', 'updatePatientInsurance'],
  restricted: true,
  stored_by: 'updatePatientInsurance',
  check: async ({ ctx, account, body }) => {
    const { patient_mrn, emr_insurance_id: _id, ...changes } = body;
    if (Object.keys(changes).length === 0) throw apiError('no_field');
    if (endsBefore(body)) throw apiError('invalid_field', { rule: plan_dates_rule }, { field: 'plan_end_date' });
    const subscriber = readSubscriber(body, true);
    const { company, patient_id } = await findCompany(ctx, account, body);
    if (company && company.carrier_id === null) {
      const field = body.insurance_provider_id === undefined ? 'insurance_name' : 'insurance_provider_id';
      throw apiError('carrier_missing', { name: company.name }, { field });
    }
    const patient_insurance_id = await ctx.db.tenant(account.client_id, (tx) =>
      insuranceId(tx, account, body.emr_insurance_id),
    );
    const lookups: Lookups = { company_ehr_id: company?.ehr_id ?? null, ...subscriber, patient_insurance_id };
    return { lane: patientLane(patient_mrn, patient_id), lookups };
  },
  recordId: ({ patient_insurance_id }) => patient_insurance_id,
  acceptedResponse: ({ id, job_id }) => ({
    success: true,
    message: 'Insurance update queued. A webhook event follows on completion.',
    patient_insurance_id: id,
    job_id,
  }),
  run: async ({ input, emr, steps, scope }) => {
    const finish = async (outcome: Record<string, unknown>) => {
      const known = { id: input.patient_insurance_id, ehr_id: input.emr_insurance_id };
      return { event: updated(input, outcome), store: await readChart(emr, input.patient_mrn, { scope, known }) };
    };
    const done = steps.outcomes.get(step);
    if (done) return finish(done);
    const patient = await emr.findPatient(input.patient_mrn);
    if (!patient) throw patientNotFound(input.patient_mrn);
    // The EMR identifies an insurance by its id alone, so we check that it belongs to this patient.
    const present = await findInsurance(emr, patient.ehr_id, input.emr_insurance_id);
    if (!present) {
      const text = `Insurance with EMR ID '${input.emr_insurance_id}' not found for this patient.`;
      throw new EmrFailure('not_found', text);
    }
    checkPlanDates({ ...present, ...input });
    const sequence = input.insurance_sequence && priorities[input.insurance_sequence];
    if (sequence !== undefined && sequence !== present.priority) await checkPlace(emr, patient.ehr_id, sequence);
    const { company_ehr_id, relationship, relationship_cleared, subscriber } = input;
    const kept = subscriber ? keptRelationship(present.relationship_to_subscriber) : undefined;
    const update = {
      insurance_ehr_id: input.emr_insurance_id,
      company_ehr_id: company_ehr_id ?? undefined,
      member_id: input.member_id,
      group_id: input.group_id,
      plan_begin_date: input.plan_begin_date,
      copayment: input.copayment,
      sequence,
      plan_end_date: input.plan_end_date,
      relationship: relationship ?? (relationship_cleared ? null : kept),
      subscriber: subscriber ?? undefined,
    };
    const with_outcome = {
      member_id: present.insurance_subscriber_number,
      group_id: present.group_id,
      plan_begin_date: present.plan_begin_date,
      copayment: present.copayment,
    };
    const outcome = await steps.write(step, emr.updatePatientInsurance, update, { with_outcome });
    return finish(outcome);
  },
  onFailure: ({ input, outcomes, failure }) => {
    const done = outcomes.get(step);
    if (done) return { state: 'succeeded', event: updated(input, done) };
    return { state: 'failed', event: insuranceFailed(input.patient_insurance_id, input.patient_mrn, failure) };
  },
  overwrites: true,
});

/** Also one that has ended, if the EMR lists those: its end can be removed again. */
async function findInsurance(
  emr: Pick<Operations, 'listPatientInsurances'> & Partial<Operations>,
  patient_ehr_id: string,
  insurance_ehr_id: string,
): Promise<Omit<LiveInsurance, 'emr_insurance_id'> | undefined> {
  if (!emr.listPatientPolicies) {
    const insurances = await emr.listPatientInsurances(patient_ehr_id);
    return insurances.find((each) => each.emr_insurance_id === insurance_ehr_id);
  }
  const policies = await emr.listPatientPolicies(patient_ehr_id);
  return policies.find(({ ehr_id, active }) => active && ehr_id === insurance_ehr_id);
}

/** Several insurances at the place would all get the old place of this one. */
async function checkPlace(
  emr: Pick<Operations, 'listPatientInsurances'>,
  patient_ehr_id: string,
  place: number,
): Promise<void> {
  const in_force = await emr.listPatientInsurances(patient_ehr_id);
  if (in_force.filter(({ priority }) => priority === place).length <= 1) return;
  const message = `The patient has several insurances with priority ${place} in force. Correct their order in the EMR first.`;
  throw new EmrFailure('refused', message, { code: 'emr_validation' });
}

type PlanDates = { plan_begin_date?: string | null | undefined; plan_end_date?: string | null | undefined };

const plan_dates_rule = 'plan_end_date must not be before plan_begin_date';

function endsBefore({ plan_begin_date: begins, plan_end_date: ends }: PlanDates): boolean {
  return typeof begins === 'string' && typeof ends === 'string' && ends < begins;
}

/** The request may have only one of the dates. */
function checkPlanDates(dates: PlanDates): void {
  if (endsBefore(dates)) throw new EmrFailure('refused', `${plan_dates_rule}.`, { code: 'emr_validation' });
}

/** The present relationship, unless the patient is the subscriber: a new subscriber keeps it if none was sent. */
function keptRelationship(code: string | null): SubscriberRelationship | undefined {
  return code !== '01' && code !== null && code in subscriber_relationships
    ? (code as SubscriberRelationship)
    : undefined;
}

function updated(input: InsuranceChanges & Lookups, outcome: Record<string, unknown>): EventOf {
  return { type: 'patient.insurance.updated', data: insuranceFields(input.patient_insurance_id, input, outcome) };
}
