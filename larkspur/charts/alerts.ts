import { type Static, Type } from 'typebox';
import type { Query } from '../database/open.ts';
import type { RecordKind } from '../machine/recordKind.ts';
import { flag, id, longTextOrNull, text, textOrNull, usDateOrNull } from '../practice/fields.ts';

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

export const alerts: RecordKind<typeof row> = {
  table: 'alerts',
  record: 'alert',
  id: 'patientId',
  row,
  blank: { billingAlert: 'N', globalAlerts: [] },
};

export type Alerts = Omit<Static<typeof row>, 'patientId'>;

export async function getAlerts(sql: Query, patientId: string): Promise<Alerts> {
  const [found] = await sql<Alerts[]>`
    select billing_alert, billing_notes, global_alerts from alerts where patient_id = ${patientId}`;
  return found ?? { billingAlert: 'N', billingNotes: null, globalAlerts: [] };
}
