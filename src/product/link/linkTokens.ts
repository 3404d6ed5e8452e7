import { type ApiError, apiError } from '../../catalog/errors.ts';
import { newToken, parseId } from '../../catalog/ids.ts';
import type { Connector } from '../../emr/connector.ts';
import { matchHost } from '../../emr/endpointPins.ts';
import type { LinkTokenRequest } from '../../model/link.ts';
import type { Sql, Tx } from '../../platform/db/database.ts';
import { checkUrl, emrRules, syntaxRefusal } from '../../platform/security/addresses.ts';
import { hashToken } from '../../platform/security/signatures.ts';
import { findAccountByToken, readAccount, type StoredAccount } from '../accounts/accounts.ts';
import { currentCredentials, needsApp, requireConnector } from '../accounts/connectAccount.ts';
import { type EmrApp, findEmrApp, matchEmrApps } from '../accounts/emrApps.ts';
import type { Client } from '../clients/clients.ts';
import type { Context } from '../context.ts';

type Organization = { connector: string; emr_address: string };
type EmrChoice = Pick<LinkTokenRequest, 'emr_name' | 'emr_instance_domain'>;

type NewLink = {
  client: Client;
  request: LinkTokenRequest;
  /** The operator who creates it in the dashboard. Absent: the application creates it. */
  created_by?: string;
};

