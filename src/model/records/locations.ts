import { type Static, Type } from 'typebox';
import { activity, id, nullable } from '../fields.ts';
import { recordKind } from './recordKind.ts';

const fields = {
  ehr_id: Type.String({ examples: ['11'] }),
  name: Type.String({ description: 'Name of the location', examples: ['Main Street Clinic'] }),
  status: activity,
  address: Type.Object(
    {
      address1: nullable(Type.String()),
      address2: nullable(Type.String()),
      city: nullable(Type.String()),
      state: nullable(Type.String()),
      zip: nullable(Type.String()),
    },
    { schema_name: 'LocationAddress', description: 'Address of a location' },
  ),
  phone: nullable(Type.String()),
  fax: nullable(Type.String()),
};

export const LocationSource = Type.Object(fields);
export type LocationSource = Static<typeof LocationSource>;
export const Location = Type.Object(
  { id, ...fields },
  { schema_name: 'Location', description: 'A place where the practice sees patients' },
);
export type Location = Static<typeof Location>;

export const locations = recordKind({
  name: 'locations',
  operation: 'listLocations',
  consent: 'locations',
  source: LocationSource,
  wire: Location,
  labels: { singular: 'location', plural: 'locations' },
  group: 'Practice',
  kept_columns: ['status_set'],
  row: (source, id, stored) => {
    // The column's check constraint allows no other values.
    const status = (stored?.status_set as LocationSource['status'] | null | undefined) ?? source.status;
    return { doc: { id, ...source, status } };
  },
  list: { returns: 'all', summary: 'List locations' },
  dashboard_columns: ['name', 'address.address1', 'address.city', 'phone', 'ehr_id', 'status'],
});
