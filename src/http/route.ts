import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { TObject } from 'typebox';
import { ApiError, apiError } from '../catalog/errors.ts';
import { hashToken } from '../platform/security/signatures.ts';
import type { Context } from '../product/context.ts';
import { requireSecondPerson } from './approvals.ts';
import { anonymous, authenticate, type Caller, hashCaller } from './auth/authenticate.ts';
import { requireFreshSignIn, requireRole, requireSetup } from './auth/authenticateOperator.ts';
import { requirePermittedSecret } from './auth/limitedSecrets.ts';
import {
  acceptUrlEncoded,
  type Form,
  type FormLimiter,
  leaveJsonUnread,
  readForm,
  requireReadableBody,
} from './bodies.ts';
import { json_type, prepareRead, sendRead } from './conditional.ts';
import { readEmbeddedFiles } from './embeddedFiles.ts';
import {
  type AnyRequest,
  acceptsKey,
  body_bytes_max,
  bodyPart,
  type Endpoint,
  JsonText,
  Replayed,
  WithHeaders,
} from './endpoint.ts';
import { showToOperator } from './hidePatients.ts';
import { readIdempotencyKey, runOnce } from './idempotency.ts';
import type { AddressLimit } from './limits/addressLimit.ts';
import type { Streams } from './limits/connections.ts';
import { isDryRun, type QuotaLimiter, quotaBodyMax } from './limits/quotas.ts';
import { applyRateLimit, type RateLimiter } from './limits/rateLimit.ts';
import { createRequestAudit, recordResponse } from './requestAudit.ts';
import { reader, rejectUnstorable, withErrors } from './validate.ts';

type Limits = {
  limit: RateLimiter;
  limitLink: RateLimiter;
  limitQuota: QuotaLimiter;
  limitForms: FormLimiter;
  address_limit: AddressLimit;
  streams: Streams;
};

/** How long after its headers a request is still admitted by them. */
const admitted_for_ms = 500;

const no_fields = { type: 'object', properties: {} } as TObject;

/** Serves one declared endpoint. */
export function addRoute(ctx: Context, server: FastifyInstance, endpoint: Endpoint, limits: Limits): void {
  const { admit, admitAgain } = createAdmission(ctx, endpoint, limits);
  const readParts = partsReader(endpoint);
  const body_max = quotaBodyMax(endpoint) ?? body_bytes_max[endpoint.auth];
  const readFiles = filesReader(endpoint, body_max);
  const respond = async (request: FastifyRequest, reply: FastifyReply, form: Form | undefined) => {
    await admitAgain(request);
    const parts = readParts(request, form);
    await requireSecondPerson(ctx, endpoint, request, parts);
    const response = await endpoint.handle(handlerRequest(ctx, endpoint, request, parts));
    if (endpoint.accepted_status && !isDryRun(request.method, request.query)) reply.status(endpoint.accepted_status);
    const shown = await showToOperator(ctx, endpoint, request, response);
    const read = prepareRead(endpoint, request, shown);
    await recordResponse(ctx, request, read?.not_modified ? 304 : reply.statusCode);
    if (read) return sendRead(reply, read);
    if (shown instanceof WithHeaders && shown.body instanceof Readable) {
      limits.streams.add(shown.body, request.caller?.client?.id);
    }
    return send(reply, shown);
  };
  const route: RouteOptions = {
    method: endpoint.method,
    url: endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    config: { endpoint, address_limiting: endpoint.auth === 'none' ? 'every_request' : 'failures' },
    exposeHeadRoute: endpoint.head !== false && !endpoint.stream,
    bodyLimit: body_max,
    // Runs before the body is read: an unauthenticated request costs a lookup, not a parse.
    onRequest: admit,
    handler: async (request, reply) => {
      if (!readFiles) return respond(request, reply, undefined);
      const client_id = request.caller?.client?.id ?? '';
      return limits.limitForms(client_id, request, async () => respond(request, reply, await readFiles(request)));
    },
  };
  if (endpoint.embedded_files === undefined && !endpoint.url_encoded) server.route(route);
  else
    server.register(async (scope) => {
      if (endpoint.url_encoded) acceptUrlEncoded(scope, Object.keys(endpoint.body?.properties ?? {}));
      else leaveJsonUnread(scope);
      scope.route(route);
    });
}

