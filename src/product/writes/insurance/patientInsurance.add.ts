import { apiError } from '../../../catalog/errors.ts';
import type { EventOf } from '../../../model/events.ts';
import { InsuranceRequest } from '../../../model/requests/insurance.ts';
import { storeInsuranceId } from '../../records/patientInsurances.ts';
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

const step = 'add_insurance';

/** Adds an insurance to a patient's chart. */
export const addPatientInsurance = defineWrite({
  type: 'patient.insurance.add',
  label: 'New insurance',
  plural_label: 'New patient insurances',
  body: InsuranceRequest,
  path: ['patient_mrn'],
  sample: {
    patient_mrn: 'LK100001',
    member_id: 'TST100077',
    insurance_name: 'Mock Mutual',
    group_id: 'GRP8403',
    priority: '3',
  },
  needs: ['findPatient', 'addPatientInsurance'],
  restricted: false,
  stored_by: 'addPatientInsurance',
  check: async ({ ctx, account, body }) => {
    if (body.insurance_payer_id === undefined && !body.insurance_provider_id && !body.insurance_name) {
      throw apiError('insurance_company_missing');
    }
    const subscriber = readSubscriber(body, false);
    const { company, patient_id } = await findCompany(ctx, account, body);
    const lookups: InsuranceLookups = { company_ehr_id: company?.ehr_id ?? null, ...subscriber };
    return { lane: patientLane(body.patient_mrn, patient_id), lookups };
  },
  acceptedResponse: ({ id, job_id }) => ({
    success: true,
    message: 'Insurance addition queued. A webhook event follows on completion.',
    patient_insurance_id: id,
    job_id,
  }),
  run: async ({ id, input, emr, steps, scope }) => {
    const finish = async (outcome: Record<string, unknown>) => {
      const known = { id, ehr_id: String(outcome.ehr_id) };
      return { event: added(id, input, outcome), store: await readChart(emr, input.patient_mrn, { scope, known }) };
    };
    const done = steps.outcomes.get(step);
    if (done) return finish(done);
    const patient = await emr.findPatient(input.patient_mrn);
    if (!patient) throw patientNotFound(input.patient_mrn);
    const outcome = await steps.write(step, emr.addPatientInsurance, {
      patient_ehr_id: patient.ehr_id,
      company_ehr_id: input.company_ehr_id ?? '',
      member_id: input.member_id,
      group_id: input.group_id,
      priority: input.priority === undefined ? undefined : (Number(input.priority) as 1 | 2 | 3),
      plan_begin_date: input.plan_begin_date,
      copayment: input.copayment,
      relationship: input.relationship ?? undefined,
      subscriber: input.subscriber ?? undefined,
    });
    return finish(outcome);
  },
  onFailure: ({ id, input, outcomes, failure }) => {
    const done = outcomes.get(step);
    if (done) return { state: 'succeeded', event: added(id, input, done) };
    return { state: 'failed', event: insuranceFailed(id, input.patient_mrn, failure) };
  },
  onFinished: async ({ tx, job, outcomes }) => {
    const done = outcomes.get(step);
    if (done) await storeInsuranceId(tx, job, { id: job.operation_id, ehr_id: String(done.ehr_id) });
  },
});

function added(id: string, body: InsuranceRequest, outcome: Record<string, unknown>): EventOf {
  return { type: 'patient.insurance.added', data: insuranceFields(id, body, outcome) };
}
