/** The labels of the record types, in the order of the menu. */
export const kind_labels: Record<string, string> = {
  patients: 'Patients',
  appointments: 'Appointments',
  orders: 'Orders',
  claims: 'Claims',
  providers: 'Providers',
  locations: 'Locations',
  staff: 'Staff',
  pharmacies: 'Pharmacies',
  insurance_providers: 'Insurance companies',
  referring_providers: 'Referring providers',
};

/** The path of each record type below the organization. */
export const kind_paths: Record<string, string> = {
  ...Object.fromEntries(Object.keys(kind_labels).map((kind) => [kind, `/${kind.replace('_', '-')}`])),
  insurance_providers: '/insurance-companies',
};

export function money(amount: number | null): string {
  return amount === null ? '–' : amount.toLocaleString(undefined, { style: 'currency', currency: 'USD' });
}
