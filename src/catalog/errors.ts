import { operator_errors } from './operatorErrors.ts';
import { practice_errors } from './practiceErrors.ts';

/**
 * The error catalogue. `docs/reference/errors.md` is generated from it. Codes never change; `{name}` is a
 * placeholder that the caller fills in, checked by the compiler.
 */
export const errors = {
  request_malformed: { status: 400, message: 'The request is not valid HTTP.' },
  body_not_json: { status: 400, message: 'Request body is not valid JSON.' },
  body_too_complex: { status: 400, message: 'Request body exceeds {limit}.' },
  body_not_object: { status: 400, message: 'Request body must be a JSON object.' },
  missing_field: { status: 400, message: 'Missing required field: {field}' },
  no_field: { status: 400, message: 'At least one field must be provided.' },
  unexpected_fields: { status: 400, message: 'Unexpected fields in request body: {fields}' },
  form_malformed: { status: 400, message: 'Request body is not a valid multipart form.' },
  unexpected_query: { status: 400, message: 'Unexpected query parameters: {names}' },
  invalid_field: { status: 400, message: '{rule}' },
  restricted_operation: { status: 400, message: '{operation} are only supported for {emr} EMR.' },
  restricted_field: { status: 400, message: "Field '{field}' is only supported for {emr} EMR." },
  unsupported_field: { status: 400, message: "Field '{field}' is not supported by this EMR." },
  fixed_field: { status: 400, message: "Field '{field}' cannot be changed on an active patient." },
  fixed_appointment_field: {
    status: 400,
    message: "Field '{field}' cannot be changed once the appointment is in the EMR.",
  },
  appointment_in_progress: {
    status: 409,
    message: 'The appointment is being written to the EMR. Send the change again after its event.',
  },
  appointment_time_taken: { status: 409, message: '{conflict}' },
  insurance_company_missing: {
    status: 400,
    message: 'One of insurance_provider_id or insurance_name is required.',
  },
  carrier_missing: {
    status: 400,
    message: "Insurance provider '{name}' has no carrier ID in the EMR and cannot be used for this insurance.",
  },
  provider_inactive: {
    status: 400,
    message: "Provider with EMR ID '{id}' is inactive. Choose another one, or set its status to active.",
  },
  location_inactive: {
    status: 400,
    message: "Location with EMR ID '{id}' is inactive. Choose another one, or set its status to active.",
  },
  operation_not_offered: { status: 400, message: 'This EMR does not offer {operation}.' },
  personal_user_id: {
    status: 400,
    message: 'user_id must not contain personal data such as an email address or a phone number. Use an opaque ID.',
  },
  search_not_supported: {
    status: 400,
    message: "search_by '{search_by}' is not supported by this EMR. Supported: {supported}.",
  },
  emr_name_unknown: { status: 400, message: "EMR '{emr_name}' is not supported. Supported EMRs: {supported}." },
  emr_name_mismatch: { status: 400, message: 'emr_name does not match the EMR of this organization.' },
  emr_domain_mismatch: {
    status: 400,
    message: 'emr_instance_domain does not match the EMR address of this organization.',
  },
  emr_domain_invalid: { status: 400, message: 'emr_instance_domain {rule}' },
  practice_not_found: { status: 404, message: "Practice with ID '{id}' not found." },
  practice_and_emr: { status: 400, message: 'practice_id cannot be combined with emr_name or emr_instance_domain.' },
  practice_mismatch: { status: 400, message: 'practice_id does not match the EMR address of this organization.' },
  practice_unavailable: { status: 409, message: 'There is no EMR app for this practice. Ask an owner to add one.' },
  practice_required: { status: 409, message: 'No practice was chosen in this link yet.' },
  practice_fixed: { status: 409, message: 'The practice of this link cannot be changed.' },
  emr_app_not_found: { status: 404, message: "EMR app with ID '{id}' not found." },
  emr_app_mismatch: { status: 400, message: 'emr_app_id belongs to a different EMR than this organization.' },
  emr_app_exists: { status: 409, message: 'Another EMR app already has the host {host}.' },
  emr_app_pair_taken: {
    status: 409,
    message:
      'Another EMR app already uses this client ID at this token endpoint. Each client ID belongs to one EMR app.',
  },
  emr_app_required: {
    status: 409,
    message:
      'Sign-in with a signing key needs an EMR app. An owner must add one for {host} in the dashboard (Settings, Clients, EMR apps), with the client ID that the EMR issued.',
  },
  emr_app_unregistered: {
    status: 409,
    message: 'This EMR app has no client ID yet. An owner must add the one that the EMR issued.',
  },
  emr_app_in_use: {
    status: 409,
    message: '{count} linked accounts use this EMR app. Unlink them, or link them again with another app.',
  },
  search_params_mismatch: {
    status: 400,
    message: 'search_params does not match the search parameters of this organization.',
  },
  search_params_need_app: {
    status: 400,
    message: 'search_params can be used only with an EMR app for this address.',
  },
  search_params_required: {
    status: 400,
    message: 'The practices of this EMR share one address. Name the practice in search_params: {names}.',
  },
  callback_url_unregistered: { status: 400, message: 'callback_url is not registered for this client.' },
  link_token_invalid: { status: 400, message: 'Invalid or expired link_token.' },
  cursor_expired: {
    status: 410,
    message:
      'This cursor is no longer valid: it is older than 30 days, or the database was restored or lost changes. Read the changes again from the beginning, without a cursor, and replace your copy.',
  },
  link_exhausted: { status: 410, message: 'Too many sign-in attempts with this link_token. Create a new one.' },
  link_expired: { status: 410, message: 'This link_token has expired. Create a new one.' },
  link_used: { status: 410, message: 'This link_token has already been used. Create a new one.' },
  link_unknown: { status: 404, message: 'link_token not found.' },
  ...practice_errors,
  consent_required: {
    status: 403,
    message: 'The person has not agreed to this link yet. Show what is shared and send the consent first.',
  },
  consent_outdated: {
    status: 409,
    message: 'What this link shares, or the host of the EMR’s sign-in page, has changed. Ask for consent again.',
  },
  public_token_invalid: { status: 400, message: 'Invalid or expired public_token.' },
  emr_credentials_wrong: { status: 400, message: '{emr} rejected this username and password.' },
  emr_code_required: { status: 400, message: '{emr} requires a one-time code. Send one_time_code.' },
  emr_code_wrong: { status: 400, message: '{emr} rejected this one-time code. Try the current one.' },
  emr_locked: { status: 400, message: '{emr} has locked this user after too many failed attempts. Try again later.' },
  emr_access_refused: { status: 400, message: '{emr} rejected these credentials.' },
  emr_client_refused: { status: 400, message: '{emr} does not recognize this client ID.' },
  emr_secret_refused: { status: 400, message: '{emr} rejected the client secret.' },
  emr_key_refused: {
    status: 400,
    message: '{emr} does not accept our signing key for this client ID. Register our key set with it: {key_set}',
  },
  emr_scope_refused: { status: 400, message: '{emr} does not grant this client the requested scopes: {scopes}' },
  emr_method_refused: {
    status: 400,
    message: '{emr} does not allow this sign-in method. credentials.way can be one of: {methods}',
  },
  emr_no_records: { status: 400, message: '{emr} accepted the sign-in, but this account cannot read any records.' },
  emr_user_mismatch: {
    status: 400,
    message: 'This account belongs to {name}. Sign in as that user, or link a new account.',
  },
  emr_page_required: { status: 400, message: '{emr} requires sign-in on its own page. Open it in Link.' },
  emr_page_declined: { status: 400, message: 'The sign-in at {emr} was not completed.' },
  page_sign_in_unknown: {
    status: 400,
    message: 'This sign-in was started in another window or has expired. Start again in Link.',
  },
  page_sign_in_mixed_up: {
    status: 400,
    message: 'This response belongs to the sign-in page of another EMR. Nothing was sent. Start again in Link.',
  },
  emr_sign_in_refused: { status: 400, message: 'The sign-in at {emr} failed: {reason}' },
  emr_host_not_found: { status: 400, message: 'The host {host} could not be found. Check the address of the EMR.' },
  emr_address_wrong: { status: 400, message: 'The EMR cannot be linked at this address: {reason}' },
  emr_check_refused: { status: 400, message: 'The capabilities of {emr} could not be read: {reason}' },
  webhook_endpoints_max: {
    status: 400,
    message: 'A client can have at most {max} webhook endpoints. Delete one that is no longer used.',
  },
  webhook_url_refused: { status: 400, message: 'webhook_url {rule}' },
  idempotency_key_invalid: { status: 400, message: 'Send one Idempotency-Key of 1 to 255 printable characters.' },
  credentials_conflict: {
    status: 400,
    message: 'The {header} header was sent more than once, with different values.',
  },
  client_credentials_invalid: { status: 401, message: 'Invalid client credentials.' },
  client_secret_expired: { status: 401, message: 'This client secret expired at {expired_at}.' },
  secret_not_permitted: { status: 403, message: 'This client secret does not permit the request: {limit}.' },
  client_network_refused: {
    status: 403,
    message:
      'Requests of this application are not accepted from {address}. An owner can add the address to its allowed networks.',
  },
  client_certificate_required: {
    status: 403,
    message: 'This application must present a client certificate, and none arrived with the request.',
  },
  client_certificate_refused: {
    status: 403,
    message: 'The client certificate of the request was refused: {reason}.',
  },
  metrics_token_invalid: { status: 401, message: 'Send the METRICS_TOKEN of this installation as a bearer token.' },
  access_token_missing: { status: 401, message: 'Missing access_token header.' },
  access_token_invalid: { status: 401, message: 'User not found.' },
  login_required: {
    status: 403,
    message: 'The account link has expired. Run Link in update mode with this access_token to renew it.',
  },
  sandbox_values_refused: {
    status: 403,
    message:
      'Sandbox credentials are only available to the documentation, opened on the machine that runs the sandbox.',
  },
  sandbox_client_required: {
    status: 403,
    message: 'Only the client in sandbox.json can open the charts of the sandbox’s EMR.',
  },
  method_not_allowed: { status: 405, message: '{method} is not supported here. Supported: {allowed}.' },
  route_not_found: { status: 404, message: 'No such endpoint: {method} {path}' },
  update_mode_user_not_found: { status: 404, message: 'User not found.' },
  provider_not_found: { status: 404, message: "Provider with EMR ID '{id}' not found." },
  referring_provider_not_found: { status: 404, message: "Referring provider with EMR ID '{id}' not found." },
  staff_not_found: { status: 404, message: "Staff member with ID '{id}' not found." },
  appointment_not_found: { status: 404, message: 'Appointment not found.' },
  patient_not_found: { status: 404, message: 'Patient not found.' },
  location_not_found: { status: 404, message: "Location with EMR ID '{id}' not found." },
  pharmacy_not_found: { status: 404, message: "Pharmacy with EMR ID '{id}' not found." },
  record_unnamed: { status: 404, message: '{reason}' },
  record_not_found: { status: 404, message: "{noun} with ID '{id}' not found." },
  account_revoked: { status: 409, message: 'This account has been revoked. Link it again first.' },
  access_token_replaced: {
    status: 409,
    message: 'This access token has been replaced. Send the request with the current one.',
  },
  erasure_blocked: {
    status: 409,
    message: '{jobs} unfinished job(s) must finish first, so that no write is lost. Try again in a moment.',
  },
  legal_hold_active: {
    status: 409,
    message:
      'Nothing was erased: legal hold {hold} covers this data. It must be lifted first, by an operator with the permission for legal holds.',
  },
  appointment_not_in_emr: {
    status: 409,
    message: 'The appointment has no EMR ID. Wait for the event of its booking, or correct it if it has failed.',
  },
  claim_exists: { status: 409, message: 'The appointment has a claim already: {claim_id}.' },
  first_sync_pending: {
    status: 409,
    message: 'The first sync has not finished reading {list}. Try again in a few seconds.',
  },
  job_started: {
    status: 409,
    message: 'The job can no longer be canceled: it has started or finished.',
  },
  job_not_repeatable: { status: 409, message: '{reason}' },
  job_not_openable: { status: 409, message: '{reason}' },
  job_not_editable: { status: 409, message: '{reason}' },
  edited_copy_exists: {
    status: 409,
    message: 'An operator has edited the failed request and sent it again as job {job_id}. {next}',
  },
  job_not_reviewable: { status: 409, message: 'This job is not waiting for review, or has already been reviewed.' },
  master_key_in_settings: {
    status: 409,
    message:
      'The master key is set by MASTER_KEY. To rotate it, set MASTER_KEY_PREVIOUS to the new key, then swap the two.',
  },
  idempotency_key_running: {
    status: 409,
    message: 'A request with this Idempotency-Key is still running. Try again in a moment.',
  },
  idempotency_key_reused: {
    status: 422,
    message: 'This Idempotency-Key was already used with a different request. Use a new key for each request.',
  },
  request_timeout: { status: 408, message: 'The request took too long to arrive.' },
  body_too_large: { status: 413, message: 'Request body exceeds {limit}.' },
  document_too_large: { status: 413, message: '{document} exceeds the maximum size of 5 MB.' },
  document_over_emr_limit: {
    status: 400,
    message: '{document} exceeds the EMR’s limit of {limit} per document.',
  },
  document_script_refused: {
    status: 415,
    message:
      '{document} is a PDF that contains JavaScript, or is protected and cannot be checked. Print it to a new PDF and upload that.',
  },
  document_action_refused: {
    status: 415,
    message:
      '{document} is a PDF that starts programs, opens files elsewhere, sends a form or plays rich media. Print it to a new PDF and upload that.',
  },
  document_attachment_refused: {
    status: 415,
    message:
      '{document} is a PDF with an attached program, script, archive or Office file. Remove the attachment, or print it to a new PDF and upload that.',
  },
  document_broken: {
    status: 415,
    message:
      '{document} is a PDF that cannot be read: it is damaged or incomplete, or has other content attached. Print it to a new PDF and upload that.',
  },
  document_type_unsupported: { status: 415, message: '{document} must be a PDF, JPEG or PNG file.' },
  body_encoding_unsupported: {
    status: 415,
    message: 'Request body must not be compressed. Send it without Content-Encoding.',
  },
  charset_unsupported: { status: 415, message: 'Request body must be in UTF-8.' },
  media_type_unsupported: { status: 415, message: 'Content-Type must be {expected}.' },
  headers_too_large: { status: 431, message: 'Request headers are too large.' },
  live_streams_exceeded: {
    status: 429,
    message: 'Too many open dashboard tabs in this session. Close some of them.',
  },
  event_streams_exceeded: {
    status: 429,
    message: 'Too many open event streams. Close some of them, or register a webhook.',
  },
  quota_exceeded: { status: 429, message: 'Quota exceeded: {quota}.' },
  rate_limited: { status: 429, message: 'Rate limit exceeded.' },
  internal: { status: 500, message: 'Internal error. Include the request_id when you report it.' },
  database_unavailable: {
    status: 503,
    message: 'The database is unavailable right now. Try again in a moment.',
  },
  database_slow: {
    status: 503,
    message: 'The database took too long. Try again later, or narrow the request.',
  },
  connections_exceeded: { status: 503, message: 'Too many connections are open. Try again in a moment.' },
  uploads_busy: { status: 503, message: 'Too many uploads at once. Try again in a moment.' },
  emr_unavailable: { status: 503, message: '{emr} cannot be reached right now. Try again in a moment.' },
  ...operator_errors,
} as const satisfies Record<string, { status: number; message: string }>;

