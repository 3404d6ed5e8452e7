import { Type } from 'typebox';
import type { Query } from '../database/open.ts';
import { flag, id, longTextOrNull, money, text, textOrNull, usDateOrNull } from '../records/fields.ts';
import { type RowOf, recordKind } from '../records/recordKind.ts';

const globalAlert = Type.Object({
  name: text,
  alertType: text,
  notes: textOrNull,
  priority: text,
  expiryDate: usDateOrNull,
});

const row = Type.Object({
  patientId: id,
  billingAlert: flag,
  billingNotes: longTextOrNull,
  globalAlerts: Type.Array(globalAlert),
});

export const alerts = recordKind({ table: 'alerts', record: 'alert', id: 'patientId' }, row, {
  billingAlert: 'N',
  globalAlerts: [],
});

export type Alerts = Omit<RowOf<typeof alerts>, 'patientId'>;

export async function getAlerts(sql: Query, patientId: string): Promise<Alerts> {
  const [alerts] = await sql<Alerts[]>`
    select billing_alert, billing_notes, global_alerts from alerts where patient_id = ${patientId}`;
  return alerts ?? { billingAlert: 'N', billingNotes: null, globalAlerts: [] };
}

export const balances = recordKind(
  { table: 'balances', record: 'balance', id: 'patientId' },
  Type.Object({ patientId: id, patientBalance: money, accountBalance: money }),
  { patientBalance: '0.00', accountBalance: '0.00' },
);

export type Balances = Omit<RowOf<typeof balances>, 'patientId'>;

/** A patient without a balance record owes nothing. */
export async function getBalances(sql: Query, patientId: string): Promise<Balances> {
  const [balances] = await sql<Balances[]>`
    select patient_balance, account_balance from balances where patient_id = ${patientId}`;
  return balances ?? { patientBalance: '0.00', accountBalance: '0.00' };
}
