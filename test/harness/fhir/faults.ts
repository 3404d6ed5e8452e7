import type { BulkSwitches } from './bulkSwitches.ts';
import type { VendorName } from './vendors/vendors.ts';

/** Server behaviors that last until they are changed. All of them exist in real servers. */
export type FaultSwitches = {
  /** Lists, refuses and pages like this vendor's servers. */
  vendor: VendorName | undefined;
  /** Delay of every response. */
  latency_ms: number;
  /**
   * `cut`: a page of the requested length without a link to the rest. `whole`: everything at once, ignoring `_count`.
   */
  paging: 'links' | 'relative_links' | 'cut' | 'whole';
  /** Links to further pages use this origin, as servers behind a proxy do. */
  link_origin: string | undefined;
  /** The longest page, whatever `_count` asks for. */
  page_rows_max: number;
  total: boolean;
  bundle_type: 'searchset' | 'collection';
  /** How a search by a parameter that `metadata` does not list is handled. */
  unknown_parameter: 'empty' | 'refuse' | 'ignore';
  /** Parameters that find nothing, whether `metadata` lists them or not: `_count`, `identifier`. */
  useless_params: readonly string[];
  /** Declared parameters that are ignored, so that a search finds everything. */
  ignored_params: readonly string[];
  /** A plain date finds nothing, a range does. */
  day_matches_nothing: boolean;
  /** FHIR requires `W/"1"`. `strong` servers send `"1"` and reject the weak form. */
  etag: 'weak' | 'strong' | 'none';
  /** `versioned-update`: an update must name the version it changes. */
  versioning: 'versioned-update' | 'versioned' | 'no-version';
  create_response: 'resource' | 'brief' | 'empty' | 'empty_without_location' | 'outcome' | 'not_fhir' | 'own_format';
  /** Reads of an unknown id: as the standard says, or 404 with `[]`, and 400 with `validationErrors` for a malformed one. */
  missing_ids: 'outcome' | 'own_format';
  /** Updates of a record whose address has a period fail with 500, although the server adds it itself. */
  fails_on_periods: boolean;
  /** The second of two concurrent creates fails with 500 and is not performed. */
  one_create_at_a_time: boolean;
  /** More writes at the same time are rejected with 429. */
  writes_at_once_max: number;
  conditional_create: boolean;
  search_by_identifier: boolean;
  /**
   * `POST Patient/_search`: supported, unknown, with the body ignored so that it finds everyone, or nobody (`unheard`).
   */
  search_by_form: 'taken' | 'unknown' | 'unread' | 'unheard';
  /** The declared lifetime of a token, and how many requests it really lasts. */
  token_life_s: number;
  token_uses_max: number;
  /** A refresh returns a new refresh token and ends the old one. */
  refresh_rotates: boolean;
  /** An ended refresh token that is sent again is refused, or also ends everything issued since the sign-in. */
  refresh_reuse: 'refused' | 'ends_sign_in';
  /** Interactions that `metadata` omits and the server rejects, per type. `all`: the type is unknown. */
  withheld: Record<string, readonly Interaction[] | 'all'>;
  /** Whether identifiers of unknown systems are stored. */
  foreign_identifiers: boolean;
  /** Whether extensions other than those of US Core are stored. */
  foreign_extensions: boolean;
  /** Types that require search criteria, although `metadata` does not say so. */
  narrow: readonly string[];
  /** Types whose searches find nothing, as if an access policy hid all records. */
  hidden: readonly string[];
  /** Types that the token may not access, although `metadata` lists them. */
  forbidden: readonly string[];
  /** Whether references to records that do not exist are rejected. */
  checks_references: boolean;
  /** The status with which writes are refused although `metadata` lists them, per type. */
  refused_writes: Record<string, { create?: number; update?: number }>;
  /**
   * `client`: the server ignores the slots of an appointment. `server`: it marks them as busy and refuses busy ones.
   * `bound`: it also takes exactly one slot, and only the patient as a participant.
   */
  slots_kept_by: 'client' | 'server' | 'bound';
  /** Appointments are booked by `$find` and `$book` (Argonaut Scheduling), and not created. */
  books_offers: boolean;
  /** Larger bodies are rejected with 413 by a proxy: of JSON, and of files in raw form. */
  json_bytes_max: number;
  raw_bytes_max: number;
  /** A Binary in raw form: taken, or rejected because its body is no resource. */
  raw_binaries: boolean;
  /** Whether `metadata` names the profiles of US Core. */
  us_core: boolean;
  /** The types with `$validate`. */
  validates: readonly string[];
  /** Search parameters that `metadata` omits, per type. */
  withheld_params: Record<string, readonly string[]>;
  /** HTTP Basic credentials: form-decoded as RFC 6749 says, taken as they are, or refused in favor of the body. */
  basic_credentials: 'decoded' | 'verbatim' | 'refused';
  /** The ways in which discovery lets clients authenticate. */
  auth_methods: readonly string[];
  /** Client assertions must have the header `typ: "JWT"`, as SMART requires. */
  assertions_need_type: boolean;
  /** A token for a service itself is only issued to a signed assertion, although discovery lists secrets. */
  services_need_key: boolean;
  /**
   * `plain`: `invalid_client`. `described`: 400 `invalid_request` with a text that says what is wrong. `hinted`: the same
   * with the standard's phrase as text, and a field `hint` that says it.
   */
  client_errors: 'plain' | 'described' | 'hinted';
  /** Tokens for a service carry an ID token that was not requested, in an algorithm that discovery does not list. */
  unasked_id_token: boolean;
  /** The `nonce` of ID tokens: the one that was sent, one in any case, or none. */
  nonce: 'sent' | 'always' | 'never';
  /** No ID tokens, although `openid` is listed. */
  no_id_token: boolean;
  /** `nested`: lists inside lists. `mistyped`: fields of the wrong type, numbers among texts. */
  discovery: 'plain' | 'nested' | 'mistyped';
  /** The scopes that discovery lists. */
  scopes: readonly string[];
  /** `all_or_nothing`: a request that contains an unlisted scope is refused. `registered_only`: so is any named scope. */
  scope_policy: 'any' | 'all_or_nothing' | 'registered_only';
  /** Types that are changed by JSON Patch only. */
  patched: readonly string[];
  /** The only scopes that are granted, whatever discovery lists. */
  granted_scopes?: readonly string[];
  /** Bulk exports. Absent: none. */
  bulk?: BulkSwitches;
};

