import { Type } from 'typebox';
import type { Query } from '../database/open.ts';
import { id, idOrNull, text, textOrNull, usDate } from '../records/fields.ts';
import { type Page, type RowOf, recordKind } from '../records/recordKind.ts';

const result = Type.Object({ test: text, value: text, unit: textOrNull, range: textOrNull, abnormalFlag: text });

const labResults = Type.Object({
  status: text,
  collectedOn: usDate,
  resultedOn: usDate,
  laboratory: text,
  results: Type.Array(result),
});

const row = Type.Object({
  orderId: id,
  patientId: id,
  name: text,
  orderDate: usDate,
  providerId: id,
  appointmentId: idOrNull,
  priority: textOrNull,
  assignedTo: idOrNull,
  labResults: Type.Union([labResults, Type.Null()]),
});

export const orders = recordKind({ table: 'orders', record: 'order', id: 'orderId' }, row, { name: '' });

/** An order as returned by the API, with its patient and the name of the assigned staff member. */
export interface Order extends Omit<RowOf<typeof orders>, 'patientId' | 'assignedTo'> {
  mrn: string;
  patientName: string;
  birthDate: string | null;
  assignedTo: { staffId: string; name: string } | null;
}

export async function listOrders(sql: Query, mrn: string | undefined, { page, pageSize }: Page) {
  const filter = mrn === undefined ? sql`true` : sql`mrn = ${mrn}`;
  const [counted] = await sql<{ total: number }[]>`
    select count(*)::int as total from orders join patients using (patient_id) where ${filter}`;
  const rows = await sql<Order[]>`
    select order_id, name, order_date, provider_id, mrn, concat(last_name, ', ', first_name) as patient_name, birth_date,
      appointment_id, priority,
      case when assigned_to is not null then json_build_object('staffId', assigned_to, 'name', display_name) end as assigned_to,
      lab_results
    from orders join patients using (patient_id) left join staff on staff_id = assigned_to
    where ${filter} order by length(order_id), order_id limit ${pageSize} offset ${(page - 1) * pageSize}`;
  return { total: counted?.total ?? 0, page, pageSize, rows: [...rows] };
}