/** Validates a link request and creates its token. */
export async function createLinkToken(ctx: Context, tx: Tx, { client, request, created_by }: NewLink): Promise<string> {
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
    created_in: created_by === undefined ? 'api' : 'dashboard',
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
    const parsed = normalizeEmrAddress(request.emr_instance_domain);
    if ('rule' in parsed) throw invalidDomain(parsed.rule);
    if (parsed.address !== organization.emr_address) {
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
  const parsed = readEmrAddress(ctx, connector, request.emr_instance_domain);
  if ('rule' in parsed) throw invalidDomain(parsed.rule);
  return { connector: connector.name, emr_address: parsed.address };
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

/**
 * A link token for re-linking an account from the dashboard, where its access token is not available. An unlinked
 * account is linked like a new one: its credentials were deleted.
 */
export async function createRelinkToken(
  ctx: Context,
  tx: Tx,
  account: StoredAccount,
  { language, created_by }: { language: 'en' | 'es' | undefined; created_by: string },
): Promise<string> {
  const account_id = account.status === 'revoked' ? null : account.id;
  const purpose: LinkPurpose = {
    client_id: account.client_id,
    user_id: account.user_id,
    org_id: account.org_id,
    connector: account.connector,
    emr_address: account.emr_address,
    emr_app_id: await chooseEmrApp(ctx, tx, account, account_id),
    account_id,
    callback_url: null,
    language: language ?? null,
    created_in: 'dashboard',
  };
  return addLinkToken(tx, purpose, created_by);
}

type ChoiceContext = Pick<Context, 'vault' | 'connectors' | 'config'>;

/**
 * The app for a link, found by the EMR's host. An account is re-linked with what it was linked with: for another
 * client ID, many EMRs would see another user. One that needs an app and has none gets the app with its client ID.
 */
export async function chooseEmrApp(
  ctx: ChoiceContext,
  tx: Tx,
  emr: { connector: string; emr_address: string },
  account_id: string | null,
): Promise<string | null> {
  const account = account_id === null ? undefined : await readAccount(tx, account_id);
  if (!account) return (await matchEmrApps(ctx, tx, emr))[0]?.id ?? null;
  if (account.emr_app_id !== null) return account.emr_app_id;
  const { way, client_id } = await currentCredentials(ctx, tx, account, account.credentials_sealed);
  if (!needsApp(requireConnector(ctx, emr.connector), way)) return null;
  const apps = await matchEmrApps(ctx, tx, emr);
  const same = apps.find(({ credentials }) => credentials.way === way && credentials.client_id === client_id);
  if (!same && !ctx.config.sandbox) throw appRequired(emr.emr_address);
  return same?.id ?? null;
}

export function appRequired(emr_address: string): ApiError {
  return apiError('emr_app_required', { host: new URL(emr_address).host }, { field: 'credentials.way' });
}

/** The address of an EMR as it is stored, or the rule that it breaks, as the rest of a sentence. */
export function readEmrAddress(
  { config }: Pick<Context, 'config'>,
  connector: Connector,
  domain: string,
): { address: string } | { rule: string } {
  const checked = checkUrl(withScheme(domain), emrRules(config));
  if ('refused' in checked) return { rule: checked.refused };
  const rule = connector.refuseAddress(checked);
  return rule === undefined ? { address: normalized(checked) } : { rule };
}

/** The same for an address that is only compared with a stored one. */
export function normalizeEmrAddress(domain: string): { address: string } | { rule: string } {
  const text = withScheme(domain);
  const rule = syntaxRefusal(text);
  return rule === undefined ? { address: normalized(new URL(text)) } : { rule };
}

/** Otherwise as typed: the checks must see what the URL parser would silently change. */
function withScheme(domain: string): string {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(domain) ? domain : `https://${domain}`;
}

/** As stored: without trailing slashes. */
function normalized(url: URL): string {
  return url.href.replace(/\/+$/, '');
}

/**
 * Whether a client's id for a user contains an email address or is a complete phone number in a usual format. Other
 * ids of digits and dashes, such as `2024-001-17`, are common, and so are plain digits.
 */
export function isPersonal(user_id: string): boolean {
  if (/\S@\S+\.\S/.test(user_id)) return true;
  const text = user_id
    .normalize('NFKC')
    .replace(/\p{Pd}/gu, '-')
    .replaceAll('[', '(')
    .replaceAll(']', ')')
    .replace(/\s+/g, ' ')
    .replace(/^tel:/i, '')
    .replace(/ ?(x|ext\.?) ?\d{1,6}$/i, '')
    .trim();
  return phone_formats.some((format) => format.test(text));
}

const phone_formats = [
  // +12025550143, +44 (0)20 7946 0958: any country, 7 to 15 digits.
  /^\+(?:[ .()-]{0,2}\d){7,15}$/,
  // 202-555-0143, 202.555.0143, 1 202 555 0143
  /^(?:1[ .-])?\d{3}[ .-]\d{3}[ .-]\d{4}$/,
  // (202) 555-0143, 1 (202) 5550143
  /^(?:1[ .-]?)?\(\d{3}\)[ .-]?\d{3}[ .-]?\d{4}$/,
  // (020) 7946 0958: an area code of another country.
  /^\(0\d{1,4}\)[ .-]?\d{3,4}[ .-]?\d{3,4}$/,
  // 0044 20 7946 0958: dialed from abroad.
  /^00[ .-]?\d{1,3}(?:[ .()-]{1,2}\d{2,4}){2,4}$/,
];

/** What a link token is for. `account_id` is set in update mode: the account to link again. */
export type LinkPurpose = {
  client_id: string;
  user_id: string;
  org_id: string;
  connector: string;
  emr_address: string;
  emr_app_id: string | null;
  account_id: string | null;
  callback_url: string | null;
  language: string | null;
  /** A link created in the dashboard does not hand a public token to the application. */
  created_in: 'api' | 'dashboard';
};

/** `exhausted`: too many failed sign-ins. */
export type LinkState = 'open' | 'expired' | 'used' | 'exhausted';

/** A link from the dashboard is sent to a practice by email; an application opens its own link at once. */
export const link_minutes: Record<LinkPurpose['created_in'], number> = { api: 30, dashboard: 7 * 24 * 60 };
/** A link takes two sign-ins (without and with the code). This many allow for mistakes but not for guessing. */
export const sign_ins_max = 20;

/** `created_by`: the operator who creates it in the dashboard. */
export async function addLinkToken(tx: Tx, purpose: LinkPurpose, created_by: string | null = null): Promise<string> {
  const token = newToken('link_token');
  await tx`INSERT INTO link_tokens (token_hash, client_id, user_id, org_id, connector, emr_address, emr_app_id,
      account_id, callback_url, language, created_in, created_by, expires_at)
    VALUES (${hashToken(token)}, ${purpose.client_id}, ${purpose.user_id}, ${purpose.org_id}, ${purpose.connector},
      ${purpose.emr_address}, ${purpose.emr_app_id}, ${purpose.account_id}, ${purpose.callback_url}, ${purpose.language},
      ${purpose.created_in}, ${created_by},
      now() + make_interval(mins => ${link_minutes[purpose.created_in]}))`;
  return token;
}

/** The purpose of a valid link token. Reading does not use it up, so that a wrong password can be corrected. */
export async function findLinkToken(tx: Tx, token: string): Promise<LinkPurpose | undefined> {
  const [row] = await tx<LinkPurpose[]>`
    SELECT client_id, user_id, org_id, connector, emr_address, emr_app_id, account_id, callback_url, language, created_in
      FROM link_tokens WHERE token_hash = ${hashToken(token)} AND used_at IS NULL AND expires_at > now()`;
  return row;
}

export type KnownLink = { state: LinkState; purpose: LinkPurpose };

/** The purpose and state of a link token, valid or not. */
export function lookUpLink(ctx: Context, token: string): Promise<KnownLink | undefined> {
  return lookUpLinkByHash(ctx, hashToken(token));
}

/** The same by the token's hash: URLs may contain the hash but never the token. */
export async function lookUpLinkByHash(ctx: Context, token_hash: Buffer): Promise<KnownLink | undefined> {
  const [owner] = await ctx.db.system<{ client_id: string }[]>`
    SELECT client_id FROM link_tokens WHERE token_hash = ${token_hash}`;
  if (!owner) return undefined;
  const [row] = await ctx.db.read<LinkPurpose & { state: LinkState }>(
    owner.client_id,
    (sql) => sql`
      SELECT client_id, user_id, org_id, connector, emr_address, emr_app_id, account_id, callback_url, language,
             created_in,
             CASE WHEN used_at IS NOT NULL AND attempts > ${sign_ins_max} THEN 'exhausted'
                  WHEN used_at IS NOT NULL THEN 'used'
                  WHEN expires_at <= now() THEN 'expired'
                  ELSE 'open' END AS state
        FROM link_tokens WHERE token_hash = ${token_hash}`,
  );
  if (!row) return undefined;
  const { state, ...purpose } = row;
  return { state, purpose };
}

/** Counts a sign-in before the attempt, so that concurrent ones are counted too. Exceeding the limit uses the token up. */
export async function countSignIn(tx: Tx, token: string): Promise<'counted' | 'exhausted' | 'gone'> {
  const [row] = await tx<{ attempts: number }[]>`
    UPDATE link_tokens SET attempts = attempts + 1, used_at = CASE WHEN attempts >= ${sign_ins_max} THEN now() END
     WHERE token_hash = ${hashToken(token)} AND used_at IS NULL AND expires_at > now() RETURNING attempts`;
  if (!row) return 'gone';
  return row.attempts > sign_ins_max ? 'exhausted' : 'counted';
}

/** Marks the token as used. Of several concurrent attempts exactly one succeeds. */
export async function consumeLinkToken(tx: Tx, token: string): Promise<boolean> {
  const used = await tx`UPDATE link_tokens SET used_at = now()
    WHERE token_hash = ${hashToken(token)} AND used_at IS NULL AND expires_at > now() RETURNING 1`;
  return used.length > 0;
}

/** Uses up the open links of an account. */
export async function invalidateLinkTokens(tx: Tx, account: { org_id: string; user_id: string }): Promise<void> {
  await tx`UPDATE link_tokens SET used_at = now()
    WHERE org_id = ${account.org_id} AND user_id = ${account.user_id} AND used_at IS NULL`;
}

/** Uses up all open links of an organization, or of the client. */
export async function invalidateLinks(tx: Tx, org_id: string | undefined): Promise<void> {
  await tx`UPDATE link_tokens SET used_at = now()
    WHERE used_at IS NULL ${org_id === undefined ? tx`` : tx`AND org_id = ${org_id}`}`;
}

/** Deletes the open links that an operator has created, for all clients. */
export async function removeLinksBy(tx: Tx, operator_id: string): Promise<void> {
  await tx`DELETE FROM link_tokens WHERE created_by = ${operator_id} AND used_at IS NULL`;
}

/** Deletes tokens a day after they expired. */
export async function purgeLinkTokens({ pooled: sql }: Sql): Promise<void> {
  await sql`DELETE FROM link_tokens WHERE expires_at < now() - interval '1 day'`;
}

/**
 * The URL of the hosted page for a link token. The token is in the fragment, which browsers do not send: it reaches no
 * access log, proxy or referrer.
 */
export function hostedLink(base_url: string, link_token: string): string {
  return `${base_url.replace(/\/+$/, '')}/link#token=${encodeURIComponent(link_token)}`;
}
