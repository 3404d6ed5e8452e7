import { Compile, type RowOf, type Static, Type } from '@chartwire/connector';
import { readPages } from './lists.js';
import type { ExampleEmrOperation } from './operation.js';

const text = Type.String({ minLength: 1 });
const textOrNull = Type.Union([Type.String(), Type.Null()]);

const Provider = Type.Object({ id: text, name: text, npi: textOrNull, timeZone: text, active: Type.Boolean() });
const providers = {
  row: Compile(Provider),
  toSource: ({ id, name, npi, timeZone, active }: Static<typeof Provider>): RowOf<'listProviders'> => ({
    ehr_id: id,
    name,
    npi,
    timezone: timeZone,
    status: active ? 'active' : 'inactive',
    // This EMR has no working hours. Operators enter them in Chartwire.
    hours: [],
  }),
};

const Location = Type.Object({
  id: text,
  name: text,
  active: Type.Boolean(),
  street: textOrNull,
  city: textOrNull,
  state: textOrNull,
  zip: textOrNull,
  phone: textOrNull,
});
const locations = {
  row: Compile(Location),
  toSource: (row: Static<typeof Location>): RowOf<'listLocations'> => ({
    ehr_id: row.id,
    name: row.name,
    status: row.active ? 'active' : 'inactive',
    address: { address1: row.street, address2: null, city: row.city, state: row.state, zip: row.zip },
    phone: row.phone,
    fax: null,
  }),
};

export const practice_operations: readonly ExampleEmrOperation[] = [
  { operation: 'listProviders', open: (send) => () => readPages(send, '/api/providers', providers) },
  { operation: 'listLocations', open: (send) => () => readPages(send, '/api/locations', locations) },
];
