import { Type } from 'typebox';
import { choices, nullable } from './fields.ts';

const step = Type.Object(
  {
    stage: choices(
      { discovery: 'Discovery of the server’s metadata', sign_in: 'Requesting a token', probe: 'A test request' },
      { description: 'What the request was for' },
    ),
    request: Type.String({
      description: 'Method and URL. `[base]` is `address`; ids and search values are replaced',
      examples: ['GET [base]/Patient?_count=1'],
    }),
    status: nullable(Type.Integer({ description: 'HTTP status; null if there was no response', examples: [200] })),
    duration_ms: Type.Integer({ description: 'Time until the response, in milliseconds', examples: [84] }),
    outcome: choices(
      {
        ok: 'The server responded as expected',
        refused: 'The server rejected the request',
        failed: 'There was no usable response',
      },
      { description: 'How the request ended' },
    ),
    note: Type.Optional(
      Type.String({ description: 'Scopes, or the server’s error', examples: ['Scopes granted: system/*.read'] }),
    ),
  },
  { schema_name: 'ConnectionStep', description: 'A request to the EMR’s server during a sign-in' },
);

/** What was requested from an EMR's server during one sign-in. It contains no health data, token or secret. */
export const connection_report = Type.Object({
  address: Type.String({ description: 'The address of the EMR', examples: ['https://emr.example.org/r4'] }),
  at: Type.String({ format: 'date-time', description: 'When the sign-in took place' }),
  steps: Type.Array(step, { description: 'The requests, in order' }),
});

/** How the sign-in ended. */
export const report_outcome = {
  error_code: Type.Union([Type.String(), Type.Null()], {
    description: 'The error code; null if the sign-in succeeded',
    examples: [null],
  }),
  error_message: Type.Union([Type.String(), Type.Null()], {
    description: 'The error message; null if the sign-in succeeded',
    examples: [null],
  }),
};

export const report_findings = Type.Array(Type.String(), {
  description: 'What is known about the server since the account was linked',
  examples: [['MRN: identifiers of type MR with system urn:example:mrn (detected).']],
});
