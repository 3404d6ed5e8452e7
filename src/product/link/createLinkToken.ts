import { findAccountByToken } from '../accounts/accounts.ts';
import { type EmrApp, findEmrApp } from '../accounts/emrApps.ts';
import { type ApiError, apiError } from '../../catalog/errors.ts';
import { parseId } from '../../catalog/ids.ts';
import type { Client } from '../clients/clients.ts';
import type { Connector } from '../../emr/connector.ts';
import { matchHost } from '../../emr/endpointPins.ts';
import type { Context } from '../context.ts';
import type { Tx } from '../../platform/db/database.ts';
import type { LinkTokenRequest } from '../../model/link.ts';
import { chooseEmrApp } from './chooseEmrApp.ts';
import { normalizeEmrAddress, readEmrAddress } from './emrAddress.ts';
import { isPersonal } from './isPersonal.ts';
import { addLinkToken, type LinkPurpose } from './linkTokens.ts';

type Organization = { connector: string; emr_address: string };
type EmrChoice = Pick<LinkTokenRequest, 'emr_name' | 'emr_instance_domain'>;

/** Validates a link request and creates its token. `created_by`: the operator who creates it in the dashboard. */
export async function createLinkToken(
  ctx: Context,
  tx: Tx,
  client: Client,
  request: LinkTokenRequest,
  created_in: LinkPurpose['created_in'] = 'api',
  created_by: string | null = null,
): Promise<string> {
  if (isPersonal(request.user_id)) throw apiError('personal_user_id', undefined, { field: 'user_id' });
  const account_id = request.access_token === undefined ? null : await updatedAccount(ctx, client, request);
  const [organization] = await tx<Organization[]>`
    SELECT connector, emr_address FROM organizations WHERE org_id = ${request.org_id}`;
  const app = request.emr_app_id === undefined ? undefined : await namedApp(ctx, tx, request.emr_app_id);
  const choice = { ...(app && { emr_name: app.connector }), ...request };
  const emr = organization ? existing(ctx, organization, request) : fresh(ctx, choice);
  if (app) requireFit(app, emr);
  if (request.callback_url !== undefined && !client.callback_urls.includes(request.callback_url)) {
    throw apiError('callback_url_unregistered', undefined, { field: 'callback_url' });
  }
  const purpose: LinkPurpose = {
    client_id: client.id,
    user_id: request.user_id,
    org_id: request.org_id,
    ...emr,
    emr_app_id: app?.id ?? (await chooseEmrApp(ctx, tx, emr, account_id)),
    account_id,
    callback_url: request.callback_url ?? null,
    language: request.language ?? null,
    created_in,
  };
  return addLinkToken(tx, purpose, created_by);
}

async function updatedAccount(ctx: Context, client: Client, request: LinkTokenRequest): Promise<string> {
  const account = await findAccountByToken(ctx, request.access_token ?? '');
  const same =
    account?.client_id === client.id && account.user_id === request.user_id && account.org_id === request.org_id;
  if (!account || !same) throw apiError('update_mode_user_not_found', undefined, { field: 'access_token' });
  return account.id;
}

function existing(ctx: Context, organization: Organization, request: EmrChoice): Organization {
  if (request.emr_name !== undefined && connectorNamed(ctx, request.emr_name).name !== organization.connector) {
    throw apiError('emr_name_mismatch', undefined, { field: 'emr_name' });
  }
  if (request.emr_instance_domain !== undefined) {
    const given = normalizeEmrAddress(request.emr_instance_domain);
    if ('rule' in given) throw invalidDomain(given.rule);
    if (given.address !== organization.emr_address) {
      throw apiError('emr_domain_mismatch', undefined, { field: 'emr_instance_domain' });
    }
  }
  return organization;
}

function fresh(ctx: Context, request: EmrChoice): Organization {
  if (!request.emr_name) throw apiError('missing_field', { field: 'emr_name' }, { field: 'emr_name' });
  const connector = connectorNamed(ctx, request.emr_name);
  if (!request.emr_instance_domain) {
    throw apiError('missing_field', { field: 'emr_instance_domain' }, { field: 'emr_instance_domain' });
  }
  const given = readEmrAddress(ctx, connector, request.emr_instance_domain);
  if ('rule' in given) throw invalidDomain(given.rule);
  return { connector: connector.name, emr_address: given.address };
}

/** The app that the request names, which must fit the EMR. */
async function namedApp(ctx: Context, tx: Tx, text: string): Promise<EmrApp> {
  const id = parseId(text);
  const app = id && (await findEmrApp(ctx, tx, id));
  if (!app) throw apiError('emr_app_not_found', { id: text }, { field: 'emr_app_id' });
  if (!app.registered) throw apiError('emr_app_unregistered', undefined, { field: 'emr_app_id' });
  return app;
}

function requireFit(app: EmrApp, emr: Organization): void {
  const fits = app.connector === emr.connector && matchHost(app.hosts, emr.emr_address) !== undefined;
  if (!fits) throw apiError('emr_app_mismatch', undefined, { field: 'emr_app_id' });
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
