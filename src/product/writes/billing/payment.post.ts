import { type ApiError, apiError } from '../../../catalog/errors.ts';
import type { EventData } from '../../../model/events.ts';
import { fold } from '../../../model/fold.ts';
import type { KindName } from '../../../model/records/kinds.ts';
import { PaymentRequest, toCents, toDollars } from '../../../model/requests/billing.ts';
import type { CodeLists } from '../../../model/settings.ts';
import type { Tx } from '../../../platform/db/database.ts';
import { todayIn } from '../../../platform/time/zones.ts';
import type { Account } from '../../accounts/accounts.ts';
import { listCapabilities } from '../../accounts/connectAccount.ts';
import type { Context } from '../../context.ts';
import { referenceError } from '../../records/readRecords.ts';
import { defineWrite, failureFields, patientNotFound } from '../defineWrite.ts';
import { patientIdByMrn, patientLane } from '../patients/patientLane.ts';

const step = 'post_payment';

type Method = { code: string | null; name: string };

/** Stored with the request. The amount of the job is `amount_cents`; `amount` is only what was sent. */
type Lookups = { amount_cents: number; method: Method; deposited_on: string; warning?: string };
type PaymentInput = PaymentRequest & Lookups;

/** Posts a payment to the patient's ledger. */
export const postPayment = defineWrite({
  type: 'payment.post',
  label: 'Payment',
  plural_label: 'Payments',
  independent: true,
  body: PaymentRequest,
  sample: {
    patient_mrn: 'LK100001',
    payment_method: 'Check',
    reference_number: '1042',
    location: '11',
    amount: 42.5,
    notes: 'Paid at the front desk.',
  },
  needs: ['postPayment', 'findPatient'],
  restricted: false,
  stored_by: 'postPayment',
  check: checkReferences,
  compareWithEarlier: warnOfReference,
  acceptedResponse: ({ id, job_id, input }) => ({
    success: true,
    message: 'Payment queued. A webhook event follows on completion.',
    payment_id: id,
    job_id,
    ...(input.warning === undefined ? {} : { warning: input.warning }),
  }),
  run: async ({ id, input, emr, steps }) => {
    const posted = steps.outcomes.get(step);
    if (posted) return { event: { type: 'payment.posted', data: postedFields(id, input, posted) } };
    const patient = await emr.findPatient(input.patient_mrn);
    if (!patient) throw patientNotFound(input.patient_mrn);
    const outcome = await steps.write(step, emr.postPayment, {
      patient_ehr_id: patient.ehr_id,
      location_ehr_id: input.location,
      amount_cents: input.amount_cents,
      payment_method: input.method,
      reference_number: input.reference_number,
      deposit_date: input.deposited_on,
      notes: input.notes ?? null,
    });
    return { event: { type: 'payment.posted', data: postedFields(id, input, outcome) } };
  },
  onFailure: ({ id, input, outcomes, failure }) => {
    const posted = outcomes.get(step);
    if (posted) {
      return { state: 'succeeded', event: { type: 'payment.posted', data: postedFields(id, input, posted) } };
    }
    const data = { ...paymentFields(id, input, input.amount_cents), ...failureFields(failure) };
    return { state: 'failed', event: { type: 'payment.failed', data } };
  },
});

/** The event has the amount that the EMR stored. */
function postedFields(
  id: string,
  input: PaymentInput,
  { ehr_id, amount_cents, balance_after_cents }: Record<string, unknown>,
): EventData<'payment.posted'> {
  return {
    ...paymentFields(id, input, Number(amount_cents)),
    emr_payment_id: String(ehr_id),
    balance_after: typeof balance_after_cents === 'number' ? toDollars(balance_after_cents) : null,
  };
}

function paymentFields(payment_id: string, input: PaymentInput, amount_cents: number) {
  const { patient_mrn, method, reference_number, deposited_on } = input;
  return {
    payment_id,
    patient_mrn,
    amount: toDollars(amount_cents),
    payment_method: method.name,
    reference_number,
    deposit_date: deposited_on,
  };
}

