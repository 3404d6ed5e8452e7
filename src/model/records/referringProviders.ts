import { type Static, Type } from 'typebox';
import { id, known, nullable } from '../fields.ts';

const fields = {
  ehr_id: Type.String({ examples: ['8003'] }),
  name: Type.String({ examples: ['Umber A Consultson'] }),
  first_name: Type.String({ examples: ['Umber'] }),
  last_name: Type.String({ examples: ['Consultson'] }),
  middle_initial: nullable(Type.String({ examples: ['A'] })),
  speciality: nullable(Type.String({ examples: ['Neurology'] })),
  phone: known.text,
  fax: known.text,
  email: nullable(Type.String({ examples: ['umber.consultson@example.org'] })),
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
