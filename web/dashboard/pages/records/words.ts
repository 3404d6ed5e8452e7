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

/** Where each kind is shown, below the organisation. */
export const kind_paths: Record<string, string> = {
  ...Object.fromEntries(Object.keys(kind_words).map((kind) => [kind, `/${kind.replace('_', '-')}`])),
  insurance_providers: '/insurance-companies',
};

/** The values of a record by names that people read; what has parts of its own is left out. */
export function worded(record: object): Record<string, string | number> {
  const plain = Object.entries(record).filter(([, value]) => typeof value !== 'object' || value === null);
  return Object.fromEntries(plain.map(([name, value]) => [wordOf(name), say(value)]));
}

/** Money as the practice writes it; null is a dash. */
export function money(amount: number | null): string {
  return amount === null ? '–' : amount.toLocaleString(undefined, { style: 'currency', currency: 'USD' });
}

const abbreviations: Record<string, string> = {
  mrn: 'MRN',
  dob: 'Date of birth',
  id: 'ID',
  ehr: 'EMR',
  emr: 'EMR',
  npi: 'NPI',
};

function wordOf(name: string): string {
  const words = name.split('_').map((word) => abbreviations[word] ?? word);
  return words.join(' ').replace(/^./, (letter) => letter.toUpperCase());
}

function say(value: unknown): string | number {
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  return typeof value === 'number' ? value : String(value ?? '');
}
