import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { apiError } from '../../catalog/errors.ts';
import { hashCredential } from '../../platform/security/signatures.ts';
import { type Account, findAccountByToken } from '../../product/accounts/accounts.ts';
import { authenticateClient, type Client, findClient, findClientByPublicId } from '../../product/clients/clients.ts';
import type { SecretScope } from '../../product/clients/secrets.ts';
import type { Context } from '../../product/context.ts';
import { lookUpLink } from '../../product/link/linkTokens.ts';
import { findPracticeSession, type PracticeSession } from '../../product/link/practiceSessions.ts';
import { roleIn } from '../../product/operators/operatorAccess.ts';
import type { Operator } from '../../product/operators/operators.ts';
import type { Auth, Endpoint, OpenLink } from '../endpoint.ts';
import { authenticateOperator, readSessionCookie } from './authenticateOperator.ts';
import { readOrigin } from './origins.ts';

/** The authenticated caller of a request. */
export type Caller = {
  client: Client | undefined;
  account: Account | undefined;
  link: OpenLink | undefined;
  practice: PracticeSession | undefined;
  operator: Operator | undefined;
  /** What the client's secret permits. Absent: the caller sent none. */
  secret: SecretScope | undefined;
};

export const anonymous: Caller = {
  client: undefined,
  account: undefined,
  link: undefined,
  practice: undefined,
  operator: undefined,
  secret: undefined,
};

/** Identifies the caller by its headers. An access token must be valid even where none is required. */
export async function authenticate(ctx: Context, endpoint: Endpoint, request: FastifyRequest): Promise<Caller> {
  const { headers, params } = request;
  if (endpoint.auth === 'none') return anonymous;
  if (endpoint.auth === 'link') return authenticateLink(ctx, endpoint, header(headers, 'link_token'));
  if (endpoint.auth === 'practice') return authenticatePractice(ctx, header(headers, 'practice_session'));
  if (endpoint.auth === 'operator') {
    return { ...anonymous, operator: await authenticateOperator(ctx, endpoint, headers) };
  }
  if (endpoint.auth === 'operator_in_client') {
    const operator = await authenticateOperator(ctx, endpoint, headers);
    const { client_id = '' } = params as { client_id?: string };
    const client = await findClientByPublicId(ctx, client_id);
    // A client outside the operator's access does not exist for the operator.
    if (!client || !roleIn(operator, client.id)) throw apiError('record_not_found', { noun: 'Client', id: client_id });
    return { ...anonymous, operator, client };
  }
  const [id, sent] = [header(headers, 'client_id'), header(headers, 'client_secret')];
  const known = await authenticateClient(ctx, id, sent, readOrigin(ctx, request));
  if (!known) throw apiError('client_credentials_invalid');
  if ('refused' in known) {
    request.server.recordRefusal(endpoint, request, known);
    throw known.refused;
  }
  const { client, secret } = known;
  const token = header(headers, 'access_token');
  if (token === undefined) {
    if (endpoint.auth === 'account') throw apiError('access_token_missing');
    return { ...anonymous, client, secret };
  }
  const account = await findAccountByToken(ctx, token);
  if (account?.client_id !== client.id) throw apiError('access_token_invalid');
  return { ...anonymous, client, secret, account };
}

const token_headers: { [A in Auth]?: string[] } = { link: ['link_token'], practice: ['practice_session'] };

/** A hash of what identifies the caller, to recognize it later. */
export function hashCaller(
  ctx: Context,
  { auth }: Pick<Endpoint, 'auth'>,
  headers: IncomingHttpHeaders,
): string | undefined {
  const operator = auth === 'operator' || auth === 'operator_in_client';
  const names = token_headers[auth] ?? ['client_id', 'client_secret', 'access_token'];
  const values = operator
    ? [readSessionCookie(ctx, headers)]
    : names.map((name) => headerValues(headers, name).join() || undefined);
  if (values[0] === undefined) return undefined;
  return hashCredential(JSON.stringify(values)).toString('base64');
}

const link_errors = { expired: 'link_expired', used: 'link_used', exhausted: 'link_exhausted' } as const;

/** Each state of an unusable link token has its own error code, so that the page can explain it. */
async function authenticateLink(ctx: Context, endpoint: Endpoint, token: string | undefined): Promise<Caller> {
  const link = token === undefined ? undefined : await lookUpLink(ctx, token);
  const client = link && (await findClient(ctx, link.purpose.client_id));
  if (!token || !link || !client) throw apiError('link_unknown');
  const { state, purpose, expires_at } = link;
  const expected = purpose.created_in === 'practice_page' ? endpoint.practice_page : endpoint.practice_page !== 'only';
  if (!expected) throw apiError('link_unknown');
  if (state !== 'open') throw apiError(link_errors[state]);
  return { ...anonymous, client, link: { token, purpose, expires_at } };
}

async function authenticatePractice(ctx: Context, token: string | undefined): Promise<Caller> {
  const practice = token === undefined ? undefined : await findPracticeSession(ctx, token);
  const client = practice && (await findClient(ctx, practice.client_id));
  if (!client) throw apiError('practice_session_invalid');
  return { ...anonymous, client, practice };
}

function header(headers: IncomingHttpHeaders, name: string): string | undefined {
  const [value, other] = headerValues(headers, name);
  // Which of them is meant cannot be determined.
  if (other !== undefined) throw apiError('credentials_conflict', { header: name });
  return value;
}

/**
 * The different values of a header. Some proxies drop names with underscores, so the spelling with hyphens is accepted
 * too. Node and proxies join the values of a repeated header with commas, which no credential contains.
 */
function headerValues(headers: IncomingHttpHeaders, name: string): string[] {
  const value = headers[name];
  const with_hyphen = name.replace('_', '-');
  // Nearly every request has one value in one spelling.
  if (typeof value === 'string' && value !== '' && headers[with_hyphen] === undefined && !/[\s,]/.test(value)) {
    return [value];
  }
  const values = [value, headers[with_hyphen]].flat().flatMap((value) => value?.split(',') ?? []);
  return [...new Set(values.map((value) => value.trim()).filter((value) => value !== ''))];
}
