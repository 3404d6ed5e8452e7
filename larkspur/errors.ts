/** Every error code with its HTTP status. */
export const errorStatuses = {
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
  RULE_BROKEN: 422,
  UNKNOWN_VALUE: 422,
  INACTIVE_RECORD: 422,
  UNKNOWN_NAME: 422,
  AMBIGUOUS_NAME: 422,
  MEDICATION_NOT_FOUND: 422,
  LOCKED: 423,
  TOO_MANY_REQUESTS: 429,
  INTERNAL_ERROR: 500,
} as const;

export type ErrorCode = keyof typeof errorStatuses;

export class EmrError extends Error {
  readonly code: ErrorCode;
  readonly details: Record<string, unknown>;

  constructor(code: ErrorCode, text: string, details: Record<string, unknown> = {}) {
    super(text);
    this.name = 'EmrError';
    this.code = code;
    this.details = details;
  }
}

export interface ApiResponse {
  status: number;
  body: unknown;
}

export function errorResponse(error: EmrError): ApiResponse {
  return {
    status: errorStatuses[error.code],
    body: { errorCode: error.code, errorText: error.message, ...error.details },
  };
}

/**
 * Converts anything thrown to a response. The message of an unexpected error may quote a chart, so it is neither sent
 * nor logged; `onUnexpected` receives only the error's code or name.
 */
export function toErrorResponse(error: unknown, onUnexpected: (name: string) => void): ApiResponse {
  if (error instanceof EmrError) return errorResponse(error);
  if (!(error instanceof Error)) return internalError(onUnexpected, 'unknown');
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const mapped = databaseErrors[code];
  if (mapped) return errorResponse(new EmrError(...mapped));
  const status = 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : 500;
  if (status >= 500) return internalError(onUnexpected, code || error.name);
  return { status: 400, body: { errorCode: 'BAD_REQUEST', errorText: error.message } };
}

/** PostgreSQL error codes that are caused by the request. */
const databaseErrors: Record<string, [ErrorCode, string]> = {
  '23505': ['ALREADY_EXISTS', 'A record with this identifier already exists.'],
  '22007': ['BAD_REQUEST', 'Invalid date: expected MM/DD/YYYY.'],
  '22008': ['BAD_REQUEST', 'Invalid date: expected MM/DD/YYYY.'],
  '23502': ['BAD_REQUEST', 'A required field is missing.'],
  '23503': ['BAD_REQUEST', 'A referenced record does not exist.'],
  '23514': ['BAD_REQUEST', 'A value is not one of the allowed values.'],
  '22021': ['BAD_REQUEST', 'Text must not contain the NUL character.'],
  '22P05': ['BAD_REQUEST', 'Text must not contain the NUL character.'],
};

function internalError(onUnexpected: (name: string) => void, name: string): ApiResponse {
  onUnexpected(name);
  return errorResponse(new EmrError('INTERNAL_ERROR', 'Internal error.'));
}
