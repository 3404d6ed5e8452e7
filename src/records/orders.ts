import type { Database } from '../db/database.ts';
import type { Order, OrderSource } from '../model/records/orders.ts';
import { type Paged, type Scope, when } from './page.ts';
import type { RecordKind } from './recordKind.ts';

export const orders: RecordKind<OrderSource> = {
  table: 'orders',
  list: (operations) => operations.listOrders,
  keeps: [],
  row: ({ ehr_id, ...source }) => {
    const doc: Order = { order_id: ehr_id, ...source };
    return { doc, patient_mrn: source.patient_mrn, order_date: source.order_date };
  },
};

export type OrderFilters = { start_date?: string; end_date?: string; patient_mrn?: string };

export const orderPages: Paged<OrderFilters> = {
  table: 'orders',
  uncounted: true,
  mrn: 'patient_mrn',
  conditions: (sql, filters) => [
    when(filters.start_date, (day) => sql`order_date >= ${day}::text::date`),
    when(filters.end_date, (day) => sql`order_date <= ${day}::text::date`),
    when(filters.patient_mrn, (mrn) => sql`patient_mrn = ${mrn}`),
  ],
  order: (sql) => sql`order_date DESC, id`,
};

/** Many times what a patient has; a client that meets it asks by days. */
export const orders_max = 1000;

/** The orders of one patient, newest first, as the text of the answer. */
export async function listOrders(
  db: Database,
  scope: Scope,
  filters: { patient_mrn: string; start_date?: string; end_date?: string },
): Promise<string> {
  const rows = await db.read<{ body: string }>(
    scope.client_id,
    (sql) => sql`
      SELECT json_build_object('success', true, 'orders', coalesce(json_agg(found.doc), '[]'))::text AS body FROM (
        SELECT doc FROM orders
         WHERE client_id = ${scope.client_id} AND organization_id = ${scope.organization_id}
           AND patient_mrn = ${filters.patient_mrn}
           AND ${when(filters.start_date, (day) => sql`order_date >= ${day}::text::date`) ?? sql`true`}
           AND ${when(filters.end_date, (day) => sql`order_date <= ${day}::text::date`) ?? sql`true`}
         ORDER BY order_date DESC, id LIMIT ${orders_max}) AS found`,
  );
  return rows[0]?.body ?? '';
}
