/** How each kind of record is called, in the order of the menu. */
export const kind_words: Record<string, string> = {
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

/** Where each kind is shown, below the organization. */
export const kind_paths: Record<string, string> = {
  ...Object.fromEntries(Object.keys(kind_words).map((kind) => [kind, `/${kind.replace('_', '-')}`])),
  insurance_providers: '/insurance-companies',
};

/** Money as the practice writes it; null is a dash. */
export function money(amount: number | null): string {
  return amount === null ? '–' : amount.toLocaleString(undefined, { style: 'currency', currency: 'USD' });
}

/** A field's name as people read it. */
export function wordOf(name: string): string {
  const words = name.split('_').map((word) => abbreviations[word] ?? word);
  return words.join(' ').replace(/^./, (letter) => letter.toUpperCase());
}

const abbreviations: Record<string, string> = {
  cpt: 'CPT',
  dob: 'date of birth',
  ehr: 'EMR',
  emr: 'EMR',
  era: 'ERA',
  icd: 'ICD',
  id: 'ID',
  mrn: 'MRN',
  npi: 'NPI',
};
