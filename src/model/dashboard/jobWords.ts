/** The label of each job type. A test checks that all types have one. */
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

/** State filters. A parked job is a queued job that waits for its account to be re-linked. */
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

/** What an operator found in the EMR about a write whose outcome is unknown. */
export const review_outcomes = ['done', 'not_done'] as const;
export type ReviewOutcome = (typeof review_outcomes)[number];
