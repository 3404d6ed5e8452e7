import { EmrFailure } from '../../connectors/connector.ts';
import { apiError } from '../../errors.ts';
import type { EventOf } from '../../events.ts';
import { InsuranceRequest } from '../../model/insuranceRequest.ts';
import { patientLane, type Write } from '../write.ts';
import { insuranceData, insuranceFailed } from './insuranceEvents.ts';
import { type FoundInsurance, findCompany, readSubscriber } from './insuranceReferences.ts';

const step = 'add_insurance';

/** An insurance is added to a patient's chart. */
export const addPatientInsurance: Write<typeof InsuranceRequest, 'findPatient' | 'addPatientInsurance'> = {
  type: 'patient.insurance.add',
  body: InsuranceRequest,
  path: ['patient_mrn'],
  needs: ['findPatient', 'addPatientInsurance'],
  label: 'Patient insurances',
  restricted: false,
  check: async (ctx, account, body) => {
    if (body.insurance_payer_id === undefined && !body.insurance_provider_id && !body.insurance_name) {
      throw apiError('insurance_company_missing');
    }
    const subscriber = readSubscriber(body, false);
    const { company, patient_id } = await findCompany(ctx, account, body);
    const found: FoundInsurance = { company_ehr_id: company?.ehr_id ?? null, ...subscriber };
    return { ...patientLane(body.patient_mrn, patient_id), found };
  },
  accepted: ({ id, job_id }) => ({
    success: true,
    message: 'Insurance addition queued. A webhook event follows on completion.',
    patient_insurance_id: id,
    job_id,
  }),
  perform: async ({ id, body, emr, steps }) => {
    const done = steps.outcomes.get(step);
    if (done) return added(id, body, done);
    const patient = await emr.findPatient(body.patient_mrn);
    if (!patient) throw new EmrFailure('not_found', `Patient with MRN '${body.patient_mrn}' not found.`);
    const { company_ehr_id, relationship, subscriber } = body as InsuranceRequest & FoundInsurance;
    const outcome = await steps.write(step, emr.addPatientInsurance, {
      patient_ehr_id: patient.ehr_id,
      company_ehr_id: company_ehr_id ?? '',
      member_id: body.member_id,
      group_id: body.group_id,
      priority: body.priority === undefined ? undefined : (Number(body.priority) as 1 | 2 | 3),
      plan_begin_date: body.plan_begin_date,
      copayment: body.copayment,
      relationship: relationship ?? undefined,
      subscriber: subscriber ?? undefined,
    });
    return added(id, body, outcome);
  },
  fail: ({ id, body, outcomes, problem }) => {
    const done = outcomes.get(step);
    if (done) return { state: 'succeeded', event: added(id, body, done) };
    return { state: 'failed', event: insuranceFailed(id, body.patient_mrn, problem) };
  },
};

function added(id: string, body: InsuranceRequest, outcome: Record<string, unknown>): EventOf {
  return { type: 'patient.insurance.added', data: insuranceData(id, body, outcome) };
}
