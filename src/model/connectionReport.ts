import { type Static, Type } from 'typebox';
import { date_time, id, nullable } from './fields.ts';

const step = Type.Object({
  stage: Type.Enum(['discovery', 'sign_in', 'probe'], {
    description: '`discovery`: finding the server’s documents. `sign_in`: requesting a token. `probe`: a test request',
  }),
  request: Type.String({
    description: 'Method and URL. `[base]` is `address`; ids and search values are replaced',
    examples: ['GET [base]/Patient?_count=1'],
  }),
  status: nullable(Type.Integer({ description: 'HTTP status; null if there was no response', examples: [200] })),
  duration_ms: Type.Integer({ examples: [84] }),
  outcome: Type.Enum(['ok', 'refused', 'failed']),
  note: Type.Optional(
    Type.String({ description: 'Scopes, or the server’s error', examples: ['Scopes granted: system/*.read'] }),
  ),
});

/** What was requested from an EMR's server during one sign-in. It contains no health data, token or secret. */
export const connection_report = Type.Object({
  address: Type.String({ description: 'The address of the EMR', examples: ['https://emr.example.org/r4'] }),
  at: date_time,
  steps: Type.Array(step),
});

/** How the sign-in ended. */
export const report_outcome = {
  error_code: nullable(Type.String({ description: 'The error code; null if the sign-in succeeded', examples: [null] })),
  error_message: nullable(Type.String({ examples: [null] })),
};

/** A stored report. `account_id` is null for a failed attempt to link. */
export const report_row = Type.Object({
  id,
  account_id: nullable(id),
  org_id: Type.String(),
  user_id: Type.String(),
  at: date_time,
  ...report_outcome,
});
export type ReportRow = Static<typeof report_row>;

export const report_findings = Type.Array(Type.String(), {
  description: 'What is known about the server since the account was linked',
  examples: [['MRN: identifiers of type MR with system urn:example:mrn (detected).']],
});

export const report_details = Type.Object({
  ...report_row.properties,
  report: connection_report,
  findings: report_findings,
});
export type ReportDetails = Static<typeof report_details>;
