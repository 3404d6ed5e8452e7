import type { IncomingHttpHeaders } from 'node:http';
import type { Static, TObject, TSchema } from 'typebox';
import type { Account } from '../accounts/accounts.ts';
import type { Client } from '../clients/clients.ts';
import type { Operator } from '../clients/operators.ts';
import type { OperationName } from '../connectors/connector.ts';
import type { AuditEntry, Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import type { ErrorCode } from '../errors.ts';
import type { EventType } from '../events.ts';
import type { NewJob } from '../jobs/enqueue.ts';
import type { LinkPurpose } from '../link/linkTokens.ts';
import type { OperatorRole } from '../model/dashboard/roles.ts';

/**
 * Who must be known before an endpoint answers: `link` is a person who was handed a link token, on the page that came
 * with it; `operator` is signed in at the dashboard, and with `operator_in_client` looks at the client that the path
 * names as `{client_id}`.
 */
export type Auth = 'none' | 'client' | 'account' | 'link' | 'operator' | 'operator_in_client';

/** A link token that is still good, and the client it was made for. */
export type OpenLink = { token: string; purpose: LinkPurpose };

type Caller<A extends Auth> = {
  client: A extends 'none' | 'operator' ? undefined : Client;
  account: A extends 'account' ? Account : undefined;
  link: A extends 'link' ? OpenLink : undefined;
  operator: A extends 'operator' | 'operator_in_client' ? Operator : undefined;
};
type Parsed<Schema extends TObject | undefined> = Schema extends TObject ? Static<Schema> : undefined;

export type EndpointRequest<
  A extends Auth,
  Body extends TObject | undefined,
  Query extends TObject | undefined,
  Params extends TObject | undefined,
> = Caller<A> & {
  ctx: Context;
  headers: IncomingHttpHeaders;
  body: Parsed<Body>;
  query: Parsed<Query>;
  params: Parsed<Params>;
  /** The file of a form, for endpoints that take one. */
  file: Buffer | undefined;
  /**
   * Tells the audit trail which patients the answer shows or the request is about, by MRN, and what else it is about
   * where the path does not say so. To be told before the record is left.
   */
  auditPatients: (mrns: Iterable<string | null | undefined>) => void;
  auditSubject: (what: Partial<Pick<AuditEntry, 'client_id' | 'subject' | 'job_id' | 'detail'>>) => void;
  /** Leaves the request's record in a transaction of the handler's own: the change and its record stand together. */
  recordInTransaction: (tx: Tx) => Promise<void>;
  /** The request's record, for handlers that store it with their own statement, as they do the key. */
  auditStatement: NewJob['auditStatement'];
  /** What the request's Idempotency-Key comes to, for handlers that store it with their own statement. */
  idempotency: NewJob['idempotency'];
  /**
   * Runs a change in one transaction of the client, with its record. With an Idempotency-Key the key is stored in the same
   * transaction, and a repeated request gets the first answer instead of a second change.
   */
  inTransaction: (work: (tx: Tx) => Promise<Record<string, unknown>>) => Promise<unknown>;
};

/** An answer that PostgreSQL has already put into words. */
export class JsonText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** An answer with headers of its own: a cookie, a file. A stream is sent as it comes. */
export class WithHeaders {
  readonly body: unknown;
  readonly headers: Record<string, string>;
  constructor(body: unknown, headers: Record<string, string>) {
    this.body = body;
    this.headers = headers;
  }
}

/** An answer that was given before, to an earlier request with the same Idempotency-Key. */
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
> = {
  id: string;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** As OpenAPI writes it: `/v1/jobs/{job_id}`. */
  path: string;
  auth: A;
  summary: string;
  /** What a reader must know beyond the summary. */
  description?: string;
  /** Answers also while the account's link is expired, so that a client can learn what happened. */
  while_expired?: boolean;
  /** false only where no health data is shown and nothing is changed: everything else is in the audit trail. */
  audited?: boolean;
  /** The least role of an operator; without it, whoever is signed in may read and an `operator` may change. */
  role?: OperatorRole;
  /** Asked by the page and never by a person, who may have left: it does not keep an operator's session open. */
  background?: true;
  /** What the account's EMR must have been found able to do, and what that is called. */
  needs?: { operation: OperationName; label: string };
  /** Exists in sandbox mode only. */
  sandbox?: boolean;
  body?: Body;
  /** The body is a multipart form, with a file in this part. */
  file_field?: string;
  query?: Query;
  params?: Params;
  response: TSchema;
  /** Beyond those that every endpoint of its kind can answer. */
  errors?: readonly ErrorCode[];
  /** The events in which an accepted request ends. */
  events?: readonly EventType[];
  /** Shown in the reference instead of what is composed from the schemas (see compose.ts). */
  example?: { body?: Parsed<Body>; query?: Parsed<Query>; params?: Parsed<Params>; answer?: Record<string, unknown> };
  /**
   * Where the reference's try-it finds a value that differs from one installation to the next: an endpoint and a place
   * in its answer, `GET /v1/locations#/locations/0/id`, or a place in what the sandbox tells the page, `sandbox#/…`.
   */
  found_in?: Record<string, string>;
  /** What the reference's try-it asks before it sends. */
  confirm?: string;
  handle: (request: EndpointRequest<A, Body, Query, Params>) => Promise<unknown>;
};

/** An endpoint once declared: the machine needs no more of its types than this. */
export type Endpoint = Omit<EndpointOptions<Auth, TObject, TObject, TObject>, 'handle' | 'example'> & {
  example?: Partial<Record<'body' | 'query' | 'params' | 'answer', Record<string, unknown>>>;
  handle: (request: never) => Promise<unknown>;
};

export function endpoint<
  A extends Auth,
  Body extends TObject | undefined = undefined,
  Query extends TObject | undefined = undefined,
  Params extends TObject | undefined = undefined,
>(options: EndpointOptions<A, Body, Query, Params>): Endpoint {
  // What the machine calls `handle` with was parsed by the very schemas its type is derived from.
  return options as unknown as Endpoint;
}
