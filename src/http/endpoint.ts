import type { IncomingHttpHeaders } from 'node:http';
import type { Static, TObject, TSchema } from 'typebox';
import type { ErrorCode } from '../catalog/errors.ts';
import type { FourEyesAction } from '../catalog/fourEyes.ts';
import type { OperatorRole } from '../catalog/roles.ts';
import type { OperationName } from '../emr/operations/operations.ts';
import type { EventType } from '../model/events.ts';
import type { Group } from '../model/groups.ts';
import type { EmbeddedFiles } from '../model/requests/documents.ts';
import type { Tx } from '../platform/db/database.ts';
import type { ClientScope } from '../platform/db/fragments.ts';
import type { Account } from '../product/accounts/accounts.ts';
import type { Client } from '../product/clients/clients.ts';
import type { AuditEntry, Context } from '../product/context.ts';
import type { NewJob } from '../product/jobs/enqueue.ts';
import type { AnyPurpose } from '../product/link/linkTokens.ts';
import type { PracticeSession } from '../product/link/practiceSessions.ts';
import type { RevealKind } from '../product/operators/operatorSessions.ts';
import type { Operator, PendingSetup } from '../product/operators/operators.ts';
import type { QuotaName } from './limits/quotas.ts';

/**
 * The interface an endpoint belongs to; its policy is in server.ts. `api` is the public API: it is documented, and its
 * requests are logged. `link_page` and `dashboard` serve our own pages and are not documented; `dashboard` requests are
 * not logged.
 */
export type Surface = 'api' | 'link_page' | 'dashboard';

/**
 * Required authentication. `client`: an application's credentials. `account`: also the access token of a linked
 * account. `link`: a link token. `practice`: a session of the practice page. `operator`: a dashboard session;
 * `operator_in_client` also resolves the path parameter `{client_id}`.
 */
export type Auth = 'none' | 'client' | 'account' | 'link' | 'practice' | 'operator' | 'operator_in_client';

/**
 * The maximum size of a JSON body, by authentication. Without authentication it is small, because anyone can send one;
 * the forms of Link contain up to four credentials of 8,000 characters.
 */
export const body_bytes_max: Record<Auth, number> = {
  none: 16_384,
  link: 131_072,
  practice: 16_384,
  client: 1_048_576,
  account: 1_048_576,
  operator: 1_048_576,
  operator_in_client: 1_048_576,
};

/** A valid link token and what it was created for. */
export type OpenLink = { token: string; purpose: AnyPurpose; expires_at: string };

/**
 * What an endpoint with `operator` authentication is about. `own`: the caller's own account, or nothing of a client; any
 * role may call it. `clients`: data of several clients, which the handler limits to `scope`. `installation`: requires an
 * operator with all clients.
 */
export type Reach = 'own' | 'clients' | 'installation';

type CallerFor<A extends Auth> = {
  client: A extends 'none' | 'operator' ? undefined : Client;
  account: A extends 'account' ? Account : A extends 'client' ? Account | undefined : undefined;
  link: A extends 'link' ? OpenLink : undefined;
  practice: A extends 'practice' ? PracticeSession : undefined;
  operator: A extends 'operator' | 'operator_in_client' ? Operator : undefined;
  /** The organization that the client's secret is limited to, for endpoints that check it themselves. */
  limited_to: A extends 'client' | 'account' ? string | undefined : undefined;
  /** The clients in which the operator has the endpoint's role. */
  scope: A extends 'operator' | 'operator_in_client' ? ClientScope : undefined;
};
type Parsed<Schema extends TObject | undefined> = Schema extends TObject ? Static<Schema> : undefined;

export type EndpointRequest<
  A extends Auth,
  Body extends TObject | undefined,
  Query extends TObject | undefined,
  Params extends TObject | undefined,
> = CallerFor<A> & {
  ctx: Context;
  headers: IncomingHttpHeaders;
  /** The IP address that the request came from. */
  address: string;
  body: Parsed<Body>;
  query: Parsed<Query>;
  params: Parsed<Params>;
  /** The uploaded files, for endpoints with `file_field` or `embedded_files`. */
  files: readonly Buffer[];
  /** Whether the caller would still be authenticated, for responses that do not end by themselves. */
  isStillAllowed: () => Promise<boolean>;
  /** Adds patients, by MRN, to the request's audit record. Call it before the record is stored. */
  auditPatients: (mrns: Iterable<string | null | undefined>) => void;
  /** Sets fields of the request's audit record that the path does not name. Call it before the record is stored. */
  auditSubject: (fields: Partial<Pick<AuditEntry, 'client_id' | 'subject' | 'job_id' | 'detail'>>) => void;
  /** Stores the audit record in the handler's own transaction, so that it commits together with the change. */
  recordInTransaction: (tx: Tx) => Promise<void>;
  /** The audit record as part of an SQL statement, for handlers that queue a job in a single statement. */
  auditStatement: NewJob['auditStatement'];
  /** The parsed Idempotency-Key, for handlers that store it in their own statement. */
  idempotency: NewJob['idempotency'];
  /**
   * Runs a change in one transaction together with its audit record and its Idempotency-Key. A repeated request gets
   * the first response instead of a second change.
   */
  inTransaction: <Result extends Record<string, unknown>>(
    work: (tx: Tx) => Promise<Result>,
  ) => Promise<Result | Replayed>;
};

