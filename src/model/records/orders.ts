import { type Static, Type } from 'typebox';
import { known, nullable } from '../fields.ts';

const fields = {
  order_name: Type.String(),
  order_date: Type.String({ format: 'date' }),
  provider_id: known.text,
  patient_mrn: Type.String(),
  patient_name: known.text,
  patient_dob: known.date,
  appointment_id: nullable(Type.String({ examples: ['402022'] })),
  priority: known.text,
  assigned_to_name: known.text,
  emr_assigned_to_id: known.text,
  lab_results: nullable(Type.Record(Type.String(), Type.Unknown(), { examples: [{ status: 'Final' }] })),
};

export const OrderSource = Type.Object({ ehr_id: Type.String(), ...fields });
export type OrderSource = Static<typeof OrderSource>;
/** Its ids are all the EMR's. */
export const Order = Type.Object({ order_id: Type.String(), ...fields });
export type Order = Static<typeof Order>;
