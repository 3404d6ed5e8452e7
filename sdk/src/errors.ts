import type { ErrorBody, ErrorCode, FailureReason, FieldError, WebhookEvent } from './generated/types.gen.ts';

type Details = {
  code?: string | undefined;
  status?: number | undefined;
  requestId?: string | undefined;
  field?: string | undefined;
  errors?: readonly FieldError[] | undefined;
  remedy?: string | undefined;
  docUrl?: string | undefined;
  retryAfterSeconds?: number | undefined;
  cause?: unknown;
};

/** The base of every error that this library throws. */
export class ChartwireError extends Error {
  /** Stable code of the error, such as `missing_field`. New codes may be added. */
  readonly code: ErrorCode | (string & {}) | undefined;
  /** HTTP status of the response, if there was one. */
  readonly status: number | undefined;
  /** ID of the request; include it when you ask for help. */
  readonly requestId: string | undefined;
  /** The field of the request that is at fault, if there is one. */
  readonly field: string | undefined;
  /** Every invalid field, if the request is not valid; the first is `field`. */
  readonly errors: readonly FieldError[];
  /** What to do about it, if the service said so. */
  readonly remedy: string | undefined;
  /** The section of the error in the documentation of the service. */
  readonly docUrl: string | undefined;
  /** When to try again, if the service said so. */
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, details: Details = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.code = details.code;
    this.status = details.status;
    this.requestId = details.requestId;
    this.field = details.field;
    this.errors = details.errors ?? [];
    this.remedy = details.remedy;
    this.docUrl = details.docUrl;
    this.retryAfterSeconds = details.retryAfterSeconds;
  }
}

/** The request is not valid; `field` names the field, and `errors` all invalid ones. */
export class ValidationError extends ChartwireError {}
/** The client credentials or the access token are missing or wrong. */
export class AuthenticationError extends ChartwireError {}
/** A record that the request refers to does not exist. */
export class NotFoundError extends ChartwireError {}
/** The request conflicts with the current state. */
export class ConflictError extends ChartwireError {}
/** The cursor of the change feed is no longer valid: delete your copy, and start again without a cursor. */
export class CursorExpiredError extends ChartwireError {}
/** The account link has expired: run Link in update mode. Waiting jobs then resume. */
export class LoginRequiredError extends ChartwireError {}
/** Too many requests, also after retries. */
export class RateLimitError extends ChartwireError {}
/** The service, its database or the EMR is not available, also after retries. */
export class ServiceUnavailableError extends ChartwireError {}
/** The service could not be reached, also after retries. */
export class ConnectionError extends ChartwireError {}
/** The request or the wait took longer than `timeoutMs`. */
export class TimeoutError extends ChartwireError {
  /** The job that was waited for. It continues in the service. */
  readonly jobId: number | undefined;

  constructor(message: string, { jobId, ...details }: Details & { jobId?: number } = {}) {
    super(message, details);
    this.jobId = jobId;
  }
}

/** A write was accepted but failed later. `code` is the failure code. */
export class JobFailedError extends ChartwireError {
  /** Absent for document uploads, whose requests return no job ID. */
  readonly jobId: number | undefined;
  /** `needs_review`: it is unknown whether it was saved. Check in the EMR before you send it again. */
  readonly outcome: 'failed' | 'needs_review' | 'cancelled';
  /** Why it failed, in the EMR’s words where it said so. */
  readonly reasons: readonly FailureReason[];
  /** The event that reports the failure. */
  readonly event: WebhookEvent;

  constructor(
    message: string,
    failure: { jobId?: number; outcome: 'failed' | 'needs_review' | 'cancelled'; code?: string; event: WebhookEvent },
  ) {
    super(message, { code: failure.code });
    this.jobId = failure.jobId;
    this.outcome = failure.outcome;
    this.event = failure.event;
    const { reasons = [] } = failure.event.data as { reasons?: FailureReason[] };
    // Some events have only the text.
    const only = failure.code === undefined ? [] : [{ code: failure.code, description: message }];
    this.reasons = reasons.length > 0 ? reasons : only;
  }
}

/** The error for a response that is not a success. */
export function errorFor(response: Response, text: string, call: { method: string; path: string }): ChartwireError {
  const body = parse(text);
  const retry_after = Number(response.headers.get('retry-after') ?? Number.NaN);
  const details = {
    code: body?.code ?? body?.error,
    status: response.status,
    requestId: body?.request_id ?? response.headers.get('x-request-id') ?? undefined,
    field: body?.field,
    errors: body?.errors,
    remedy: body?.remedy,
    docUrl: body?.doc_url,
    retryAfterSeconds: Number.isFinite(retry_after) ? retry_after : undefined,
  };
  const Class = classFor(response.status, details.code);
  if (body?.message === undefined) {
    const message = `${call.method} ${call.path} returned status ${response.status}, but the error is not from Chartwire. Check baseUrl, and any proxy in between.`;
    return new Class(message, details);
  }
  const remedy = remedies[details.code ?? ''];
  return new Class(remedy === undefined ? body.message : `${body.message} ${remedy}`, details);
}

/** `error`: in place of `code`, if the link has expired. */
type SentError = Partial<ErrorBody> & { error?: string };

function parse(text: string): SentError | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null ? body : undefined;
  } catch {
    return undefined;
  }
}

function classFor(status: number, code: string | undefined): typeof ChartwireError {
  if (code === 'login_required') return LoginRequiredError;
  if (code === 'cursor_expired') return CursorExpiredError;
  if (status === 401 || status === 403) return AuthenticationError;
  if (status === 404) return NotFoundError;
  if (status === 409 || status === 410 || status === 422) return ConflictError;
  if (status === 429) return RateLimitError;
  if (status === 502 || status === 503 || status === 504) return ServiceUnavailableError;
  return status >= 400 && status < 500 ? ValidationError : ChartwireError;
}

/** What to do, where the service cannot know how this library is used. */
const remedies: Record<string, string> = {
  client_credentials_invalid: 'Check clientId and clientSecret.',
  access_token_missing: 'Pass accessToken to new Chartwire({ … }), or use client.forAccount(accessToken).',
  access_token_invalid: 'Check accessToken: it may belong to another client, or the account was unlinked.',
  route_not_found: 'The service may be older than this library. Check baseUrl and the version of the service.',
};
