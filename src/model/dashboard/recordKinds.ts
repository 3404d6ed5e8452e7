/** The record kinds on the Records page, in its order. */
export const shown_kinds = [
  'patients',
  'appointments',
  'orders',
  'claims',
  'providers',
  'locations',
  'staff',
  'pharmacies',
  'insurance_providers',
  'referring_providers',
] as const;
export type ShownKind = (typeof shown_kinds)[number];

export type KindRow = { kind: ShownKind; total: number; synced_at: string | null };
