import { type Static, Type } from 'typebox';
import { activity, id, nullable } from '../fields.ts';

const fields = {
  ehr_id: Type.String({ examples: ['9002'] }),
  name: Type.String({ examples: ['Exampleton Drug'] }),
  address: Type.Object({
    address1: nullable(Type.String()),
    city: nullable(Type.String()),
    state: nullable(Type.String()),
    zip: nullable(Type.String()),
  }),
  phone: nullable(Type.String()),
  email: nullable(Type.String({ examples: ['pharmacy9002@example.org'] })),
  status: activity,
};

export const PharmacySource = Type.Object(fields);
export type PharmacySource = Static<typeof PharmacySource>;
export const Pharmacy = Type.Object({ id, ...fields });
export type Pharmacy = Static<typeof Pharmacy>;
