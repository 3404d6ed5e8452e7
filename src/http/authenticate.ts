import type { IncomingHttpHeaders } from 'node:http';
import { type Account, findAccountByToken } from '../accounts/accounts.ts';
import { authenticateClient, type Client, findClient, findClientByPublicId } from '../clients/clients.ts';
import type { Operator } from '../clients/operators.ts';
import type { Context } from '../context.ts';
import { apiError } from '../errors.ts';
import { lookUpLink } from '../link/linkTokens.ts';
import { authenticateOperator } from './authenticateOperator.ts';
import type { Endpoint, OpenLink } from './endpoint.ts';

export type Known = {
  client: Client | undefined;
  account: Account | undefined;
  link: OpenLink | undefined;
  operator: Operator | undefined;
};

const nobody: Known = { client: undefined, account: undefined, link: undefined, operator: undefined };

/** Who calls, by the three headers. An access token that is sent must be good, also where none is needed. */
export async function authenticate(
  ctx: Context,
  endpoint: Endpoint,
  { headers, params }: { headers: IncomingHttpHeaders; params: unknown },
): Promise<Known> {
  if (endpoint.auth === 'none') return nobody;
  if (endpoint.auth === 'link') return authenticateLink(ctx, header(headers, 'link_token'));
  if (endpoint.auth === 'operator') return { ...nobody, operator: await authenticateOperator(ctx, endpoint, headers) };
  if (endpoint.auth === 'operator_in_client') {
    const operator = await authenticateOperator(ctx, endpoint, headers);
    const { client_id = '' } = params as { client_id?: string };
    const client = await findClientByPublicId(ctx, client_id);
    if (!client) throw apiError('record_not_found', { noun: 'Client', id: client_id });
    return { ...nobody, operator, client };
  }
  const client = await authenticateClient(ctx, header(headers, 'client_id'), header(headers, 'client_secret'));
  if (!client) throw apiError('client_credentials_invalid');
  const token = header(headers, 'access_token');
  if (token === undefined) {
    if (endpoint.auth === 'account') throw apiError('access_token_missing');
    return { ...nobody, client };
  }
  const account = await findAccountByToken(ctx, token);
  if (account?.client_id !== client.id) throw apiError('access_token_invalid');
  return { ...nobody, client, account };
}

const over = { expired: 'link_expired', used: 'link_used', exhausted: 'link_exhausted' } as const;

/** A link token stands for its client and for one purpose; what is not good any more is told apart, so as to be worded. */
async function authenticateLink(ctx: Context, token: string | undefined): Promise<Known> {
  const link = token === undefined ? undefined : await lookUpLink(ctx, token);
  const client = link && (await findClient(ctx, link.purpose.client_id));
  if (!token || !link || !client) throw apiError('link_unknown');
  if (link.state !== 'open') throw apiError(over[link.state]);
  return { ...nobody, client, link: { token, purpose: link.purpose } };
}

/** Some proxies drop header names with underscores, so each has a twin with hyphens. */
function header(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name] ?? headers[name.replace('_', '-')];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
