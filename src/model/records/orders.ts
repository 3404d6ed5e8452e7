import { type Static, Type } from 'typebox';
import { day, emr_value, nullable } from '../fields.ts';
import { dayRange, equals, recordKind } from './recordKind.ts';

const fields = {
  order_name: Type.String(),
  order_date: day(),
  provider_id: emr_value.text,
  patient_mrn: Type.String(),
  patient_name: emr_value.text,
  patient_dob: emr_value.date,
  appointment_id: nullable(Type.String({ description: 'The EMR’s ID of the appointment', examples: ['400022'] })),
  priority: nullable(Type.String({ description: 'Priority, as the EMR gives it' })),
  assigned_to_name: emr_value.text,
  emr_assigned_to_id: emr_value.text,
  lab_results: nullable(Type.Record(Type.String(), Type.Unknown(), { examples: [{ status: 'Final' }] })),
};

export const OrderSource = Type.Object({ ehr_id: Type.String(), ...fields });
export type OrderSource = Static<typeof OrderSource>;
/** All ids are the EMR's. */
export const Order = Type.Object(
  { order_id: Type.String(), ...fields },
  { schema_name: 'Order', description: 'A lab or imaging order as of the last sync' },
);
export type Order = Static<typeof Order>;

/** Far more than one patient has. A client that reaches the limit can narrow the date range. */
const orders_max = 1000;

export const orders = recordKind({
  name: 'orders',
  operation: 'listOrders',
  consent: 'orders',
  source: OrderSource,
  wire: Order,
  labels: { singular: 'order', plural: 'orders' },
  group: 'Claims and orders',
  row: ({ ehr_id, ...source }) => {
    const doc: Order = { order_id: ehr_id, ...source };
    return { doc, patient_mrn: source.patient_mrn, order_date: source.order_date };
  },
  filters: { patient_mrn: equals('patient_mrn'), ...dayRange('order_date', 'order date') },
  order: [{ column: 'order_date', descending: true }],
  in_change_feed: true,
  announced: {
    fields: ['lab_results'],
    columns: [],
    toEvent: ({ after }) => {
      const { order_id, order_name, patient_mrn, lab_results } = after.doc as Order;
      if (lab_results === null) return undefined;
      return { type: 'order.resulted', data: { source: 'emr', order_id, order_name, patient_mrn } };
    },
  },
  mrn_column: 'patient_mrn',
  list: {
    returns: 'one_patient',
    records_max: orders_max,
    summary: `List a patient’s orders, newest first, at most ${orders_max}`,
  },
  dashboard_columns: ['order_name', 'order_date', 'priority', 'assigned_to_name', 'patient_name'],
});
