import type { PharmacySource } from '../model/records/pharmacies.ts';
import type { RecordKind } from './recordKind.ts';

export const pharmacies: RecordKind<PharmacySource> = {
  table: 'pharmacies',
  list: (operations) => operations.listPharmacies,
  keeps: [],
  row: (source, id) => ({ doc: { id, ...source } }),
};