/** A response body that PostgreSQL has already serialized. */
export class JsonText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** A response with additional headers, such as a cookie or a content type. The body may be a stream. */
export class WithHeaders {
  readonly body: unknown;
  readonly headers: Record<string, string | string[]>;
  constructor(body: unknown, headers: Record<string, string | string[]>) {
    this.body = body;
    this.headers = headers;
  }
}

/** The stored response to an earlier request with the same Idempotency-Key. */
export class Replayed {
  readonly body: unknown;
  constructor(body: unknown) {
    this.body = body;
  }
}

export type EndpointOptions<
  A extends Auth,
  Body extends TObject | undefined,
  Query extends TObject | undefined,
  Params extends TObject | undefined,
  Response extends TSchema = TSchema,
> = {
  id: string;
  surface: Surface;
  /** The group of the API reference; required for the `api` surface. */
  group?: Group;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** In OpenAPI notation: `/v1/jobs/{job_id}`. */
  path: string;
  auth: A;
  /** A short imperative phrase, such as "List patients". */
  summary: string;
  description?: string;
  /**
   * Offered to AI agents as a tool; a text is its name, where the rule gives an awkward one. Never for an endpoint that
   * returns a secret, decides where health data is sent, or ends the access to an EMR: a text in a chart could make a
   * model call it.
   */
  agent_tool?: true | string;
  /**
   * For `link` authentication: whether it takes the link tokens of the practice page, which link nothing. Default: no.
   */
  practice_page?: 'only' | 'too';
  /** An access token is optional and limits the response to its account. For endpoints with `client` authentication. */
  account_optional?: boolean;
  /** Also responds while the account needs to be re-linked, so that a client can find out what happened. */
  while_expired?: boolean;
  /** False only if no health data is shown and nothing is changed. All other requests are in the audit log. */
  audited?: boolean;
  /**
   * The minimum role of an operator. Default: `support` for GET, `operator` for other methods. To `support`, the response
   * contains only the declared fields, without the values of those marked with `patientDetail`.
   */
  role?: OperatorRole;
  /** For `operator` authentication. Default: `installation`. */
  reach?: Reach;
  /** The record whose patient details an operator can reveal (product/operators/operatorSessions.ts), and the parameter that names it. */
  reveals?: { kind: RevealKind; param: string };
  /** Also available to an operator who must do this first. Other endpoints are not. */
  while_pending?: readonly PendingSetup[];
  /**
   * The operator must have signed in, or confirmed their identity, in the last ten minutes: for what cannot be undone, and
   * for what decides who has access or where data goes. test/dashboard/freshSignIn.test.ts lists all that need it.
   */
  fresh_sign_in?: true;
  /**
   * With this action in FOUR_EYES, another operator with the same right must approve the request, which then runs as it
   * was sent (approvals.ts). test/dashboard/fourEyes.test.ts lists all that declare it.
   */
  second_person?: SecondPerson<Parsed<Body>>;
  /** Not for sessions of single sign-on: a password or passkey would be a way around the identity provider. */
  local_sign_in?: true;
  /** Not limited to DASHBOARD_NETWORKS, for what programs call from elsewhere. It must authenticate by itself. */
  from_anywhere?: true;
  /** Called by the page on its own, so it does not extend the operator's session. */
  background?: true;
  /**
   * What a request takes, in ordinary requests, from the allowances of its address (without authentication, or of the
   * practice page) and of its link. Default: 1.
   */
  cost?: number;
  /** What its requests count against in addition to the rate limit (limits/quotas.ts), because they cost more than others. */
  quota?: QuotaName;
  /** The operation that the account's EMR must support, and its name in the error message. */
  needs?: { operation: OperationName; label: string };
  /** The type of the job that it queues, if the job stores the request as it was sent. */
  job_type?: string;
  /** HEAD is not answered, because GET consumes or starts something. Streams do not answer it either. */
  head?: false;
  /** The response contains a token, key or secret, or a URL that may contain one: not compressed, and stored nowhere. */
  returns_secret?: true;
  /**
   * The limited client secrets that it may be called with; none unless declared. `read_only`: for what changes nothing
   * and returns no secret. `organization`: it needs an access token of the secret's organization, or the handler compares
   * the organization that the request names with `limited_to`.
   */
  limited_secrets?: { read_only?: true; organization?: 'by_access_token' | 'checked_by_handler' };
  /** The response is a stream of server-sent events, which has no end. */
  stream?: boolean;
  /** Available in sandbox mode only. */
  sandbox?: boolean;
  body?: Body;
  /** A POST that only reads, as a GET does: its filters are in the body. It takes no Idempotency-Key. */
  reads?: true;
  /** The body holds filters, as a query does: a blank one is rejected, because it must not return every record. */
  body_filters?: true;
  /** The body is a multipart form with a file in this field. */
  file_field?: string;
  /** The body is a form of the type application/x-www-form-urlencoded, whose undeclared fields are ignored. */
  url_encoded?: true;
  /** The body is JSON with files in base64, which are decoded while it arrives. */
  embedded_files?: EmbeddedFiles;
  query?: Query;
  params?: Params;
  response: Response;
  /** Errors beyond those common to all endpoints of this kind (see http/openapi/openApi.ts). */
  errors?: readonly ErrorCode[];
  /** The status of the response, where the interface wants another one than 200. */
  accepted_status?: 202;
  /** The events that report the outcome of an accepted request. */
  events?: readonly EventType[];
  /** Replaces the examples derived from the schemas (see http/openapi/composeExample.ts). */
  example?: { body?: Parsed<Body>; query?: Parsed<Query>; params?: Parsed<Params>; response?: Record<string, unknown> };
  /**
   * Where the reference's "Try it" form finds a value that differs between installations: an endpoint and a JSON
   * pointer into its response, `GET /v1/locations#/locations/0/id`, or a pointer into the sandbox values, `sandbox#/…`.
   */
  found_in?: Record<string, string>;
  /** The question the "Try it" form asks before it sends the request. */
  confirm?: string;
  handle: (
    request: EndpointRequest<A, Body, Query, Params>,
  ) => Promise<Returned<Static<Response>> | JsonText | WithHeaders | Replayed>;
};