export type Interaction = 'read' | 'search-type' | 'create' | 'update';

export const default_behavior: Readonly<FaultSwitches> = {
  vendor: undefined,
  latency_ms: 0,
  paging: 'links',
  link_origin: undefined,
  page_rows_max: 200,
  total: true,
  bundle_type: 'searchset',
  unknown_parameter: 'empty',
  useless_params: [],
  ignored_params: [],
  day_matches_nothing: false,
  etag: 'weak',
  versioning: 'versioned-update',
  create_response: 'resource',
  missing_ids: 'outcome',
  fails_on_periods: false,
  one_create_at_a_time: false,
  writes_at_once_max: Number.POSITIVE_INFINITY,
  conditional_create: true,
  search_by_identifier: true,
  search_by_form: 'taken',
  token_life_s: 3600,
  token_uses_max: Number.POSITIVE_INFINITY,
  refresh_rotates: true,
  refresh_reuse: 'refused',
  withheld: {},
  foreign_identifiers: true,
  foreign_extensions: true,
  narrow: [],
  hidden: [],
  forbidden: [],
  checks_references: true,
  refused_writes: {},
  slots_kept_by: 'client',
  books_offers: false,
  json_bytes_max: Number.POSITIVE_INFINITY,
  raw_bytes_max: Number.POSITIVE_INFINITY,
  raw_binaries: true,
  us_core: true,
  validates: [],
  withheld_params: {},
  basic_credentials: 'decoded',
  auth_methods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
  assertions_need_type: false,
  services_need_key: false,
  client_errors: 'plain',
  unasked_id_token: false,
  nonce: 'sent',
  no_id_token: false,
  discovery: 'plain',
  scopes: ['openid', 'fhirUser', 'offline_access', 'user/*.*', 'system/*.*'],
  scope_policy: 'any',
  patched: [],
};

