/**
 * Every way in which a request can be refused, in one table. A code that is not here does not compile; the
 * reference page `docs/reference/errors.md` is generated from this table. `{name}` marks what the caller fills in.
 */
export const errors = {
  request_malformed: { status: 400, message: 'The request is not valid HTTP.' },
  body_not_json: { status: 400, message: 'Request body is not valid JSON.' },
  body_not_object: { status: 400, message: 'Request body must be a JSON object.' },
  missing_field: { status: 400, message: 'Missing required field: {field}' },
  no_field: { status: 400, message: 'At least one field must be provided.' },
  unexpected_fields: { status: 400, message: 'Unexpected fields in request body: {fields}' },
  form_malformed: { status: 400, message: 'Request body is not a valid multipart form.' },
  unexpected_query: { status: 400, message: 'Unexpected query parameters: {names}' },
  invalid_field: { status: 400, message: '{rule}' },
  restricted_operation: { status: 400, message: '{operation} are only supported for {emr} EMR.' },
  restricted_field: { status: 400, message: "Field '{field}' is only supported for {emr} EMR." },
  fixed_field: { status: 400, message: "Field '{field}' cannot be changed on an active patient." },
  insurance_company_missing: {
    status: 400,
    message: 'One of insurance_provider_id or insurance_name is required.',
  },
  carrier_missing: {
    status: 400,
    message: "Insurance provider '{name}' has no carrier ID in the EMR: an insurance cannot be moved to it.",
  },
  operation_not_offered: { status: 400, message: 'This EMR does not offer {operation}.' },
  personal_user_id: {
    status: 400,
    message: 'user_id must not hold personal data such as an e-mail address or a phone number. Send an opaque id.',
  },
  emr_name_unknown: { status: 400, message: "EMR '{emr_name}' is not supported. Supported EMRs: {supported}." },
  emr_name_mismatch: { status: 400, message: 'emr_name does not match the EMR of this organization.' },
  emr_domain_mismatch: {
    status: 400,
    message: 'emr_instance_domain does not match the EMR address of this organization.',
  },
  emr_domain_invalid: { status: 400, message: 'emr_instance_domain {rule}' },
  callback_url_unregistered: { status: 400, message: 'callback_url is not registered for this client.' },
  link_token_invalid: { status: 400, message: 'Invalid or expired link_token.' },
  link_exhausted: { status: 410, message: 'Too many sign-ins were tried with this link_token. Make a new one.' },
  link_expired: { status: 410, message: 'This link_token has expired. Make a new one.' },
  link_used: { status: 410, message: 'This link_token was used already. Make a new one.' },
  link_unknown: { status: 404, message: 'There is no such link_token.' },
  public_token_invalid: { status: 400, message: 'Invalid or expired public_token.' },
  emr_credentials_wrong: { status: 400, message: '{emr} did not accept this user name and password.' },
  emr_code_required: { status: 400, message: '{emr} asks for a one-time code: send one_time_code.' },
  emr_code_wrong: { status: 400, message: '{emr} did not accept this one-time code. Try the current one.' },
  emr_locked: { status: 400, message: '{emr} has locked this user after too many wrong tries. Try again later.' },
  emr_access_refused: { status: 400, message: '{emr} did not accept these credentials.' },
  emr_page_required: { status: 400, message: '{emr} asks for a sign-in on its own page: open it in Link.' },
  emr_page_declined: { status: 400, message: 'The sign-in on the page of {emr} was not completed.' },
  page_sign_in_unknown: {
    status: 400,
    message: 'This sign-in was not begun in this window, or too long ago. Start it again in Link.',
  },
  emr_sign_in_refused: { status: 400, message: '{emr} refused the sign-in: {reason}' },
  webhook_url_refused: { status: 400, message: 'webhook_url {rule}' },
  idempotency_key_invalid: { status: 400, message: 'Idempotency-Key must be 1 to 255 printable characters.' },
  client_credentials_invalid: { status: 401, message: 'Invalid client credentials.' },
  access_token_missing: { status: 401, message: 'Missing access_token header.' },
  access_token_invalid: { status: 401, message: 'User not found.' },
  operator_credentials_wrong: { status: 401, message: 'This e-mail address and password do not belong together.' },
  operator_code_required: { status: 401, message: 'Enter the code that your authenticator app shows.' },
  operator_code_wrong: {
    status: 401,
    message: 'This code is not right, or was used already. Enter the one that your app shows now.',
  },
  operator_session_over: { status: 401, message: 'You are not signed in, or your session has ended. Sign in again.' },
  operator_role_lacking: { status: 403, message: 'This takes the role {role}.' },
  operator_request_foreign: {
    status: 403,
    message: 'This request did not come from the dashboard’s own page. Reload the page and try again.',
  },
  login_required: {
    status: 403,
    message: 'The account link has expired. Run Link in update mode with this access_token to renew it.',
  },
  sandbox_values_refused: {
    status: 403,
    message:
      'The sandbox’s credentials are told only to the reference page, opened on the machine that runs the sandbox.',
  },
  route_not_found: { status: 404, message: 'No such endpoint: {method} {path}' },
  update_mode_user_not_found: { status: 404, message: 'User not found.' },
  provider_not_found: { status: 404, message: "Provider with EMR ID '{id}' not found." },
  staff_not_found: { status: 404, message: "Staff member with ID '{id}' not found." },
  location_not_found: { status: 404, message: "Location with EMR ID '{id}' not found." },
  pharmacy_not_found: { status: 404, message: "Pharmacy with EMR ID '{id}' not found." },
  record_unnamed: { status: 404, message: '{reason}' },
  record_not_found: { status: 404, message: "{noun} with ID '{id}' not found." },
  account_revoked: { status: 409, message: 'This account was revoked. Link it again first.' },
  job_not_repeatable: { status: 409, message: '{reason}' },
  job_not_reviewable: { status: 409, message: 'This job does not wait for a review, or has been reviewed already.' },
  operator_exists: { status: 409, message: 'An operator with this e-mail address exists already.' },
  master_key_in_settings: {
    status: 409,
    message:
      'The master key comes from MASTER_KEY. Rotate it there: set MASTER_KEY_PREVIOUS to the new key, then swap the two.',
  },
  owner_last: { status: 409, message: 'One owner must stay. Make another operator an owner first.' },
  idempotency_key_running: {
    status: 409,
    message: 'A request with this Idempotency-Key is still running. Try again in a moment.',
  },
  idempotency_key_reused: {
    status: 422,
    message: 'This Idempotency-Key was used with another request. Use a new key for a new request.',
  },
  request_timeout: { status: 408, message: 'The request took too long to arrive.' },
  body_too_large: { status: 413, message: 'Request body exceeds {limit}.' },
  document_too_large: { status: 413, message: 'document exceeds the maximum size of 5 MB.' },
  document_type_unsupported: { status: 415, message: 'document must be a PDF, JPEG or PNG file.' },
  media_type_unsupported: { status: 415, message: 'Content-Type must be {expected}.' },
  headers_too_large: { status: 431, message: 'Request headers are too large.' },
  operator_locked: {
    status: 429,
    message: 'Too many passwords were tried for this account. Wait a quarter of an hour and try again.',
  },
  rate_limited: { status: 429, message: 'Rate limit exceeded.' },
  internal: { status: 500, message: 'Something went wrong on our side. Quote the request_id when you report it.' },
  database_unavailable: { status: 503, message: 'The service cannot reach its database. Try again in a moment.' },
  emr_unavailable: { status: 503, message: '{emr} cannot be reached right now. Try again in a moment.' },
} as const satisfies Record<string, { status: number; message: string }>;

