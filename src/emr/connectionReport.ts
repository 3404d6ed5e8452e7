/**
 * One request of a connection report: `GET [base]/Patient?_count=1`. It contains no token and no value that identifies
 * a patient.
 */
export type ReportStep = {
  stage: 'discovery' | 'sign_in' | 'probe';
  request: string;
  /** The HTTP status of the response, null if there was none. */
  status: number | null;
  duration_ms: number;
  outcome: 'ok' | 'refused' | 'failed';
  note?: string;
};

/** What was requested from a server while linking, for the EMR vendor's support. `at`: ISO 8601. */
export type ConnectionReport = { address: string; at: string; steps: readonly ReportStep[] };
