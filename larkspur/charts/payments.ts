import { Type } from 'typebox';
import type { Query } from '../database/open.ts';
import { id, longTextOrNull, money, text, timestamp, usDate } from '../records/fields.ts';
import type { RecordChange } from '../records/history.ts';
import { createRecord, listRecords, type Page, type RowOf, recordKind } from '../records/recordKind.ts';
import { getBalances } from './alertsAndBalances.ts';

const row = Type.Object({
  paymentId: id,
  patientId: id,
  depositDate: usDate,
  amount: money,
  methodCode: id,
  methodName: text,
  referenceNumber: text,
  facilityId: id,
  notes: longTextOrNull,
  balanceAfter: money,
  createdAt: timestamp,
  createdBy: text,
});

/** What patients have paid: the ledger of each patient. */
export const payments = recordKind(
  { table: 'payments', record: 'payment', id: 'paymentId', created_column: 'createdAt' },
  row,
  { methodName: '', referenceNumber: '', balanceAfter: '0.00', createdBy: '' },
);

export type Payment = RowOf<typeof payments>;

/** Oldest first. */
export function listPayments(sql: Query, patientId: string, page: Page) {
  return listRecords(sql, payments, page, sql`patient_id = ${patientId}`);
}

/**
 * Enters a payment in the ledger and reduces what the patient owes. Concurrent payments of a patient wait for each
 * other, so that every `balanceAfter` follows from the one before.
 */
export async function postPayment(
  sql: Query,
  payment: Omit<Payment, 'paymentId' | 'balanceAfter' | 'createdAt'>,
  at: Date,
): Promise<RecordChange[]> {
  const { patientId, amount } = payment;
  // Locks the chart, because a patient who owes nothing may have no balance yet.
  await sql`select from patients where patient_id = ${patientId} for no key update`;
  const before = await getBalances(sql, patientId);
  const [after] = await sql<{ patientBalance: string; accountBalance: string }[]>`
    insert into balances (patient_id, patient_balance, account_balance)
    values (${patientId}, -${amount}::numeric, -${amount}::numeric)
    on conflict (patient_id) do update set patient_balance = balances.patient_balance - ${amount}::numeric,
      account_balance = balances.account_balance - ${amount}::numeric
    returning patient_balance, account_balance`;
  if (!after) throw new Error('An upsert returned no row.');
  const posted = await createRecord(sql, payments, { ...payment, balanceAfter: after.patientBalance }, at);
  return [posted, { record: 'balance', record_id: patientId, patient_id: patientId, before, after: { ...after } }];
}
