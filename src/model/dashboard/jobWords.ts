/** How each kind of job is called. Held to the kinds there are by a test. */
export const job_types: Readonly<Record<string, string>> = {
  'telephone_encounter.create': 'Telephone encounter',
  'telephone_encounter_action.create': 'Telephone encounter action',
  'document.upload': 'Document',
  'appointment.create': 'Appointment',
  'patient.create': 'New patient',
  'patient.update': 'Patient update',
  'patient.insurance.add': 'New insurance',
  'patient.insurance.update': 'Insurance update',
  'patient.fetch': 'Live patient fetch',
  sync: 'Sync',
};

/** The states by which jobs are looked for: a parked job is a queued one that waits for its account. */
export const job_filters = [
  'queued',
  'running',
  'parked',
  'succeeded',
  'partial',
  'failed',
  'needs_review',
  'unresolved',
] as const;
export type JobFilter = (typeof job_filters)[number];

/** What a person found in the EMR about a write whose outcome the service does not know. */
export const review_outcomes = ['done', 'not_done'] as const;
export type ReviewOutcome = (typeof review_outcomes)[number];