export function refusesScope({ scope_policy, scopes, granted_scopes }: FaultSwitches, scope: string): boolean {
  const requested = scope.split(' ').filter(Boolean);
  if (granted_scopes && !requested.every((each) => granted_scopes.includes(each))) return true;
  if (scope_policy === 'registered_only') return requested.length > 0;
  return scope_policy === 'all_or_nothing' && !requested.every((each) => scopes.includes(each));
}

/** A fault that occurs a number of times. `performed`: the request is performed and only the response is affected. */
export type Incident = {
  kind: keyof typeof fault_responses | 'reset' | 'hang' | 'truncated';
  /** Affects requests with this method and this text in their path and query. Without both, all requests. */
  method?: string;
  path?: string;
  /** The whole path and query must be `path`: a create, for example, and not a search by form. */
  exact?: boolean;
  times?: number;
  performed?: boolean;
};

export type HttpResponse = { status: number; headers: Record<string, string>; body: string | Buffer };

export function nextIncident(incidents: Incident[], method: string, path: string): Incident | undefined {
  const matches = (one: Incident) => (one.exact ? path === one.path : path.includes(one.path ?? ''));
  const at = incidents.findIndex((one) => (one.method ?? method) === method && matches(one) && (one.times ?? 1) > 0);
  const incident = incidents[at];
  if (!incident) return undefined;
  incident.times = (incident.times ?? 1) - 1;
  if (incident.times === 0) incidents.splice(at, 1);
  return incident;
}

const html = { 'content-type': 'text/html; charset=utf-8' };
const fhir = { 'content-type': 'application/fhir+json' };

/** The response sent instead. */
export const fault_responses = {
  error_500: { status: 500, headers: fhir, body: '{"resourceType":"OperationOutcome","issue":[]}' },
  error_503: { status: 503, headers: {}, body: '' },
  too_many: { status: 429, headers: {}, body: '' },
  too_many_retry_after: { status: 429, headers: { 'retry-after': '1' }, body: '' },
  html_500: { status: 502, headers: html, body: '<!doctype html><title>Bad gateway</title><h1>Bad gateway</h1>' },
  html_200: { status: 200, headers: html, body: '<!doctype html><title>Maintenance</title><h1>Back soon</h1>' },
  too_large: { status: 413, headers: html, body: '<html><title>413 Request Entity Too Large</title></html>' },
  empty: { status: 200, headers: {}, body: '' },
  not_fhir: { status: 200, headers: { 'content-type': 'application/json' }, body: '{"ok":true}' },
  unauthorized: { status: 401, headers: { 'www-authenticate': 'Bearer error="invalid_token"' }, body: '' },
  forbidden: { status: 403, headers: {}, body: '' },
  invalid: {
    status: 422,
    headers: fhir,
    body: '{"resourceType":"OperationOutcome","issue":[{"severity":"error","code":"invalid"}]}',
  },
  invalid_scope: {
    status: 400,
    headers: { 'content-type': 'application/json' },
    body: '{"error":"invalid_scope"}',
  },
  collision: {
    status: 409,
    headers: fhir,
    body: '{"resourceType":"OperationOutcome","issue":[{"severity":"error","code":"conflict","details":{"text":"could not serialize access due to concurrent update"}}]}',
  },
  conflict: {
    status: 409,
    headers: fhir,
    body: '{"resourceType":"OperationOutcome","issue":[{"severity":"error","code":"conflict"}]}',
  },
  redirect: { status: 302, headers: { location: 'http://127.0.0.1:9/elsewhere' }, body: '' },
} satisfies Record<string, HttpResponse>;
