import { type ApiError, apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { EmrFailure } from '../../../emr/emrFailure.ts';
import type { Subscriber } from '../../../emr/operations/insurance.ts';
import type { Operations } from '../../../emr/operations/operations.ts';
import type { EventData, EventOf } from '../../../model/events.ts';
import { toNeedle } from '../../../model/fold.ts';
import {
  type InsuranceChanges,
  type InsuranceRequest,
  type SubscriberRelationship,
  subscriber_relationships,
} from '../../../model/requests/insurance.ts';
import type { Account } from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import type { JobFailure } from '../../jobs/jobs.ts';
import { type KnownInsurance, storeInsurances } from '../../records/patientInsurances.ts';
import { lockPatient, storeChart } from '../../records/patients.ts';
import { referenceError } from '../../records/readRecords.ts';
import { auditTrail, savedFields, type WriteResult, type WriteRun } from '../defineWrite.ts';
import { patientIdByMrn } from '../patients/patientLane.ts';
import { rejectFutureBirth, selectToday } from '../patients/patientReferences.ts';

type Request = InsuranceRequest | InsuranceChanges;

/** What the references in a request resolve to; stored with the request. */
export type InsuranceLookups = {
  company_ehr_id: string | null;
  relationship: SubscriberRelationship | null;
  /** The request clears the relationship. */
  relationship_cleared?: boolean;
  subscriber: Subscriber | null;
};

type Company = { ehr_id: string; name: string; carrier_id: string | null };
type References = { company: Company | null; patient_id: string | null; today: string };

/** The active insurance company, by id if one was sent, otherwise by name; and our id of the patient, if it is synced. */
export async function findCompany(ctx: Context, account: Account, body: Request): Promise<References> {
  const { insurance_provider_id: id, insurance_name: name, insurance_payer_id: payer } = body;
  if (payer !== undefined && !name) {
    throw apiError(
      'invalid_field',
      { rule: 'insurance_payer_id is only valid together with insurance_name' },
      { field: 'insurance_payer_id' },
    );
  }
  const [row] = await ctx.db.read<References>(
    account.client_id,
    (sql) => sql`SELECT
      (SELECT json_build_object('ehr_id', ehr_id, 'name', doc ->> 'name', 'carrier_id', carrier_id)
         FROM insurance_providers WHERE client_id = ${account.client_id} AND organization_id = ${account.organization_id}
          AND status = 'active' AND ${
            id === undefined
              ? sql`name_folded = ${toNeedle(name)} AND (${payer ?? null}::text IS NULL OR payer_id = ${payer ?? null})`
              : sql`id = ${parseId(id) ?? null}`
          } ORDER BY id LIMIT 1) AS company,
      ${patientIdByMrn(sql, account, body.patient_mrn)} AS patient_id,
      ${selectToday(sql, account.organization_id)} AS today`,
  );
  if (!row) throw new Error('A query without FROM returned no row.');
  const { company } = row;
  rejectFutureBirth('subscriber_demographics.dob', body.subscriber_demographics?.dob, row.today);
  const unknown = (error: ApiError) => referenceError(ctx.db, account, ['insurance_providers'], error);
  if (company === null && id !== undefined) {
    const field = 'insurance_provider_id';
    throw await unknown(apiError('record_not_found', { noun: 'Insurance provider', id }, { field }));
  }
  if (company === null && name !== undefined) {
    const description = payer === undefined ? `'${name}'` : `'${name}' with payer ID '${payer}'`;
    const reason = `No insurance provider is named ${description}. GET /v1/insurance-providers lists all of them.`;
    throw await unknown(apiError('record_unnamed', { reason }, { field: 'insurance_name' }));
  }
  return row;
}

/** The patient's relationship to the subscriber, and the subscriber unless it is the patient. */
export function readSubscriber(body: Request, name_required: boolean): Omit<InsuranceLookups, 'company_ehr_id'> {
  checkCents(body.copayment);
  const { relationship_to_subscriber: sent, subscriber_demographics: person } = body;
  const relationship = sent ? readRelationship(sent) : null;
  const is_patient = relationship === '01';
  const needed = relationship !== null && !is_patient;
  if (needed || (person && (name_required || !is_patient))) {
    const missing = (['first_name', 'last_name'] as const).find((name) => !person?.[name]);
    if (missing) {
      const field = `subscriber_demographics.${missing}`;
      throw apiError('missing_field', { field }, { field });
    }
  }
  if (person === null && sent === undefined) {
    throw invalidSubscriber(
      'subscriber_demographics cannot be cleared alone. Send relationship_to_subscriber self to make the patient the subscriber',
    );
  }
  if (person && is_patient && Object.values(person).some((value) => value !== undefined && value !== null)) {
    throw invalidSubscriber(
      'subscriber_demographics must not be sent with relationship_to_subscriber self: the patient is the subscriber',
    );
  }
  const relationship_cleared = sent === null;
  if (!person || is_patient) return { relationship, relationship_cleared, subscriber: null };
  return {
    relationship,
    relationship_cleared,
    subscriber: {
      first_name: person.first_name ?? '',
      last_name: person.last_name ?? '',
      // Omitted fields keep their value in the EMR.
      street: person.street_line_1,
      city: person.city,
      state: person.state === null ? null : person.state?.toUpperCase(),
      zip: person.zip,
      sex: person.sex && sexes[person.sex],
      dob: person.dob,
      phone: person.phone,
    },
  };
}

function invalidSubscriber(rule: string): ApiError {
  return apiError('invalid_field', { rule }, { field: 'subscriber_demographics' });
}

const sexes = { male: 'male', female: 'female', unknown: 'unknown', M: 'male', F: 'female', U: 'unknown' } as const;

function readRelationship(sent: string): SubscriberRelationship {
  const value = sent.toLowerCase();
  const pairs = Object.entries(subscriber_relationships) as [SubscriberRelationship, string][];
  const pair = pairs.find(([code, name]) => code === value || name === value);
  if (pair) return pair[0];
  const rule = `relationship_to_subscriber must be one of: ${pairs.flat().join(', ')}`;
  throw apiError('invalid_field', { rule }, { field: 'relationship_to_subscriber' });
}

function checkCents(copayment: number | null | undefined): void {
  if (copayment === undefined || copayment === null || /^\d+([.]\d{1,2})?$/.test(String(copayment))) return;
  throw apiError('invalid_field', { rule: 'copayment must have at most two decimal places' }, { field: 'copayment' });
}

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

/**
 * Reads the patient and its insurances again after a change of an insurance. The patient's list entry shows the primary
 * insurance, and which one that is only the EMR knows. Stored together with the event. `known`: our id of the insurance.
 */
export async function readChart(
  emr: Pick<Operations, 'findPatient'> & Partial<Operations>,
  mrn: string,
  { scope, known }: { scope: WriteRun<unknown, never>['scope']; known: KnownInsurance },
): Promise<NonNullable<WriteResult['store']>> {
  const chart = await emr.findPatient(mrn);
  const insurances = chart && (await emr.listPatientPolicies?.(chart.ehr_id));
  return async (tx) => {
    if (!chart || !(await storeChart(tx, scope, chart)) || !insurances) return;
    await storeInsurances(tx, scope, chart.ehr_id, { insurances, known });
  };
}

/**
 * Reads the insurances of a patient again after a write of the patient that changed them. If the EMR cannot be asked now,
 * nothing is stored: the patient is saved, and the next sync reads its insurances.
 */
export async function readInsurances(
  emr: Partial<Operations>,
  patient: { id: string; ehr_id: string },
  scope: WriteRun<unknown, never>['scope'],
): Promise<Pick<WriteResult, 'store'>> {
  const insurances = await emr.listPatientPolicies?.(patient.ehr_id).catch((error: unknown) => {
    if (!(error instanceof EmrFailure)) throw error;
  });
  if (!insurances) return {};
  return {
    store: async (tx) => {
      if (!(await lockPatient(tx, scope.organization_id, patient.id))) return;
      await storeInsurances(tx, scope, patient.ehr_id, { insurances });
    },
  };
}
