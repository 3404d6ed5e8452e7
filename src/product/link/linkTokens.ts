import { type ApiError, apiError } from '../../catalog/errors.ts';
import { newToken } from '../../catalog/ids.ts';
import type { Connector } from '../../emr/connector.ts';
import { type SearchConstants, sameParams } from '../../emr/requestSettings.ts';
import type { LinkTokenRequest } from '../../model/link.ts';
import type { Fragment, Query, Sql, Tx } from '../../platform/db/database.ts';
import { hashToken } from '../../platform/security/signatures.ts';
import { findAccountByToken, type StoredAccount } from '../accounts/accounts.ts';
import type { EmrApp } from '../accounts/emrApps.ts';
import type { Client } from '../clients/clients.ts';
import type { Context } from '../context.ts';
import { findPractice, hasPractices, type Practice } from '../directory/practices.ts';
import { normalizeEmrAddress, readEmrAddress } from './emrAddresses.ts';
import { chooseEmrApp, namedApp, type Organization, requireFit, requirePracticeApp } from './linkApps.ts';
import { isPersonal } from './personalIds.ts';
import { checkPracticeParams } from './requestSettings.ts';

type EmrChoice = Pick<LinkTokenRequest, 'emr_name' | 'emr_instance_domain' | 'search_params'>;
type NoEmr = { connector: null; emr_address: null; search_params: SearchConstants };
const no_emr: NoEmr = { connector: null, emr_address: null, search_params: {} };

type NewLink = {
  client: Client;
  request: LinkTokenRequest;
  /** The operator who creates it in the dashboard. Absent: the application creates it. */
  created_by?: string;
};

/** Validates a link request and creates its token. */
export async function createLinkToken(ctx: Context, tx: Tx, { client, created_by, ...link }: NewLink): Promise<string> {
  const request = withCheckedParams(link.request);
  if (isPersonal(request.user_id)) throw apiError('personal_user_id', undefined, { field: 'user_id' });
  const account_id = request.access_token === undefined ? null : await updatedAccount(ctx, client, request);
  const [organization] = await tx<Organization[]>`
    SELECT connector, emr_address, search_params FROM organizations WHERE org_id = ${request.org_id}`;
  const app = request.emr_app_id === undefined ? undefined : await namedApp(ctx, tx, request.emr_app_id);
  const practice = request.practice_id === undefined ? undefined : await namedPractice(tx, request);
  const emr = await chooseEmr(ctx, tx, { organization, practice, app, request });
  if (app && emr.connector !== null) requireFit(app, emr);
  if (request.callback_url !== undefined && !client.callback_urls.includes(request.callback_url)) {
    throw apiError('callback_url_unregistered', undefined, { field: 'callback_url' });
  }
  const purpose: AnyPurpose = {
    client_id: client.id,
    user_id: request.user_id,
    org_id: request.org_id,
    ...emr,
    emr_app_id:
      emr.connector === null
        ? (app?.id ?? null)
        : await requirePracticeApp(ctx, tx, emr, app?.id ?? (await chooseEmrApp(ctx, tx, emr, account_id))),
    account_id,
    callback_url: request.callback_url ?? null,
    language: request.language ?? null,
    created_in: created_by === undefined ? 'api' : 'dashboard',
    finds_practice: emr.connector === null,
    practice_id: practice?.id ?? null,
  };
  return addLinkToken(tx, purpose, created_by);
}

function withCheckedParams({ search_params, ...request }: LinkTokenRequest): LinkTokenRequest {
  return search_params === undefined ? request : { ...request, search_params: checkPracticeParams(search_params) };
}

type Choice = {
  organization: Organization | undefined;
  practice: Practice | undefined;
  app: EmrApp | undefined;
  request: LinkTokenRequest;
};

/** The EMR of the organization, of the practice, or the one that the request names; none if Link asks for the practice. */
async function chooseEmr(
  ctx: Context,
  tx: Tx,
  { organization, practice, app, request }: Choice,
): Promise<Organization | NoEmr> {
  if (practice) return practiceEmr(ctx, organization, practice);
  if (organization) return existing(ctx, organization, request);
  const { emr_name, emr_instance_domain, search_params } = request;
  const named = [emr_name, emr_instance_domain, search_params, app].some((each) => each !== undefined);
  if (!named && (await hasPractices(tx))) return no_emr;
  return fresh(ctx, { ...(app && { emr_name: app.connector }), ...request });
}

async function namedPractice(tx: Tx, { practice_id = '', ...request }: LinkTokenRequest): Promise<Practice> {
  if (request.emr_name !== undefined || request.emr_instance_domain !== undefined) {
    throw apiError('practice_and_emr', undefined, { field: 'practice_id' });
  }
  if (request.search_params !== undefined) {
    const rule = 'search_params must not be sent with practice_id, which names the practice';
    throw apiError('invalid_field', { rule }, { field: 'search_params' });
  }
  const practice = await findPractice(tx, practice_id);
  if (!practice) throw apiError('practice_not_found', { id: practice_id }, { field: 'practice_id' });
  return practice;
}

