import { findAccountByToken } from '../accounts/accounts.ts';
import type { Client } from '../clients/clients.ts';
import type { Connector } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import { apiError } from '../errors.ts';
import type { LinkTokenRequest } from '../model/link.ts';
import { checkUrl } from '../security/addresses.ts';
import { addLinkToken, type LinkPurpose } from './linkTokens.ts';

type Organization = { connector: string; emr_address: string };

/** Validates a link request and creates its token. */
export async function createLinkToken(
  ctx: Context,
  tx: Tx,
  client: Client,
  request: LinkTokenRequest,
  made_in: LinkPurpose['made_in'] = 'api',
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
    made_in,
  });
}

/** Recognizes email addresses and phone numbers (seven to fifteen digits with punctuation). */
function looksPersonal(user_id: string): boolean {
  if (/\S@\S+\.\S/.test(user_id)) return true;
  const digits = user_id.replace(/\D/g, '').length;
  return /^\+?[\d\s().-]+$/.test(user_id) && digits >= 7 && digits <= 15 && /^\+|[\s().-]|^\d{10,11}$/.test(user_id);
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
  if (
    request.emr_instance_domain !== undefined &&
    addressOf(request.emr_instance_domain) !== organization.emr_address
  ) {
    throw apiError('emr_domain_mismatch', undefined, { field: 'emr_instance_domain' });
  }
  return organization;
}

function fresh(ctx: Context, request: LinkTokenRequest): Organization {
  if (!request.emr_name) throw apiError('missing_field', { field: 'emr_name' }, { field: 'emr_name' });
  const connector = connectorNamed(ctx, request.emr_name);
  if (!request.emr_instance_domain) {
    throw apiError('missing_field', { field: 'emr_instance_domain' }, { field: 'emr_instance_domain' });
  }
  const address = addressOf(request.emr_instance_domain);
  const checked = checkUrl(address, { sandbox: ctx.config.sandbox, allow: ctx.config.outbound_allow });
  const rule = checked instanceof URL ? connector.refuseAddress(checked) : checked.refused;
  if (rule !== undefined) throw apiError('emr_domain_invalid', { rule }, { field: 'emr_instance_domain' });
  return { connector: connector.name, emr_address: address };
}

function connectorNamed(ctx: Context, emr_name: string): Connector {
  const connector = ctx.connectors.get(emr_name.toLowerCase());
  if (connector) return connector;
  const supported = [...ctx.connectors.keys()].join(', ');
  throw apiError('emr_name_unknown', { emr_name, supported }, { field: 'emr_name' });
}

/** The normalized address: https if no scheme is given, without trailing slashes. */
function addressOf(domain: string): string {
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(domain) ? domain : `https://${domain}`;
  return (URL.canParse(text) ? new URL(text).href : text).replace(/\/+$/, '');
}