/** How a body with files is read; undefined for other bodies. */
function filesReader(endpoint: Endpoint, body_max: number): ((request: FastifyRequest) => Promise<Form>) | undefined {
  const { file_field, embedded_files } = endpoint;
  if (file_field !== undefined) return (request) => readForm(request, file_field);
  if (embedded_files === undefined) return undefined;
  const sizes = { body_bytes_max: body_max, json_bytes_max: body_bytes_max[endpoint.auth] };
  return (request) => readEmbeddedFiles(request, embedded_files, sizes);
}

/** Identifies the caller and checks what they may do: with the headers, and again after a body that took long. */
function createAdmission(ctx: Context, endpoint: Endpoint, { limit, limitLink, limitQuota, address_limit }: Limits) {
  const identify = async (request: FastifyRequest) => {
    request.admitted_ms = performance.now();
    request.caller =
      endpoint.auth === 'none'
        ? anonymous
        : await address_limit.authenticate(request, hashCaller(ctx, endpoint, request.headers), () =>
            authenticate(ctx, endpoint, request),
          );
    return request.caller;
  };
  return {
    admit: async (request: FastifyRequest, reply: FastifyReply) => {
      const caller = await identify(request);
      const audit = createRequestAudit(ctx, request, caller);
      if (audit) request.audit = audit;
      requireRights(ctx, endpoint, request, caller);
      // Neither an operator nor a person who opens Link or the practice page may use up the limits of the application.
      const { operator, link, practice, client } = caller;
      const application = operator || link || practice ? undefined : client;
      if (isAtPracticePage(caller)) await address_limit.count(request, endpoint.cost ?? 1);
      // Those of the practice page too: whoever has many addresses could have the EMR asked as often.
      if (link) applyRateLimit(reply, limitLink(hashToken(link.token).toString('hex'), endpoint.cost));
      if (application) applyRateLimit(reply, limit(application.id));
      requireAccount(endpoint, caller);
      if (application) limitQuota(request, reply, endpoint, application.id);
      if (endpoint.method !== 'GET') requireReadableBody(request.headers);
    },
    /** A body may take half a minute to arrive. What was revoked meanwhile does not count for the request. */
    admitAgain: async (request: FastifyRequest) => {
      if (performance.now() - (request.admitted_ms ?? 0) < admitted_for_ms) return;
      const caller = await identify(request);
      requireRights(ctx, endpoint, request, caller);
      requireAccount(endpoint, caller);
    },
  };
}

/** A sign-in of the page can be started by anyone who knows its address. */
function isAtPracticePage({ practice, link }: Caller): boolean {
  return practice !== undefined || link?.purpose.created_in === 'practice_page';
}

function requireRights(ctx: Context, endpoint: Endpoint, request: FastifyRequest, caller: Caller): void {
  const { operator, client } = caller;
  requirePermittedSecret(endpoint, caller);
  if (!operator) return;
  requireSetup(ctx, endpoint, operator);
  request.scope = requireRole(endpoint, operator, client);
  requireFreshSignIn(endpoint, operator);
}

function requireAccount(endpoint: Endpoint, { account }: Caller): void {
  const expired = account?.status === 'login_required';
  if (expired && endpoint.auth === 'account' && !endpoint.while_expired) throw apiError('login_required');
  const { needs } = endpoint;
  // Null means everything the connector supports. A list it does not support at all is empty, not an error.
  if (needs && account?.capabilities?.includes(needs.operation) === false) {
    throw apiError('operation_not_offered', { operation: needs.label });
  }
}

type Parts = Pick<AnyRequest, 'body' | 'query' | 'params' | 'files' | 'idempotency'>;

