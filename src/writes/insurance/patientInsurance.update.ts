import { EmrFailure } from '../../connectors/connector.ts';
import { apiError } from '../../errors.ts';
import type { EventOf } from '../../events.ts';
import {
  InsuranceChanges,
  type SubscriberRelationship,
  subscriber_relationships,
} from '../../model/insuranceRequest.ts';

import { defineWrite } from '../defineWrite.ts';
import { patientLane } from '../patients/patientLane.ts';
import { insuranceFailed, insuranceFields } from './insuranceEvents.ts';
import { findCompany, type InsuranceLookups, readSubscriber } from './insuranceReferences.ts';

const step = 'update_insurance';

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
  check: async ({ ctx, account, body }) => {
    const { patient_mrn, emr_insurance_id: _id, ...changes } = body;
    if (Object.keys(changes).length === 0) throw apiError('no_field');
    const subscriber = readSubscriber(body, true);
    const { company, patient_id } = await findCompany(ctx, account, body);
    if (company && company.carrier_id === null) {
      const field = body.insurance_provider_id === undefined ? 'insurance_name' : 'insurance_provider_id';
      throw apiError('carrier_missing', { name: company.name }, { field });
    }
    const lookups: InsuranceLookups = { company_ehr_id: company?.ehr_id ?? null, ...subscriber };
    return { lane: patientLane(patient_mrn, patient_id), lookups };
  },
  acceptedResponse: ({ id, job_id }) => ({
    success: true,
    message: 'Insurance update queued. A webhook event follows on completion.',
    patient_insurance_id: id,
    job_id,
  }),
  run: async ({ id, input, emr, steps }) => {
    const done = steps.outcomes.get(step);
    if (done) return { event: updated(id, input, done) };
    const patient = await emr.findPatient(input.patient_mrn);
    if (!patient) throw new EmrFailure('not_found', `Patient with MRN '${input.patient_mrn}' not found.`);
    // The EMR identifies an insurance by its id alone, so we check that it belongs to this patient.
    const insurances = await emr.listPatientInsurances(patient.ehr_id);
    const present = insurances.find((each) => each.emr_insurance_id === input.emr_insurance_id);
    if (!present) {
      const text = `Insurance with EMR ID '${input.emr_insurance_id}' not found for this patient.`;
      throw new EmrFailure('not_found', text);
    }
    const { company_ehr_id, relationship, subscriber } = input;
    const update = {
      insurance_ehr_id: input.emr_insurance_id,
      company_ehr_id: company_ehr_id ?? undefined,
      member_id: input.member_id,
      group_id: input.group_id,
      plan_begin_date: input.plan_begin_date,
      copayment: input.copayment,
      relationship: relationship ?? (subscriber ? keptRelationship(present.relationship_to_subscriber) : undefined),
      subscriber: subscriber ?? undefined,
    };
    const with_outcome = {
      member_id: present.insurance_subscriber_number,
      group_id: present.group_id,
      plan_begin_date: present.plan_begin_date,
      copayment: present.copayment,
    };
    const outcome = await steps.write(step, emr.updatePatientInsurance, update, { with_outcome });
    return { event: updated(id, input, outcome) };
  },
  onFailure: ({ id, input, outcomes, failure }) => {
    const done = outcomes.get(step);
    if (done) return { state: 'succeeded', event: updated(id, input, done) };
    return { state: 'failed', event: insuranceFailed(id, input.patient_mrn, failure) };
  },
  overwrites: true,
});

/** The present relationship, unless the patient is the subscriber: a new subscriber keeps it if none was sent. */
function keptRelationship(code: string | null): SubscriberRelationship | undefined {
  return code !== '01' && code !== null && code in subscriber_relationships
    ? (code as SubscriberRelationship)
    : undefined;
}

function updated(id: string, body: InsuranceChanges, outcome: Record<string, unknown>): EventOf {
  return { type: 'patient.insurance.updated', data: insuranceFields(id, body, outcome) };
}
