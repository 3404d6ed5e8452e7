import type { IncomingHttpHeaders } from 'node:http';
import { type Account, findAccountByToken } from '../accounts/accounts.ts';
import { authenticateClient, type Client } from '../clients/clients.ts';
import type { Context } from '../context.ts';
import { refusal } from '../errors.ts';
import type { Endpoint } from './endpoint.ts';

export type Known = { client: Client | undefined; account: Account | undefined };

/** Who calls, by the three headers. An access token that is sent must be good, also where none is needed. */
export async function authenticate(ctx: Context, endpoint: Endpoint, headers: IncomingHttpHeaders): Promise<Known> {
  if (endpoint.auth === 'none') return { client: undefined, account: undefined };
  const client = await authenticateClient(ctx, header(headers, 'client_id'), header(headers, 'client_secret'));
  if (!client) throw refusal('client_credentials_invalid');
  const token = header(headers, 'access_token');
  if (token === undefined) {
    if (endpoint.auth === 'account') throw refusal('access_token_missing');
    return { client, account: undefined };
  }
  const account = await findAccountByToken(ctx, token);
  if (account?.client_id !== client.id) throw refusal('access_token_invalid');
  return { client, account };
}

/** Some proxies drop header names with underscores, so each has a twin with hyphens. */
function header(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name] ?? headers[name.replace('_', '-')];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
