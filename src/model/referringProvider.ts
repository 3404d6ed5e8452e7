import { type Static, Type } from 'typebox';
import { id, known } from './fields.ts';

const fields = {
  ehr_id: Type.String(),
  name: Type.String(),
  first_name: Type.String(),
  last_name: Type.String(),
  middle_initial: known.text,
  speciality: known.text,
  phone: known.text,
  fax: known.text,
  email: known.text,
  npi: known.text,
  address_street: known.text,
  address_city: known.text,
  address_state: known.text,
  address_zip: known.text,
};

export const ReferringProviderSource = Type.Object(fields);
export type ReferringProviderSource = Static<typeof ReferringProviderSource>;
export const ReferringProvider = Type.Object({ id, ...fields });
export type ReferringProvider = Static<typeof ReferringProvider>;
