import { EmrFailure } from '../emrFailure.ts';
import type { Operations } from '../operations/operations.ts';
import { path } from './call.ts';
import { defineWrite, type LarkspurOperation, type Receipt } from './operation.ts';
import { unreadable_response, usDate } from './values.ts';

const postPayment = defineWrite<Operations['postPayment']>(
  'post_payment',
  (input) => ({
    path: path`/api/patients/${input.patient_ehr_id}/payments`,
    body: {
      amount: toDecimal(input.amount_cents),
      methodCode: input.payment_method.code,
      referenceNumber: input.reference_number,
      facilityId: input.location_ehr_id,
      depositDate: usDate(input.deposit_date),
      notes: input.notes,
    },
  }),
  (receipt) => ({
    ehr_id: receipt.recordId,
    amount_cents: readCents(receipt, 'amount'),
    balance_after_cents: readCents(receipt, 'balanceAfter'),
  }),
);

/** `1234` as `12.34`. */
function toDecimal(cents: number): string {
  return `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`;
}

/** The amount that the payment has in this field. It is stored, so the receipt can be read again. */
function readCents({ changes }: Receipt, field: string): number {
  const saved = changes.find((change) => change.record === 'payment' && change.field === field)?.after ?? '';
  const [, minus, dollars, cents] = /^(-?)(\d+)\.(\d\d)$/.exec(saved) ?? [];
  if (dollars === undefined) throw new EmrFailure('unknown_outcome', unreadable_response);
  const amount = Number(dollars) * 100 + Number(cents);
  return minus === '-' ? -amount : amount;
}

export const billing_operations: readonly LarkspurOperation[] = [{ operation: 'postPayment', open: postPayment }];
