import { findAccountByToken } from '../accounts/accounts.ts';
import type { Client } from '../clients/clients.ts';
import type { Connector } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import { type ApiError, apiError } from '../errors.ts';
import type { LinkTokenRequest } from '../model/link.ts';
import { checkUrl, emrRules, syntaxRefusal } from '../security/addresses.ts';
import { addLinkToken, type LinkPurpose } from './linkTokens.ts';

type Organization = { connector: string; emr_address: string };

/** Validates a link request and creates its token. */
export async function createLinkToken(
  ctx: Context,
  tx: Tx,
  client: Client,
  request: LinkTokenRequest,
  created_in: LinkPurpose['created_in'] = 'api',
): Promise<string> {
  if (looksPersonal(request.user_id)) throw apiError('personal_user_id', undefined, { field: 'user_id' });
  const account_id = request.access_token === undefined ? null : await updatedAccount(ctx, client, request);
  const [organization] = await tx<Organization[]>`
    SELECT connector, emr_address FROM organizations WHERE org_id = ${request.org_id}`;
  const emr = organization ? existing(ctx, organization, request) : fresh(ctx, request);
  if (request.callback_url !== undefined && !client.callback_urls.includes(request.callback_url)) {
    throw apiError('callback_url_unregistered', undefined, { field: 'callback_url' });
  }
  return addLinkToken(tx, {
    client_id: client.id,
    user_id: request.user_id,
    org_id: request.org_id,
    ...emr,
    account_id,
    callback_url: request.callback_url ?? null,
    language: request.language ?? null,
    created_in,
  });
}

/**
 * Recognizes email addresses, and phone numbers by their format: seven to fifteen digits with `+`, spaces, dashes or
 * brackets, or the form 202.555.0143. Plain digits are a common form of ids.
 */
function looksPersonal(user_id: string): boolean {
  if (/\S@\S+\.\S/.test(user_id) || /^(1\.)?\d{3}\.\d{3}\.\d{4}$/.test(user_id)) return true;
  const digits = user_id.replace(/\D/g, '').length;
  return digits >= 7 && digits <= 15 && /^[+\d\s()[\].\p{Pd}]+$/u.test(user_id) && /[+\s()[\]\p{Pd}]/u.test(user_id);
}

async function updatedAccount(ctx: Context, client: Client, request: LinkTokenRequest): Promise<string> {
  const account = await findAccountByToken(ctx, request.access_token ?? '');
  const same =
    account?.client_id === client.id && account.user_id === request.user_id && account.org_id === request.org_id;
  if (!account || !same) throw apiError('update_mode_user_not_found', undefined, { field: 'access_token' });
  return account.id;
}

function existing(ctx: Context, organization: Organization, request: LinkTokenRequest): Organization {
  if (request.emr_name !== undefined && connectorNamed(ctx, request.emr_name).name !== organization.connector) {
    throw apiError('emr_name_mismatch', undefined, { field: 'emr_name' });
  }
  if (request.emr_instance_domain !== undefined) {
    const text = withScheme(request.emr_instance_domain);
    const rule = syntaxRefusal(text);
    if (rule !== undefined) throw invalidDomain(rule);
    if (normalized(new URL(text)) !== organization.emr_address) {
      throw apiError('emr_domain_mismatch', undefined, { field: 'emr_instance_domain' });
    }
  }
  return organization;
}

function fresh(ctx: Context, request: LinkTokenRequest): Organization {
  if (!request.emr_name) throw apiError('missing_field', { field: 'emr_name' }, { field: 'emr_name' });
  const connector = connectorNamed(ctx, request.emr_name);
  if (!request.emr_instance_domain) {
    throw apiError('missing_field', { field: 'emr_instance_domain' }, { field: 'emr_instance_domain' });
  }
  const checked = checkUrl(withScheme(request.emr_instance_domain), emrRules(ctx.config));
  if ('refused' in checked) throw invalidDomain(checked.refused);
  const rule = connector.refuseAddress(checked);
  if (rule !== undefined) throw invalidDomain(rule);
  return { connector: connector.name, emr_address: normalized(checked) };
}

function connectorNamed(ctx: Context, emr_name: string): Connector {
  const connector = ctx.connectors.get(emr_name.toLowerCase());
  if (connector) return connector;
  const supported = [...ctx.connectors.keys()].join(', ');
  throw apiError('emr_name_unknown', { emr_name, supported }, { field: 'emr_name' });
}

function invalidDomain(rule: string): ApiError {
  return apiError('emr_domain_invalid', { rule }, { field: 'emr_instance_domain' });
}

/** Otherwise as typed: the checks must see what the URL parser would silently change. */
function withScheme(domain: string): string {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(domain) ? domain : `https://${domain}`;
}

/** As stored: without trailing slashes. */
function normalized(url: URL): string {
  return url.href.replace(/\/+$/, '');
}