/** The EMR of a practice, which must be the one of the organization if that has one already. */
export function practiceEmr(ctx: Context, organization: Organization | undefined, practice: Practice): Organization {
  const connector = connectorNamed(ctx, practice.connector);
  const parsed = readEmrAddress(ctx, connector, practice.address);
  if ('rule' in parsed) throw invalidDomain(parsed.rule);
  const search_params = practice.search_params ?? {};
  const emr = { connector: connector.name, emr_address: parsed.address, search_params };
  if (!organization) return emr;
  const same =
    organization.connector === emr.connector &&
    organization.emr_address === emr.emr_address &&
    sameParams(organization.search_params, search_params);
  if (!same) throw apiError('practice_mismatch', undefined, { field: 'practice_id' });
  return organization;
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
  if (request.search_params !== undefined && !sameParams(request.search_params, organization.search_params)) {
    throw apiError('search_params_mismatch', undefined, { field: 'search_params' });
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
  const search_params = request.search_params ?? {};
  return { connector: connector.name, emr_address: parsed.address, search_params };
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
    search_params: account.search_params,
    emr_app_id: await requirePracticeApp(ctx, tx, account, await chooseEmrApp(ctx, tx, account, account_id)),
    account_id,
    callback_url: null,
    language: language ?? null,
    created_in: 'dashboard',
    finds_practice: false,
    practice_id: null,
  };
  return addLinkToken(tx, purpose, created_by);
}

/** What a link token is for. `account_id` is set in update mode: the account to link again. */
export type LinkPurpose = {
  client_id: string;
  user_id: string;
  org_id: string;
  connector: string;
  emr_address: string;
  /** Those that name the practice, where several share the address. */
  search_params: SearchConstants;
  emr_app_id: string | null;
  account_id: string | null;
  callback_url: string | null;
  language: string | null;
  /**
   * A link created in the dashboard does not hand a public token to the application. One of the practice page links
   * nothing: it only finds out who signs in.
   */
  created_in: 'api' | 'dashboard' | 'practice_page';
  /** The person chooses the practice in Link. */
  finds_practice: boolean;
  /** The practice of the directory that the EMR belongs to. It may have been removed since. */
  practice_id: string | null;
};

/** What a link token is for, with or without an EMR: it has none until the person has chosen a practice. */
export type AnyPurpose = LinkPurpose | (Omit<LinkPurpose, keyof NoEmr> & NoEmr);

/** Throws if the person has not chosen a practice yet. */
export function requireEmr(purpose: AnyPurpose): LinkPurpose {
  if (purpose.emr_address === null) throw apiError('practice_required');
  return purpose;
}

/** `exhausted`: too many failed sign-ins. */
export type LinkState = 'open' | 'expired' | 'used' | 'exhausted';

/** A link from the dashboard is sent to a practice by email; an application opens its own link at once. */
export const link_minutes: Record<LinkPurpose['created_in'], number> = {
  api: 30,
  dashboard: 7 * 24 * 60,
  practice_page: 15,
};
/** A link takes two sign-ins (without and with the code). This many allow for mistakes but not for guessing. */
export const sign_ins_max = 20;
/** The practice page can be opened by anyone who knows its address, so fewer, and of a few links per hour. */
export const practice_sign_ins_max = 6;

/** `created_by`: the operator who creates it in the dashboard. */
export async function addLinkToken(tx: Tx, purpose: AnyPurpose, created_by: string | null = null): Promise<string> {
  const token = newToken('link_token');
  await tx`INSERT INTO link_tokens (token_hash, client_id, user_id, org_id, connector, emr_address, search_params, emr_app_id,
      account_id, callback_url, language, created_in, finds_practice, practice_id, created_by, expires_at)
    VALUES (${hashToken(token)}, ${purpose.client_id}, ${purpose.user_id}, ${purpose.org_id}, ${purpose.connector},
      ${purpose.emr_address}, ${JSON.stringify(purpose.search_params)}::text::jsonb, ${purpose.emr_app_id},
      ${purpose.account_id}, ${purpose.callback_url}, ${purpose.language}, ${purpose.created_in},
      ${purpose.finds_practice}, ${purpose.practice_id}, ${created_by},
      now() + make_interval(mins => ${link_minutes[purpose.created_in]}))`;
  return token;
}

/**
 * The purpose of a valid link token. Reading does not use it up, so that a wrong password can be corrected. A token of the
 * practice page is found only by those who ask for one.
 */
