import { apiError } from '../../catalog/errors.ts';
import { newToken } from '../../catalog/ids.ts';
import type { ConnectionReport, Credentials, EmrEndpoint, Grant, SignIn } from '../../emr/connector.ts';
import type { Sql, Tx } from '../../platform/db/database.ts';
import { hashToken } from '../../platform/security/signatures.ts';
import { clientKeys } from '../../platform/security/signingKeys.ts';
import { bindings, findLinkedAccount, readAccount, type StoredAccount } from '../accounts/accounts.ts';
import { requireConnector } from '../accounts/connectAccount.ts';
import { toEndpoint } from '../accounts/emrApps.ts';
import { linkAccount, requireSameUser } from '../accounts/linkAccount.ts';
import { signOut } from '../accounts/signOutAccounts.ts';
import type { Context } from '../context.ts';
import { requestSyncAfterLink } from '../records/syncPasses.ts';
import { removeLinkReport, saveAccountReport } from './connectionReports.ts';
import {
  attemptSignIn,
  callEmr,
  checkCredentials,
  countSignInAttempt,
  quoteEmr,
  refusalError,
  resolveCredentials,
} from './credentials.ts';
import { appRequired } from './linkApps.ts';
import { keepConsent } from './linkConsents.ts';
import { consumeLinkToken, findLinkToken, type LinkPurpose, requireEmr } from './linkTokens.ts';
import { describeAddress } from './linkView.ts';
import { readPageGrant, removePageSignIn } from './pageSignIns.ts';
import { findKeySetUrl } from './registrations.ts';

/** A successful sign-in at the EMR that is not stored yet. */
export type SignedInPerson = {
  purpose: LinkPurpose;
  credentials: Credentials;
  signed_in: Extract<SignIn, { outcome: 'signed_in' }>;
  report: ConnectionReport | undefined;
};

type SignInInput = {
  credentials: Credentials;
  one_time_code: string | undefined;
  /** The EMR's address that the person agreed to, in Link. */
  consented_address?: string;
  /** Tests of a sandbox may sign in with the client's key without an EMR app. */
  key_without_app?: boolean;
  /** With a link token of the practice page, which links nothing. */
  practice_page?: boolean;
};

/**
 * Signs in at the EMR. On failure the link token stays valid for another attempt. No transaction is open during the EMR
 * call: a slow EMR would occupy a connection that all clients share.
 */
export async function signInForLink(
  ctx: Context,
  client_id: string,
  link_token: string,
  sent: SignInInput,
): Promise<SignedInPerson> {
  const { purpose, resolved, paged } = await ctx.db.tenant(client_id, async (tx) => {
    const link = await findLinkToken(tx, link_token, { practice_page: sent.practice_page });
    if (!link) throw apiError('link_token_invalid', undefined, { field: 'link_token' });
    const purpose = requireEmr(link);
    // Another practice was chosen since the person agreed.
    if (sent.consented_address !== undefined && sent.consented_address !== purpose.emr_address) {
      throw apiError('consent_outdated');
    }
    const paged = await readPageGrant(ctx, tx, link_token, purpose);
    return { purpose, resolved: await resolveCredentials(ctx, tx, purpose, sent.credentials), paged };
  });
  const { connector, way, app } = resolved;
  if (way?.app_required && purpose.emr_app_id === null && !sent.key_without_app) throw appRequired(purpose.emr_address);
  const on_page = way?.on_page ?? false;
  // The practice page must know who signs in. A token may have been issued to that person for another application.
  const page_required = on_page ? !paged : sent.practice_page && connector.sign_in_ways !== undefined;
  if (page_required) throw apiError('emr_page_required', { emr: connector.display_name });
  // The grant from the EMR's page belongs to the credentials used there, whatever was typed since.
  const credentials = on_page && paged ? paged.credentials : resolved.credentials;
  checkCredentials(connector, credentials);
  await countSignInAttempt(ctx, client_id, link_token);
  const page_grant = on_page ? paged?.grant : undefined;
  const input = { credentials, one_time_code: sent.one_time_code, page_grant };
  const link = { token_hash: hashToken(link_token), purpose };
  // Outside of the EMR's time limit, which starts with `attemptSignIn`.
  if (way?.must_register === 'key_set') await clientKeys(ctx, client_id).ensure();
  const { result: signed_in, report } = await attemptSignIn(ctx, link, async (emr) => {
    // As read with the credentials: what the owner changes in between belongs to other ones.
    const endpoint = { ...emr, ...toEndpoint(app, purpose.search_params) };
    const person = await signIn(ctx, purpose, endpoint, input);
    await checkUser(ctx, { token: link_token, purpose }, { credentials, grant: person.grant }, person.user);
    return person;
  });
  return { purpose, credentials, signed_in, report };
}

