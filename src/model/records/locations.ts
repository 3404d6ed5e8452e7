import { type Static, Type } from 'typebox';
import { activity, id, nullable } from '../fields.ts';

const fields = {
  ehr_id: Type.String({ examples: ['11'] }),
  name: Type.String({ examples: ['Main Street Clinic'] }),
  status: activity,
  address: Type.Object({
    address1: nullable(Type.String()),
    address2: nullable(Type.String()),
    city: nullable(Type.String()),
    state: nullable(Type.String()),
    zip: nullable(Type.String()),
  }),
  phone: nullable(Type.String()),
  fax: nullable(Type.String()),
};

export const LocationSource = Type.Object(fields);
export type LocationSource = Static<typeof LocationSource>;
export const Location = Type.Object({ id, ...fields });
export type Location = Static<typeof Location>;