type References = {
  location_status: 'active' | 'inactive' | null;
  patient_id: string | null;
  timezone: string;
  /** Undefined: not read yet. null: the EMR has no such list. */
  payment_methods: CodeLists['payment_methods'] | undefined;
};

async function checkReferences({ ctx, account, body }: { ctx: Context; account: Account; body: PaymentRequest }) {
  const amount_cents = readAmount(body.amount);
  const { client_id, organization_id } = account;
  const [references] = await ctx.db.read<References>(
    client_id,
    (sql) => sql`SELECT
      (SELECT doc ->> 'status' FROM locations
        WHERE organization_id = ${organization_id} AND ehr_id = ${body.location}) AS location_status,
      timezone, code_lists -> 'payment_methods' AS payment_methods,
      ${patientIdByMrn(sql, account, body.patient_mrn)} AS patient_id
      FROM organizations WHERE id = ${organization_id}`,
  );
  if (!references) throw new Error('The organization no longer exists.');
  const unknown = (kind: KindName, error: ApiError) => referenceError(ctx.db, account, [kind], error);
  if (references.patient_id === null) {
    throw await unknown('patients', apiError('patient_not_found', undefined, { field: 'patient_mrn' }));
  }
  const method = findMethod(ctx, account, references.payment_methods, body.payment_method);
  if (references.location_status === null) {
    throw await unknown('locations', apiError('location_not_found', { id: body.location }, { field: 'location' }));
  }
  if (references.location_status === 'inactive') {
    throw apiError('location_inactive', { id: body.location }, { field: 'location' });
  }
  const lookups: Lookups = { amount_cents, method, deposited_on: body.deposit_date ?? todayIn(references.timezone) };
  return { lane: patientLane(body.patient_mrn, references.patient_id), lookups };
}

function readAmount(amount: number): number {
  const invalid = (rule: string) => apiError('invalid_field', { rule }, { field: 'amount' });
  const cents = toCents(amount);
  if (cents === undefined) throw invalid('amount must have at most two decimals');
  return cents;
}

/** The method as configured in the EMR. An EMR without such a list takes any name. */
function findMethod(
  ctx: Context,
  account: Account,
  methods: CodeLists['payment_methods'] | undefined,
  name: string,
): Method {
  if (!methods) {
    const is_pending = methods === undefined && listCapabilities(ctx, account).includes('getCodeLists');
    if (is_pending) throw apiError('first_sync_pending', { list: 'payment methods' });
    return { code: null, name };
  }
  const [match, ...others] = methods.filter((each) => fold(each.name) === fold(name));
  const method = others.length === 0 ? match : methods.find((each) => each.name === name);
  if (method) return method;
  const rule =
    methods.length === 0
      ? 'payment_method is not possible, because the EMR lists no payment methods'
      : `payment_method must be one of: ${methods.map((each) => each.name).join(', ')}`;
  throw apiError('invalid_field', { rule }, { field: 'payment_method' });
}

/** Whether an earlier payment of the patient, other than a failed or canceled one, has the same reference number. */
async function warnOfReference({
  tx,
  account: { client_id, organization_id },
  input: { patient_mrn, reference_number },
}: {
  tx: Tx;
  account: Account;
  input: PaymentInput;
}): Promise<Partial<Lookups>> {
  // Of concurrent payments, the later one waits here and sees the earlier one.
  await tx`SELECT FROM patients WHERE client_id = ${client_id} AND organization_id = ${organization_id}
    AND mrn = ${patient_mrn} ORDER BY id FOR NO KEY UPDATE`;
  const [earlier] = await tx`SELECT FROM operations AS operation
    WHERE client_id = ${client_id} AND organization_id = ${organization_id} AND type = ${postPayment.type}
      AND patient_mrn = left(${patient_mrn}, 200) AND input ->> 'patient_mrn' = ${patient_mrn}
      AND input ->> 'reference_number' = ${reference_number}
      AND (SELECT state FROM jobs WHERE operation_id = operation.id ORDER BY id DESC LIMIT 1)
        NOT IN ('failed', 'cancelled') LIMIT 1`;
  return earlier ? { warning: 'A payment of this patient with this reference_number was sent before.' } : {};
}
