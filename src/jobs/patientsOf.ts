/** MRNs of the patients that a request, the input of a job or the data of an event is about, as far as it says. */
export function patientsOf(said: unknown): string[] {
  if (typeof said !== 'object' || said === null) return [];
  const { patient_mrn, mrn, duplicate_patient_mrn, patients } = said as Record<string, unknown>;
  const of_each = Array.isArray(patients) ? patients.map((each) => (each as { mrn?: unknown } | null)?.mrn) : [];
  return [patient_mrn, mrn, duplicate_patient_mrn, ...of_each].filter(
    (value): value is string => typeof value === 'string' && value !== '',
  );
}
