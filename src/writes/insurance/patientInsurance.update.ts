import { EmrFailure } from '../../connectors/connector.ts';
import { apiError } from '../../errors.ts';
import type { EventOf } from '../../events.ts';
import {
  InsuranceChanges,
  type SubscriberRelationship,
  subscriber_relationships,
} from '../../model/insuranceRequest.ts';
import { patientLane, type Write } from '../write.ts';
import { insuranceData, insuranceFailed } from './insuranceEvents.ts';
import { type FoundInsurance, findCompany, readSubscriber } from './insuranceReferences.ts';

const step = 'update_insurance';

type Needs = 'findPatient' | 'listPatientInsurances' | 'updatePatientInsurance';

/** An insurance in a patient's chart is changed; what was not sent keeps its value. */
export const updatePatientInsurance: Write<typeof InsuranceChanges, Needs> = {
  type: 'patient.insurance.update',
  body: InsuranceChanges,
  path: ['patient_mrn', 'emr_insurance_id'],
  needs: ['findPatient', 'listPatientInsurances', 'updatePatientInsurance'],
  label: 'Insurance updates',
  restricted: true,
  check: async (ctx, account, body) => {
    const { patient_mrn, emr_insurance_id: _id, ...changes } = body;
    if (Object.keys(changes).length === 0) throw apiError('no_field');
    const subscriber = readSubscriber(body, true);
    const { company, patient_id } = await findCompany(ctx, account, body);
    if (company && company.carrier_id === null) {
      const field = body.insurance_provider_id === undefined ? 'insurance_name' : 'insurance_provider_id';
      throw apiError('carrier_missing', { name: company.name }, { field });
    }
    const found: FoundInsurance = { company_ehr_id: company?.ehr_id ?? null, ...subscriber };
    return { ...patientLane(patient_mrn, patient_id), found };
  },
  accepted: ({ id, job_id }) => ({
    success: true,
    message: 'Insurance update queued. A webhook event follows on completion.',
    patient_insurance_id: id,
    job_id,
  }),
  perform: async ({ id, body, emr, steps }) => {
    const done = steps.outcomes.get(step);
    if (done) return updated(id, body, done);
    const patient = await emr.findPatient(body.patient_mrn);
    if (!patient) throw new EmrFailure('not_found', `Patient with MRN '${body.patient_mrn}' not found.`);
    // The EMR takes an insurance by its id alone: that it is this patient's is for us to see.
    const insurances = await emr.listPatientInsurances(patient.ehr_id);
    const present = insurances.find((each) => each.emr_insurance_id === body.emr_insurance_id);
    if (!present) {
      const text = `Insurance with EMR ID '${body.emr_insurance_id}' not found for this patient.`;
      throw new EmrFailure('not_found', text);
    }
    const { company_ehr_id, relationship, subscriber } = body as InsuranceChanges & FoundInsurance;
    const input = {
      insurance_ehr_id: body.emr_insurance_id,
      company_ehr_id: company_ehr_id ?? undefined,
      member_id: body.member_id,
      group_id: body.group_id,
      plan_begin_date: body.plan_begin_date,
      copayment: body.copayment,
      relationship: relationship ?? (subscriber ? otherOf(present.relationship_to_subscriber) : undefined),
      subscriber: subscriber ?? undefined,
    };
    const told = {
      member_id: present.insurance_subscriber_number,
      group_id: present.group_id,
      plan_begin_date: present.plan_begin_date,
      copayment: present.copayment,
    };
    const outcome = await steps.write(step, emr.updatePatientInsurance, input, { told });
    return updated(id, body, outcome);
  },
  fail: ({ id, body, outcomes, problem }) => {
    const done = outcomes.get(step);
    if (done) return { state: 'succeeded', event: updated(id, body, done) };
    return { state: 'failed', event: insuranceFailed(id, body.patient_mrn, problem) };
  },
  overwrites: true,
};

/** How the patient stands to a subscriber who is somebody else: a new one of whom nothing is said is that too. */
function otherOf(code: string | null): SubscriberRelationship | undefined {
  return code !== '01' && code !== null && code in subscriber_relationships
    ? (code as SubscriberRelationship)
    : undefined;
}

function updated(id: string, body: InsuranceChanges, outcome: Record<string, unknown>): EventOf {
  return { type: 'patient.insurance.updated', data: insuranceData(id, body, outcome) };
}
