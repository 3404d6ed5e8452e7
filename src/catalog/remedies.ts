import { type ErrorCode, errors } from './errors.ts';

/** What the caller of an endpoint can do about an error, where the rule for its status says too little. */
const by_code: { readonly [Code in ErrorCode]?: string } = {
  missing_field: 'Send the field with a value that is not blank.',
  no_field: 'Send at least one field to change.',
  unexpected_fields: 'Remove the fields. The reference of the endpoint lists those it takes.',
  unexpected_query: 'Remove the parameters. The reference of the endpoint lists those it takes.',
  invalid_field: 'Correct the fields in `errors`, then send the request again.',
  body_not_json: 'Send a JSON object, encoded in UTF-8, with Content-Type application/json.',
  body_not_object: 'Send a JSON object, such as {}.',
  restricted_operation: 'Leave this request out for accounts of this EMR.',
  restricted_field: 'Leave the field out for accounts of this EMR.',
  unsupported_field: 'Leave the field out for accounts of this EMR.',
  fixed_field: 'Leave the field out. Change it in the EMR, and start a sync.',
  operation_not_offered: 'Leave this request out for accounts of this EMR. GET /v1/settings lists what it supports.',
  referring_provider_not_found:
    'Send an EMR ID (ehr_id) from GET /v1/referring-providers. Start a sync if the provider is new.',
  provider_not_found: 'Send an EMR ID (ehr_id) from GET /v1/providers. Start a sync if the provider is new.',
  provider_inactive: 'Send another provider from GET /v1/providers, or set the status of this one to active.',
  location_not_found: 'Send an EMR ID (ehr_id) from GET /v1/locations. Start a sync if the location is new.',
  location_inactive: 'Send another location from GET /v1/locations, or set the status of this one to active.',
  staff_not_found: 'Send an EMR ID (ehr_id) from GET /v1/staff. Start a sync if the person is new.',
  pharmacy_not_found: 'Send an EMR ID (ehr_id) from GET /v1/pharmacies. Start a sync if the pharmacy is new.',
  record_not_found: 'Send an ID that this account can read. IDs belong to one organization and do not carry over.',
  record_unnamed: 'Send the ID of the record instead of its name.',
  route_not_found: 'Check method and path. The API reference lists all endpoints.',
  client_credentials_invalid:
    'Send the headers client_id and client_secret with a secret of this client that is not revoked.',
  client_secret_expired: 'Ask an owner for a new secret: in the dashboard, under Settings, Clients.',
  secret_not_permitted:
    'Use a secret that permits the request. An owner can create one in the dashboard, under Settings, Clients.',
  client_network_refused:
    'Send the request from an allowed network, or ask an owner to add the address: in the dashboard, under Settings, Clients.',
  client_certificate_required:
    'Present the certificate that is registered for the client in the TLS handshake. Its proxy must forward it.',
  client_certificate_refused:
    'Present the certificate that is registered for the client, or ask an owner to register this one: in the dashboard, under Settings, Clients.',
  access_token_missing: 'Send the header access_token with the token that the exchange of the public token returned.',
  access_token_invalid: 'Send the access_token of an account that this client has linked and not unlinked.',
  credentials_conflict: 'Send each credential header once.',
  callback_url_unregistered: 'Send a callback_url that is registered for the client, or register this one.',
  public_token_invalid: 'Run Link again. A public token can be exchanged once, within 30 minutes.',
  link_token_invalid: 'Create a new link token with POST /link/token/create.',
  first_sync_pending: 'Wait for the number of seconds in retry-after, then send the request again.',
  idempotency_key_invalid: 'Send one key, such as a UUID.',
  idempotency_key_running: 'Send the same request with the same key again in a second.',
  idempotency_key_reused: 'Send the request with a new key, or the first request again with this one.',
  approval_required: 'Wait until another operator has approved it, on the page Approvals.',
  operator_sign_in_again: 'Sign in again, then repeat the request.',
  legal_hold_active: 'Have the legal hold lifted first, if it no longer applies.',
  job_not_repeatable: 'Read the job. Only failed jobs can run again.',
  job_not_openable: 'Send a job that has finished and is about a patient of the sandbox’s practice.',
  sandbox_values_refused: 'Open /docs in a browser on that machine, or read sandbox.json there.',
  sandbox_client_required: 'Send the credentials in sandbox.json.',
  edited_copy_exists:
    'Read the job that the message names. Change what it creates, or send a new request if it was canceled.',
  document_type_unsupported: 'Convert the document to PDF, JPEG or PNG.',
  document_broken: 'Open the document and print it to a new PDF, then upload that.',
  document_too_large: 'Split the document, or reduce its resolution.',
  document_over_emr_limit: 'Split the document, or reduce its resolution.',
  event_streams_exceeded: 'Close a stream, or register a webhook endpoint.',
  internal: 'Send the request again later. If the error recurs, report the request_id.',
  uploads_busy: 'Wait for the number of seconds in retry-after, then send the document again.',
};

/** What to do about all other errors of a status. */
const by_status: Readonly<Record<number, string>> = {
  400: 'Correct the request as the message says, then send it again.',
  401: 'Sign in, or send valid credentials, then send the request again.',
  403: 'Ask someone who has the permission, or use credentials that have it.',
  404: 'Check the ID or the path.',
  405: 'Send one of the methods that the header Allow lists.',
  408: 'Send the request again over a faster connection.',
  409: 'Resolve what the message names, then send the request again.',
  410: 'Start again from the step that the message names.',
  413: 'Send a smaller body.',
  415: 'Send the body in a form that the message names.',
  422: 'Correct the request as the message says, then send it again.',
  429: 'Wait for the number of seconds in retry-after, then send the request again.',
  431: 'Send fewer or shorter headers.',
  500: 'Send the request again later. If the error recurs, report the request_id.',
  502: 'Check the configuration that the message names.',
  503: 'Wait for the number of seconds in retry-after, then send the request again.',
};

/** A sentence that says what to do about an error. */
export function findRemedy(code: ErrorCode): string {
  const remedy = by_code[code] ?? by_status[errors[code].status];
  if (remedy === undefined) throw new Error(`The status of ${code} has no remedy.`);
  return remedy;
}

/** The section about a code in the documentation that the service serves. */
export function errorDocUrl(base_url: string, code: ErrorCode): string {
  return `${base_url}/docs/reference/errors#${code}`;
}