export async function findLinkToken(
  tx: Tx,
  token: string,
  { practice_page = false } = {},
): Promise<AnyPurpose | undefined> {
  const [row] = await tx<AnyPurpose[]>`
    SELECT ${purposeColumns(tx)} FROM link_tokens
     WHERE token_hash = ${hashToken(token)} AND (created_in = 'practice_page') = ${practice_page}
       AND used_at IS NULL AND expires_at > now()`;
  return row;
}

/** How many sign-ins the practice page has started for an account in the last hour. */
export async function countPracticeEntries(
  tx: Tx,
  { client_id, org_id, user_id }: Pick<LinkPurpose, 'client_id' | 'org_id' | 'user_id'>,
): Promise<number> {
  const [row] = await tx<{ n: number }[]>`
    SELECT count(*)::int AS n FROM link_tokens
     WHERE created_in = 'practice_page' AND client_id = ${client_id} AND org_id = ${org_id} AND user_id = ${user_id}
       AND created_at > now() - interval '1 hour'`;
  return row?.n ?? 0;
}

function purposeColumns(sql: Query): Fragment {
  return sql`client_id, user_id, org_id, connector, emr_address, search_params, emr_app_id, account_id, callback_url, language, created_in,
    finds_practice, practice_id`;
}

export type KnownLink = { state: LinkState; purpose: AnyPurpose; expires_at: string };

/** The purpose and state of a link token, valid or not. */
export function lookUpLink(ctx: Context, token: string): Promise<KnownLink | undefined> {
  return lookUpLinkByHash(ctx, hashToken(token));
}

/** The same by the token's hash: URLs may contain the hash but never the token. */
export async function lookUpLinkByHash(ctx: Context, token_hash: Buffer): Promise<KnownLink | undefined> {
  const [owner] = await ctx.db.system<{ client_id: string }[]>`
    SELECT client_id FROM link_tokens WHERE token_hash = ${token_hash}`;
  if (!owner) return undefined;
  const [row] = await ctx.db.read<AnyPurpose & Omit<KnownLink, 'purpose'>>(
    owner.client_id,
    (sql) => sql`
      SELECT ${purposeColumns(sql)}, iso(expires_at) AS expires_at,
             CASE WHEN used_at IS NOT NULL AND attempts > ${signInsMax(sql)} THEN 'exhausted'
                  WHEN used_at IS NOT NULL THEN 'used'
                  WHEN expires_at <= now() THEN 'expired'
                  ELSE 'open' END AS state
        FROM link_tokens WHERE token_hash = ${token_hash}`,
  );
  if (!row) return undefined;
  const { state, expires_at, ...purpose } = row;
  return { state, expires_at, purpose };
}

function signInsMax(sql: Query): Fragment {
  return sql`CASE WHEN created_in = 'practice_page' THEN ${practice_sign_ins_max}::int ELSE ${sign_ins_max}::int END`;
}

/** Sets the EMR of a link whose practice is chosen in Link. Returns whether the link can still be used. */
export async function setPractice(
  tx: Tx,
  token: string,
  {
    connector,
    emr_address,
    search_params,
    emr_app_id,
    practice_id,
  }: Pick<LinkPurpose, keyof Organization | 'emr_app_id' | 'practice_id'>,
): Promise<boolean> {
  const rows = await tx`
    UPDATE link_tokens SET connector = ${connector}, emr_address = ${emr_address},
        search_params = ${JSON.stringify(search_params)}::text::jsonb, emr_app_id = ${emr_app_id}, practice_id = ${practice_id}
     WHERE token_hash = ${hashToken(token)} AND finds_practice AND used_at IS NULL AND expires_at > now() RETURNING 1`;
  return rows.length > 0;
}

/** Counts a sign-in before the attempt, so that concurrent ones are counted too. Exceeding the limit uses the token up. */
export async function countSignIn(tx: Tx, token: string): Promise<'counted' | 'exhausted' | 'gone'> {
  const [row] = await tx<{ exhausted: boolean }[]>`
    UPDATE link_tokens SET attempts = attempts + 1, used_at = CASE WHEN attempts >= ${signInsMax(tx)} THEN now() END
     WHERE token_hash = ${hashToken(token)} AND used_at IS NULL AND expires_at > now()
    RETURNING used_at IS NOT NULL AS exhausted`;
  if (!row) return 'gone';
  return row.exhausted ? 'exhausted' : 'counted';
}

/**
 * Marks the token as used. Of several concurrent attempts exactly one succeeds, and none for another EMR than the person
 * has chosen since.
 */
export async function consumeLinkToken(tx: Tx, token: string, emr_address: string): Promise<boolean> {
  const used = await tx`UPDATE link_tokens SET used_at = now()
    WHERE token_hash = ${hashToken(token)} AND emr_address = ${emr_address} AND used_at IS NULL AND expires_at > now()
    RETURNING 1`;
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