/** Stores the account, marks the link token as used and queues the first sync, in one transaction. */
export async function completeLink(
  ctx: Context,
  tx: Tx,
  link_token: string,
  { purpose, credentials, signed_in, report }: SignedInPerson,
): Promise<{ public_token: string; account_id: string }> {
  if (!(await consumeLinkToken(tx, link_token, purpose.emr_address)))
    throw apiError('link_token_invalid', undefined, { field: 'link_token' });
  await removePageSignIn(tx, link_token);
  const address = await describeAddress(tx, purpose);
  const { account_id, organization_id } = await linkAccount(ctx, tx, { ...purpose, credentials, signed_in });
  await keepConsent(tx, link_token, account_id);
  await removeLinkReport(tx, hashToken(link_token));
  if (report) await saveAccountReport(tx, { client_id: purpose.client_id, account_id }, report);
  await requestSyncAfterLink(ctx, tx, { ...purpose, organization_id, account_id });
  // The record of the HTTP request does not name the account.
  await ctx.audit.recordInTransaction(tx, {
    client_id: purpose.client_id,
    actor_kind: 'link',
    actor: purpose.user_id,
    account_id,
    action: 'account.link',
    outcome: 'linked',
    subject: account_id,
    detail: { ...address, emr_name: purpose.connector, update: purpose.account_id !== null },
  });
  return { public_token: await addPublicToken(tx, purpose.client_id, account_id), account_id };
}

/** `linkAccount` checks this again under a lock. Here the session of the wrong user can be ended: nothing will use it. */
async function checkUser(
  ctx: Context,
  { token, purpose }: { token: string; purpose: LinkPurpose },
  access: { credentials: Credentials; grant: Grant },
  user: { ehr_id: string },
): Promise<void> {
  const account = await ctx.db.tenant(purpose.client_id, (tx) => findLinkedAccount(tx, purpose));
  if (!account) return;
  try {
    requireSameUser(account, user);
  } catch (error) {
    await ctx.db.tenant(purpose.client_id, (tx) => removePageSignIn(tx, token));
    await endUnusedSession(ctx, purpose, access);
    throw error;
  }
}

/**
 * Ends the session of a sign-in that nothing will use. Tokens of an EMR's own page are forgotten instead: some servers
 * that revoke a token also revoke those with which the person has linked an account.
 */
export async function endUnusedSession(
  ctx: Context,
  purpose: LinkPurpose,
  access: { credentials: Credentials; grant: Grant },
): Promise<void> {
  const { sign_in_ways = [] } = requireConnector(ctx, purpose.connector);
  if (sign_in_ways.find(({ name }) => name === access.credentials.way)?.on_page) return;
  await signOut(ctx, purpose, access).catch((cause: unknown) =>
    ctx.log.warn({ err: cause }, 'the session of a sign-in that is not used could not be ended'),
  );
}

async function signIn(
  ctx: Context,
  purpose: LinkPurpose,
  endpoint: EmrEndpoint,
  sent: { credentials: Credentials; one_time_code: string | undefined; page_grant: Grant | undefined },
): Promise<Extract<SignIn, { outcome: 'signed_in' }>> {
  const connector = requireConnector(ctx, purpose.connector);
  const outcome = await callEmr(connector, () =>
    connector.signIn(endpoint, sent.credentials, sent.one_time_code, sent.page_grant),
  );
  const emr = connector.display_name;
  if (outcome.outcome === 'signed_in') return outcome;
  if (outcome.outcome === 'code_required') throw apiError('emr_code_required', { emr }, { field: 'one_time_code' });
  throw quoteEmr(refusalError(connector, outcome, await findKeySetUrl(ctx, purpose)), connector, outcome);
}

/**
 * Exchanges a public token for the account's permanent access token. Works once. What `check` throws leaves the token
 * unused.
 */
export async function exchangePublicToken(
  ctx: Context,
  client_id: string,
  public_token: string,
  check: (account: StoredAccount) => void = () => {},
): Promise<string> {
  return ctx.db.tenant(client_id, async (tx) => {
    const account_id = await consumePublicToken(tx, public_token);
    const account = account_id && (await readAccount(tx, account_id));
    if (!account) throw apiError('public_token_invalid', undefined, { field: 'public_token' });
    check(account);
    return ctx.vault.unseal(tx, account.token_sealed, bindings.token(account.id));
  });
}

const public_token_minutes = 30;

export async function addPublicToken(tx: Tx, client_id: string, account_id: string): Promise<string> {
  const token = newToken('public_token');
  await tx`INSERT INTO public_tokens (token_hash, client_id, account_id, expires_at)
    VALUES (${hashToken(token)}, ${client_id}, ${account_id}, now() + make_interval(mins => ${public_token_minutes}))`;
  return token;
}

/** Marks a public token as used and returns its account. Row-level security hides other clients' tokens. */
export async function consumePublicToken(tx: Tx, token: string): Promise<string | undefined> {
  const [row] = await tx<{ account_id: string }[]>`UPDATE public_tokens SET used_at = now()
    WHERE token_hash = ${hashToken(token)} AND used_at IS NULL AND expires_at > now() RETURNING account_id`;
  return row?.account_id;
}

export async function invalidatePublicTokens(tx: Tx, account_id: string): Promise<void> {
  await tx`UPDATE public_tokens SET used_at = now() WHERE account_id = ${account_id} AND used_at IS NULL`;
}

/** Deletes tokens a day after they expired. */
export async function purgePublicTokens({ pooled: sql }: Sql): Promise<void> {
  await sql`DELETE FROM public_tokens WHERE expires_at < now() - interval '1 day'`;
}
