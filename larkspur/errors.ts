/** Every way Larkspur says no. A code that is not in this table does not compile. */
export const failures = {
  BAD_REQUEST: 400,
  BAD_CREDENTIALS: 401,
  BAD_CODE: 401,
  DEVICE_UNKNOWN: 401,
  SESSION_EXPIRED: 401,
  CONTROL_TOKEN: 401,
  NOT_FOUND: 404,
  DUPLICATE_REFERENCE: 409,
  ALREADY_EXISTS: 409,
  DUPLICATE_PATIENT: 409,
  CONFLICT: 409,
  CHALLENGE_EXPIRED: 410,
  REFUSED: 422,
  LOCKED: 423,
  TOO_MANY_REQUESTS: 429,
  INTERNAL_ERROR: 500,
} as const;

export type FailureCode = keyof typeof failures;

export class EmrError extends Error {
  readonly code: FailureCode;
  readonly details: Record<string, unknown>;

  constructor(code: FailureCode, text: string, details: Record<string, unknown> = {}) {
    super(text);
    this.name = 'EmrError';
    this.code = code;
    this.details = details;
  }
}

export interface Answer {
  status: number;
  body: unknown;
}

export function failureAnswer(error: EmrError): Answer {
  return { status: failures[error.code], body: { errorCode: error.code, errorText: error.message, ...error.details } };
}

/**
 * The answer to whatever was thrown. What nobody foresaw becomes a bare 500: the message of such an error may quote
 * a chart, so it is neither answered nor logged.
 */
export function answerTo(error: unknown, unforeseen: (name: string) => void): Answer {
  if (error instanceof EmrError) return failureAnswer(error);
  if (!(error instanceof Error)) return internalError(unforeseen, 'unknown');
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const known = databaseCodes[code];
  if (known) return failureAnswer(new EmrError(...known));
  const status = 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : 500;
  if (status >= 500) return internalError(unforeseen, code || error.name);
  return { status: 400, body: { errorCode: 'BAD_REQUEST', errorText: error.message } };
}

/** What PostgreSQL refuses and the caller can mend. */
const databaseCodes: Record<string, [FailureCode, string]> = {
  '23505': ['ALREADY_EXISTS', 'A record with this identifier exists.'],
  '22007': ['BAD_REQUEST', 'Not a date MM/DD/YYYY.'],
  '22008': ['BAD_REQUEST', 'Not a date MM/DD/YYYY.'],
  '23502': ['BAD_REQUEST', 'A field is missing that every such record has.'],
  '23503': ['BAD_REQUEST', 'Names a record that does not exist.'],
  '23514': ['BAD_REQUEST', 'A value is not one of those there are.'],
  '22021': ['BAD_REQUEST', 'Text must not hold the character NUL.'],
  '22P05': ['BAD_REQUEST', 'Text must not hold the character NUL.'],
};

function internalError(unforeseen: (name: string) => void, name: string): Answer {
  unforeseen(name);
  return failureAnswer(new EmrError('INTERNAL_ERROR', 'Larkspur could not answer.'));
}
