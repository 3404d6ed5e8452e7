/** Ways of a server that stand until they are set otherwise. All of them were met in the wild. */
export type FaultSwitches = {
  /** Every answer waits this long. */
  latency_ms: number;
  /** `cut`: a page as long as asked for, without a link to the rest. `whole`: everything at once, whatever `_count` says. */
  paging: 'links' | 'relative_links' | 'cut' | 'whole';
  /** Links to further pages name this origin instead of ours, as servers behind a proxy do. */
  link_origin: string | undefined;
  total: boolean;
  bundle_type: 'searchset' | 'collection';
  /** What becomes of a search by a parameter that `metadata` does not list. */
  unknown_parameter: 'empty' | 'refuse' | 'ignore';
  /** A day in a date parameter finds nothing; a range does. */
  day_matches_nothing: boolean;
  /** `W/"1"` is what FHIR asks for; `strong` servers send `"1"` and refuse the weak form. */
  etag: 'weak' | 'strong' | 'none';
  /** `versioned-update`: an update must name the version it changes. */
  versioning: 'versioned-update' | 'versioned' | 'no-version';
  create_answer: 'resource' | 'brief' | 'empty' | 'empty_without_location' | 'outcome' | 'not_fhir';
  /** Two creates at once: the second fails with 500 and is not performed. */
  one_create_at_a_time: boolean;
  conditional_create: boolean;
  search_by_identifier: boolean;
  /** `POST Patient/_search`: as FHIR has it, unknown, with the body unread, which finds everyone, or nobody (`unheard`). */
  search_by_form: 'taken' | 'unknown' | 'unread' | 'unheard';
  /** What a token says of its life, and how many requests it really lives. */
  token_life_s: number;
  token_uses_max: number;
  /** A refresh gives a new refresh token and ends the old one. */
  refresh_rotates: boolean;
  /** Interactions that `metadata` leaves out and the server refuses, per type; `all` of a type it does not know. */
  withheld: Record<string, readonly Interaction[] | 'all'>;
  /** Whether identifiers of systems that the practice did not set up are kept. */
  foreign_identifiers: boolean;
  /** Types that are given only to who asks for something more particular, although `metadata` does not say so. */
  narrow: readonly string[];
  /** Types that the token may not touch, although `metadata` lists them. */
  forbidden: readonly string[];
};

export type Interaction = 'read' | 'search-type' | 'create' | 'update';

export const honest: Readonly<FaultSwitches> = {
  latency_ms: 0,
  paging: 'links',
  link_origin: undefined,
  total: true,
  bundle_type: 'searchset',
  unknown_parameter: 'empty',
  day_matches_nothing: false,
  etag: 'weak',
  versioning: 'versioned-update',
  create_answer: 'resource',
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
  forbidden: [],
};

/** Something that goes wrong a number of times. `performed`: only the answer is spoilt, what was asked for is done. */
export type Incident = {
  kind: keyof typeof spoilt | 'reset' | 'hang' | 'truncated';
  /** Requests of this method and with this text in their path and query; all, where neither is given. */
  method?: string;
  path?: string;
  times?: number;
  performed?: boolean;
};

export type Answer = { status: number; headers: Record<string, string>; body: string | Buffer };

export function takeIncident(incidents: Incident[], method: string, path: string): Incident | undefined {
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

/** What is answered instead. */
export const spoilt = {
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
} satisfies Record<string, Answer>;
