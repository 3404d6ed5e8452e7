import type { EventData, EventOf } from '../../../model/events.ts';
import type { JobFailure } from '../../jobs/jobs.ts';
import type { InsuranceChanges, InsuranceRequest } from '../../../model/insuranceRequest.ts';
import { auditTrail, savedFields } from '../auditTrail.ts';

/** The insurance in the EMR: values that the EMR reports as saved, otherwise those that were sent or there before. */
export function insuranceFields(
  id: string,
  body: InsuranceRequest | InsuranceChanges,
  outcome: Record<string, unknown>,
): EventData<'patient.insurance.added'> {
  const fields = savedFields([outcome]);
  const value = (name: 'member_id' | 'group_id' | 'plan_begin_date' | 'copayment') => {
    const saved = fields.find(({ property }) => property === name);
    return (saved ? saved.after : (body[name] ?? outcome[name] ?? null)) as string | number | null;
  };
  const copayment = value('copayment');
  return {
    patient_insurance_id: id,
    emr_insurance_id: String(outcome.ehr_id),
    patient_mrn: body.patient_mrn,
    member_id: String(value('member_id') ?? ''),
    group_id: asText(value('group_id')),
    plan_begin_date: asText(value('plan_begin_date')),
    copayment: copayment === null ? null : Number(copayment),
    audit_trail: auditTrail(fields),
  };
}

export function insuranceFailed(id: string, patient_mrn: string, failure: JobFailure): EventOf {
  return {
    type: 'patient.insurance.failed',
    data: { patient_insurance_id: id, patient_mrn, error: failure.message },
  };
}

function asText(value: string | number | null): string | null {
  return value === null ? null : String(value);
}
