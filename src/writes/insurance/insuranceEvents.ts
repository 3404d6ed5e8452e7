import type { EventData, EventOf } from '../../events.ts';
import type { JobProblem } from '../../jobs/jobs.ts';
import type { InsuranceChanges, InsuranceRequest } from '../../model/insuranceRequest.ts';
import { auditTrail, savedFields } from '../auditTrail.ts';

/** An insurance as it stands in the EMR now: what the EMR says it saved, else what was sent or was there. */
export function insuranceData(
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

export function insuranceFailed(id: string, patient_mrn: string, problem: JobProblem): EventOf {
  return {
    type: 'patient.insurance.failed',
    data: { patient_insurance_id: id, patient_mrn, error: problem.message },
  };
}

function asText(value: string | number | null): string | null {
  return value === null ? null : String(value);
}
