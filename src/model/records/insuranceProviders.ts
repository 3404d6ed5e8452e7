import { type Static, Type } from 'typebox';
import { date_time, id, known, nullable } from '../fields.ts';

const fields = {
  ehr_id: Type.String({ examples: ['301'] }),
  name: Type.String({ examples: ['Examplecare Gold'] }),
  payer_id: known.text,
  active: Type.Boolean(),
  address: known.text,
  city: known.text,
  state: known.text,
  created_at: nullable(date_time),
};

/** An insurance company as an EMR lists it, with the EMR's id of its carrier. */
export const InsuranceProviderSource = Type.Object({ ...fields, carrier_id: known.text });
export type InsuranceProviderSource = Static<typeof InsuranceProviderSource>;
export const InsuranceProvider = Type.Object({ id, ...fields });
export type InsuranceProvider = Static<typeof InsuranceProvider>;