/** A response as a handler returns it. TypeScript widens a handler's `success: true` before it compares the types. */
type Returned<Body> = Body extends { success: true } ? Omit<Body, 'success'> & { success: boolean } : Body;

/** An endpoint without the types of its parts, which the server does not need. */
export type Endpoint = Omit<
  EndpointOptions<Auth, TObject, TObject, TObject>,
  'handle' | 'example' | 'second_person'
> & {
  second_person?: SecondPerson;
  example?: Partial<Record<'body' | 'query' | 'params' | 'response', Record<string, unknown>>>;
  handle: (request: AnyRequest) => Promise<unknown>;
};

/** A request as the server sees it. The types of its parts are known to the endpoint, whose schemas have read them. */
export type AnyRequest = Omit<
  EndpointRequest<Auth, undefined, undefined, undefined>,
  keyof Caller | 'body' | 'query' | 'params'
> &
  Caller & { body: Fields | undefined; query: Fields; params: Fields };
type Fields = Record<string, unknown>;
type Caller = {
  client: Client | undefined;
  account: Account | undefined;
  link: OpenLink | undefined;
  practice: PracticeSession | undefined;
  operator: Operator | undefined;
  limited_to: string | undefined;
  scope: ClientScope | undefined;
};

export function endpoint<
  A extends Auth,
  Body extends TObject | undefined = undefined,
  Query extends TObject | undefined = undefined,
  Params extends TObject | undefined = undefined,
  Response extends TSchema = TSchema,
>(options: EndpointOptions<A, Body, Query, Params, Response> & Placement): Endpoint {
  // The server calls `handle` with values parsed by the same schemas that its type is derived from.
  return options as unknown as Endpoint;
}

export type SecondPerson<Body = Fields | undefined> = {
  action: FourEyesAction;
  /** Which requests need it. Default: all. */
  when?: (request: StoredRequest<Body>) => boolean | Promise<boolean>;
  /** Whom or what the request is about, for the operator who approves it. No health data. */
  describe?: (request: StoredRequest<Body>) => Promise<string | undefined>;
  /** The response contains a secret, so it runs only when the operator who requested it opens it. */
  returns_secret?: true;
};

/** A request before it has run. */
export type StoredRequest<Body = Fields | undefined> = {
  ctx: Context;
  operator: Operator;
  client: Client | undefined;
  params: Fields;
  query: Fields;
  body: Body;
};

/** Whether an endpoint only reads, so that repeating a request has no effect. */
export function isRead({ method, reads }: Pick<Endpoint, 'method' | 'reads'>): boolean {
  return method === 'GET' || reads === true;
}

/** Whether an endpoint takes an Idempotency-Key. A deletion takes none: repeating it has no further effect. */
export function acceptsKey(endpoint: Pick<Endpoint, 'method' | 'reads'>): boolean {
  return !isRead(endpoint) && endpoint.method !== 'DELETE';
}

/** How the body of an endpoint is read (validate.ts). */
export function bodyPart({ method, body_filters }: Pick<Endpoint, 'method' | 'body_filters'>) {
  if (body_filters) return 'filters';
  return method === 'PATCH' ? 'changes' : 'body';
}

type Placement = { surface: 'api'; group: Group } | { surface: 'link_page' | 'dashboard'; group?: never };