export type ErrorCode = keyof typeof errors;

type Placeholders<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholders<Rest>
  : never;
type Gaps<Code extends ErrorCode> = Placeholders<(typeof errors)[Code]['message']>;
type Fill<Code extends ErrorCode> = Record<Gaps<Code>, string>;
/** For each code whose message has gaps, what fills them. */
export type Fills = { [Code in ErrorCode as [Gaps<Code>] extends [never] ? never : Code]: Fill<Code> };
type Details = { field?: string; retry_after_s?: number; cause?: unknown };

/** A refusal the caller is told about, word for word. Everything else that is thrown becomes `internal`. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly field: string | undefined;
  readonly retry_after_s: number | undefined;

  constructor(code: ErrorCode, message: string, details: Details = {}) {
    super(message, { cause: details.cause });
    this.name = 'ApiError';
    this.code = code;
    this.status = errors[code].status;
    this.field = details.field;
    this.retry_after_s = details.retry_after_s;
  }
}

/** Makes the error of a code with its message filled in: `throw refusal('provider_not_found', { id })`. */
export function apiError<Code extends ErrorCode>(
  code: Code,
  ...[fill, details]: [Gaps<Code>] extends [never]
    ? [fill?: undefined, details?: Details]
    : [fill: Fill<Code>, details?: Details]
): ApiError {
  const values: Record<string, string> = fill ?? {};
  const message = errors[code].message.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
  return new ApiError(code, message, details);
}

/** Why the service cannot start, as one plain sentence for the person at the terminal. Never shown with a stack. */
export class StartFailure extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'StartFailure';
  }
}
