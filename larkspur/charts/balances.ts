import { Type } from 'typebox';
import type { Query } from '../database/open.ts';
import type { RecordKind } from '../machine/recordKind.ts';
import { id, money } from '../practice/fields.ts';

const row = Type.Object({ patientId: id, patientBalance: money, accountBalance: money });

export const balances: RecordKind<typeof row> = {
  table: 'balances',
  record: 'balance',
  id: 'patientId',
  row,
  blank: { patientBalance: '0.00', accountBalance: '0.00' },
};

export interface Balances {
  patientBalance: string;
  accountBalance: string;
}

/** A patient who was never billed owes nothing. */
export async function getBalances(sql: Query, patientId: string): Promise<Balances> {
  const [found] = await sql<Balances[]>`
    select patient_balance, account_balance from balances where patient_id = ${patientId}`;
  return found ?? { patientBalance: '0.00', accountBalance: '0.00' };
}
