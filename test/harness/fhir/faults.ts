/** Server behaviors that last until they are changed. All of them exist in real servers. */
export type FaultSwitches = {
  /** Delay of every response. */
  latency_ms: number;
  /**
   * `cut`: a page of the requested length without a link to the rest. `whole`: everything at once, ignoring `_count`.
   */
  paging: 'links' | 'relative_links' | 'cut' | 'whole';
  /** Links to further pages use this origin, as servers behind a proxy do. */
  link_origin: string | undefined;
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
  create_response: 'resource' | 'brief' | 'empty' | 'empty_without_location' | 'outcome' | 'not_fhir';
  /** The second of two concurrent creates fails with 500 and is not performed. */
  one_create_at_a_time: boolean;
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
  /** Interactions that `metadata` omits and the server rejects, per type. `all`: the type is unknown. */
  withheld: Record<string, readonly Interaction[] | 'all'>;
  /** Whether identifiers of unknown systems are stored. */
  foreign_identifiers: boolean;
  /** Types that require search criteria, although `metadata` does not say so. */
  narrow: readonly string[];
  /** Types whose searches find nothing, as if an access policy hid all records. */
  hidden: readonly string[];
  /** Types that the token may not access, although `metadata` lists them. */
  forbidden: readonly string[];
};

export type Interaction = 'read' | 'search-type' | 'create' | 'update';

export const default_behavior: Readonly<FaultSwitches> = {
  latency_ms: 0,
  paging: 'links',
  link_origin: undefined,
  total: true,
  bundle_type: 'searchset',
  unknown_parameter: 'empty',
  useless_params: [],
  ignored_params: [],
  day_matches_nothing: false,
  etag: 'weak',
  versioning: 'versioned-update',
  create_response: 'resource',
  one_create_at_a_time: false,
  conditional_create: true,
  search_by_identifier: true,
  search_by_form: 'taken',
  token_life_s: 3600,
  token_uses_max: Number.POSITIVE_INFINITY,
  refresh_rotates: true,
  withheld: {},
  foreign_identifiers: true,
  narrow: [],
  hidden: [],
  forbidden: [],
};

/** A fault that occurs a number of times. `performed`: the request is performed and only the response is affected. */
export type Incident = {
  kind: keyof typeof fault_responses | 'reset' | 'hang' | 'truncated';
  /** Affects requests with this method and this text in their path and query. Without both, all requests. */
  method?: string;
  path?: string;
  times?: number;
  performed?: boolean;
};

export type HttpResponse = { status: number; headers: Record<string, string>; body: string | Buffer };

export function nextIncident(incidents: Incident[], method: string, path: string): Incident | undefined {
  const at = incidents.findIndex(
    (one) => (one.method ?? method) === method && path.includes(one.path ?? '') && (one.times ?? 1) > 0,
  );
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
  empty: { status: 200, headers: {}, body: '' },
  not_fhir: { status: 200, headers: { 'content-type': 'application/json' }, body: '{"ok":true}' },
  unauthorized: { status: 401, headers: { 'www-authenticate': 'Bearer error="invalid_token"' }, body: '' },
  forbidden: { status: 403, headers: {}, body: '' },
  redirect: { status: 302, headers: { location: 'http://127.0.0.1:9/elsewhere' }, body: '' },
} satisfies Record<string, HttpResponse>;
