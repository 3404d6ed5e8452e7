import { linkAccount } from '../accounts/linkAccount.ts';
import { connectorOf } from '../accounts/openAccount.ts';
import type { Connector, Credentials, Grant, SignIn } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import { apiError } from '../errors.ts';
import { requestSync } from '../records/requestSync.ts';
import { askEmr, emrEndpoint } from './askEmr.ts';
import { checkCredentials, mergeCredentials } from './checkCredentials.ts';
import { burnLinkToken, findLinkToken, type LinkPurpose } from './linkTokens.ts';
import { readPageGrant, removePageSignIn } from './pageSignIns.ts';
import { addPublicToken } from './publicTokens.ts';
import { spendSignIn } from './spendSignIn.ts';
import { storedCredentials } from './storedCredentials.ts';

/** A person who is signed in at the EMR, not stored yet. */
export type SignedInPerson = {
  purpose: LinkPurpose;
  credentials: Credentials;
  signed_in: Extract<SignIn, { outcome: 'signed_in' }>;
};

/**
 * Signs a person in at the EMR; whatever goes wrong leaves the link token good for another try. No transaction is
 * open while the EMR answers: a slow one would hold a connection that the requests of all clients share.
 */
export async function signInForLink(
  ctx: Context,
  client_id: string,
  link_token: string,
  given: { credentials: Credentials; one_time_code: string | undefined },
): Promise<SignedInPerson> {
  const { purpose, stored, paged } = await ctx.db.tenant(client_id, async (tx) => {
    const purpose = await findLinkToken(tx, link_token);
    if (!purpose) throw apiError('link_token_invalid', undefined, { field: 'link_token' });
    const paged = await readPageGrant(ctx, tx, link_token);
    return { purpose, stored: await storedCredentials(ctx, tx, purpose), paged };
  });
  const connector = connectorOf(ctx, purpose.connector);
  const merged = mergeCredentials(stored, given.credentials);
  const on_page = connector.sign_in_ways?.find(({ name }) => name === merged.way)?.on_page ?? false;
  if (on_page && !paged) throw apiError('emr_page_required', { emr: connector.display_name });
  // What the EMR's page gave belongs to the credentials that led there, whatever was typed since.
  const credentials = on_page && paged ? paged.credentials : merged;
  checkCredentials(connector, credentials);
  await spendSignIn(ctx, client_id, link_token);
  const page_grant = on_page ? paged?.grant : undefined;
  const told = { credentials, one_time_code: given.one_time_code, page_grant };
  return { purpose, credentials, signed_in: await signIn(ctx, connector, purpose, told) };
}

/** Stores the account, uses the link token up and queues the first sync, together or not at all. */
export async function completeLink(
  ctx: Context,
  tx: Tx,
  link_token: string,
  { purpose, credentials, signed_in }: SignedInPerson,
): Promise<string> {
  if (!(await burnLinkToken(tx, link_token))) throw apiError('link_token_invalid', undefined, { field: 'link_token' });
  await removePageSignIn(tx, link_token);
  const { account_id, organization_id } = await linkAccount(ctx, tx, { ...purpose, credentials, signed_in });
  await requestSync(ctx, tx, { ...purpose, organization_id, account_id }, { announce: false });
  // The request that brought it is recorded too, but not which account it came to.
  await ctx.audit.recordInTransaction(tx, {
    client_id: purpose.client_id,
    actor_kind: 'link',
    actor: purpose.user_id,
    account_id,
    action: 'account.link',
    outcome: 'linked',
    subject: account_id,
    detail: { org_id: purpose.org_id, emr_name: purpose.connector, update: purpose.account_id !== null },
  });
  return addPublicToken(tx, purpose.client_id, account_id);
}

async function signIn(
  ctx: Context,
  connector: Connector,
  purpose: LinkPurpose,
  given: { credentials: Credentials; one_time_code: string | undefined; page_grant: Grant | undefined },
): Promise<Extract<SignIn, { outcome: 'signed_in' }>> {
  const outcome = await askEmr(connector, () =>
    connector.signIn(emrEndpoint(ctx, purpose), given.credentials, given.one_time_code, given.page_grant),
  );
  const emr = connector.display_name;
  if (outcome.outcome === 'signed_in') return outcome;
  if (outcome.outcome === 'code_required') throw apiError('emr_code_required', { emr }, { field: 'one_time_code' });
  throw apiError(refused[outcome.reason], { emr });
}

const refused = {
  credentials: 'emr_credentials_wrong',
  code: 'emr_code_wrong',
  locked: 'emr_locked',
  access: 'emr_access_refused',
} as const;