export type ErrorCode = keyof typeof errors;

type Placeholders<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholders<Rest>
  : never;
type Gaps<Code extends ErrorCode> = Placeholders<(typeof errors)[Code]['message']>;
type Fill<Code extends ErrorCode> = Record<Gaps<Code>, string>;
/** For each code whose message has placeholders, their values. */
export type Fills = { [Code in ErrorCode as [Gaps<Code>] extends [never] ? never : Code]: Fill<Code> };
/** One of the invalid fields of a request. */
export type FieldError = { field: string | null; code: ErrorCode; message: string };
/** `ids`: further fields of the body, with IDs of existing records. */
type Details = {
  field?: string;
  ids?: Readonly<Record<string, string>>;
  retry_after_s?: number;
  cause?: unknown;
  errors?: readonly FieldError[];
  /** What the placeholders of the message stand for. */
  values?: Readonly<Record<string, string>>;
};

/** Codes of errors that say which fields of a request are invalid. */
const validation_codes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'missing_field',
  'unexpected_fields',
  'unexpected_query',
  'invalid_field',
]);

/** An error whose message is returned to the caller verbatim. Anything else that is thrown becomes `internal`. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly field: string | undefined;
  readonly retry_after_s: number | undefined;
  /** All invalid fields, the one of the message first. Undefined for errors that are not about fields. */
  readonly errors: readonly FieldError[] | undefined;
  readonly ids: Readonly<Record<string, string>>;
  readonly values: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, details: Details = {}) {
    super(message, { cause: details.cause });
    this.name = 'ApiError';
    this.code = code;
    this.status = errors[code].status;
    this.field = details.field;
    this.retry_after_s = details.retry_after_s;
    this.errors =
      details.errors ?? (validation_codes.has(code) ? [{ field: details.field ?? null, code, message }] : undefined);
    this.ids = details.ids ?? {};
    this.values = details.values ?? {};
  }
}

/** The error of a code with its placeholders filled in: `throw apiError('provider_not_found', { id })`. */
export function apiError<Code extends ErrorCode>(
  code: Code,
  ...[fill, details]: [Gaps<Code>] extends [never]
    ? [fill?: undefined, details?: Details]
    : [fill: Fill<Code>, details?: Details]
): ApiError {
  return new ApiError(code, errorMessage(code, fill ?? {}), { ...details, values: fill ?? {} });
}

/** The message of a code. Values of placeholders that are missing stay empty: `apiError` is checked by the compiler. */
export function errorMessage(code: ErrorCode, values: Readonly<Record<string, string>>): string {
  return errors[code].message.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
}

/** Why the service cannot start: one sentence for the terminal, printed without a stack trace. */
export class StartFailure extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'StartFailure';
  }
}
