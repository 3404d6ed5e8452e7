import { type Static, Type } from 'typebox';
import { activity, id, nullable } from '../fields.ts';
import { byStatus, recordKind } from './recordKind.ts';

const fields = {
  ehr_id: Type.String({ examples: ['9002'] }),
  name: Type.String({ description: 'Name of the pharmacy', examples: ['Exampleton Drug'] }),
  address: Type.Object(
    {
      address1: nullable(Type.String()),
      city: nullable(Type.String()),
      state: nullable(Type.String()),
      zip: nullable(Type.String()),
    },
    { schema_name: 'PharmacyAddress', description: 'Address of a pharmacy' },
  ),
  phone: nullable(Type.String()),
  email: nullable(Type.String({ examples: ['pharmacy9002@example.org'] })),
  status: activity,
};

export const PharmacySource = Type.Object(fields);
export type PharmacySource = Static<typeof PharmacySource>;
export const Pharmacy = Type.Object({ id, ...fields }, { schema_name: 'Pharmacy', description: 'A pharmacy' });
export type Pharmacy = Static<typeof Pharmacy>;

export const pharmacies = recordKind({
  name: 'pharmacies',
  operation: 'listPharmacies',
  consent: 'pharmacies',
  source: PharmacySource,
  wire: Pharmacy,
  labels: { singular: 'pharmacy', plural: 'pharmacies' },
  group: 'Practice',
  row: (source, id) => ({ doc: { id, ...source }, status: source.status }),
  filters: { status: byStatus },
  list: { returns: 'all', summary: 'List pharmacies' },
  dashboard_columns: ['name', 'address.city', 'address.state', 'phone', 'ehr_id', 'status'],
});
