/** The kinds of record that the dashboard shows, in the order of its page. */
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
