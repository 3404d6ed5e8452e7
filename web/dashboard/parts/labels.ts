/** Words of field names that are written differently in labels. */
const words: Record<string, string> = {
  cpt: 'CPT',
  dob: 'date of birth',
  ehr: 'EMR',
  emr: 'EMR',
  era: 'ERA',
  icd: 'ICD',
  id: 'ID',
  ids: 'IDs',
  mrn: 'MRN',
  npi: 'NPI',
  speciality: 'specialty',
};

/** A field's name as a label: `refill_medication_name` is `Refill medication name`. */
export function fieldLabel(name: string): string {
  const label = name.split('_').map((word) => words[word] ?? word);
  return label.join(' ').replace(/^./, (letter) => letter.toUpperCase());
}

/** Names of connector operations as a list: `createAppointment` is `create appointment`. */
export function operationLabels(names: readonly string[]): string {
  return names.map((name) => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)).join(', ');
}

/** A text of an EMR or a receiver, or the general sentence if there is none or the operator's role hides it. */
export function textOr(text: string | null | undefined, general: string): string {
  return text === null || text === undefined || text === '•••' ? general : text;
}