/** Reads what a request consists of, by the endpoint's schemas. */
function partsReader(endpoint: Endpoint): (request: FastifyRequest, form: Form | undefined) => Parts {
  const readBody = endpoint.method === 'GET' ? undefined : reader(endpoint.body ?? no_fields, bodyPart(endpoint));
  const readQuery = reader(endpoint.query ?? no_fields, 'query');
  return (request, form) => {
    const raw_query = request.query as Record<string, unknown>;
    const params = request.params as Record<string, unknown>;
    rejectUnstorable(raw_query);
    rejectUnstorable(params);
    const { query, body } = readAll({
      query: () => readQuery(raw_query),
      body: () => readBody?.(readRawBody(request, form)),
    });
    const { client, account, operator, link, practice } = request.caller ?? anonymous;
    // The keys of a client are its application's: a person who sent the same one would get the response to another request.
    const is_person = operator ?? link ?? practice;
    const idempotency =
      acceptsKey(endpoint) && !is_person
        ? readIdempotencyKey(idempotencyKeys(request), account?.id ?? client?.id, {
            endpoint: endpoint.id,
            params,
            body: withHashes(body, form),
          })
        : undefined;
    return { body, query, params, files: form?.files ?? [], idempotency };
  };
}

type Read = { query: () => Parts['query']; body: () => Parts['body'] };

/** Reads both parts. If the first is not valid, the error also lists what is wrong with the second. */
function readAll(read: Read): Pick<Parts, 'query' | 'body'> {
  const errors: ApiError[] = [];
  const attempt = <T>(readPart: () => T): T | undefined => {
    try {
      return readPart();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      errors.push(error);
      return undefined;
    }
  };
  const [query = {}, body] = [attempt(read.query), attempt(read.body)];
  const [first] = errors;
  if (first) throw first.errors ? withErrors(first, errors) : first;
  return { query, body };
}

/** What the handler is called with. */
function handlerRequest(ctx: Context, endpoint: Endpoint, request: FastifyRequest, parts: Parts): AnyRequest {
  const { client, account, link, practice, operator, secret } = request.caller ?? anonymous;
  const { audit } = request;
  const recordInTransaction = audit?.recordInTransaction ?? (async () => {});
  return {
    ctx,
    headers: request.headers,
    address: request.ip,
    client,
    account,
    link,
    practice,
    operator,
    limited_to: secret?.org_id ?? undefined,
    scope: request.scope,
    ...parts,
    isStillAllowed: () =>
      authenticate(ctx, endpoint, request).then(
        () => true,
        () => false,
      ),
    auditPatients: audit?.auditPatients ?? (() => {}),
    auditSubject: audit?.auditSubject ?? (() => {}),
    auditStatement: audit?.auditStatement,
    recordInTransaction,
    inTransaction: (work) =>
      runOnce(ctx, client?.id ?? '', parts.idempotency, async (tx) => {
        const result = await work(tx);
        await recordInTransaction(tx);
        return result;
      }),
  };
}

/** As sent: Node joins the values of a repeated header. */
function idempotencyKeys({ headers, raw }: FastifyRequest): readonly string[] | undefined {
  return headers['idempotency-key'] === undefined ? undefined : raw.headersDistinct['idempotency-key'];
}

function readRawBody(request: FastifyRequest, form: Form | undefined): Record<string, unknown> {
  if (form) return form.fields;
  // The form parser is registered for all routes but only meant for endpoints with `file_field`.
  if (request.isMultipart()) throw apiError('media_type_unsupported', { expected: 'application/json' });
  const body = request.body === undefined ? {} : request.body;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw apiError('body_not_object');
  return body as Record<string, unknown>;
}

function send(reply: FastifyReply, response: unknown): FastifyReply {
  // As bytes: Node would count the characters of a text first and encode it into a buffer three times its size.
  if (response instanceof JsonText) return reply.type(json_type).send(Buffer.from(response.text));
  if (response instanceof Replayed) return reply.header('idempotency-replayed', 'true').send(response.body);
  if (response instanceof WithHeaders) return reply.headers(response.headers).send(response.body);
  return reply.send(response);
}

/** The body with what its files contain. */
function withHashes(body: Parts['body'], form: Form | undefined): unknown {
  const [file, ...others] = (form?.files ?? []).map((content) => createHash('sha256').update(content).digest('hex'));
  return file === undefined ? (body ?? null) : { ...body, file, ...(others.length > 0 && { files: others }) };
}
