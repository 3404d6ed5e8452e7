import { linkAccount } from '../accounts/linkAccount.ts';
import { connectorOf } from '../accounts/openAccount.ts';
import { type Connector, type Credentials, EmrFailure, type SignIn } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import { refusal } from '../errors.ts';
import { requestSync } from '../records/requestSync.ts';
import { burnLinkToken, countSignIn, findLinkToken, type LinkPurpose } from './linkTokens.ts';
import { addPublicToken } from './publicTokens.ts';
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
  const { purpose, stored } = await ctx.db.tenant(client_id, async (tx) => {
    const purpose = await findLinkToken(tx, link_token);
    if (!purpose) throw refusal('link_token_invalid', undefined, { field: 'link_token' });
    return { purpose, stored: await storedCredentials(ctx, tx, purpose) };
  });
  const connector = connectorOf(ctx, purpose.connector);
  const credentials = { ...stored, ...given.credentials };
  checkCredentials(connector, credentials);
  await spendSignIn(ctx, client_id, link_token);
  return { purpose, credentials, signed_in: await signIn(ctx, connector, purpose, credentials, given.one_time_code) };
}

/** Stores the account, uses the link token up and queues the first sync, together or not at all. */
export async function completeLink(
  ctx: Context,
  tx: Tx,
  link_token: string,
  { purpose, credentials, signed_in }: SignedInPerson,
): Promise<string> {
  if (!(await burnLinkToken(tx, link_token))) throw refusal('link_token_invalid', undefined, { field: 'link_token' });
  const { account_id, organisation_id } = await linkAccount(ctx, tx, { ...purpose, credentials, signed_in });
  await requestSync(ctx, tx, { ...purpose, organisation_id, account_id }, { announce: false });
  // The request that brought it is recorded too, but not which account it came to.
  await ctx.audit.recordIn(tx, {
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

function checkCredentials(connector: Connector, credentials: Credentials): void {
  const names = connector.credential_fields.map((field) => field.name);
  const unknown = Object.keys(credentials).filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    throw refusal('unexpected_fields', { fields: unknown.map((name) => `credentials.${name}`).join(', ') });
  }
  const missing = names.find((name) => !credentials[name]);
  if (missing) throw refusal('missing_field', { field: `credentials.${missing}` }, { field: `credentials.${missing}` });
}

/** Refused past a number of tries. The count is committed before the EMR is asked. */
async function spendSignIn(ctx: Context, client_id: string, link_token: string): Promise<void> {
  const spent = await ctx.db.tenant(client_id, (tx) => countSignIn(tx, link_token));
  if (spent === 'exhausted') throw refusal('link_exhausted');
  if (spent === 'gone') throw refusal('link_token_invalid', undefined, { field: 'link_token' });
}

async function signIn(
  ctx: Context,
  connector: Connector,
  purpose: LinkPurpose,
  credentials: Credentials,
  one_time_code: string | undefined,
): Promise<Extract<SignIn, { outcome: 'signed_in' }>> {
  const door = { address: purpose.emr_address, outbound: ctx.outbound, signal: AbortSignal.timeout(30_000) };
  const emr = connector.display_name;
  let outcome: SignIn;
  try {
    outcome = await connector.signIn(door, credentials, one_time_code);
  } catch (error) {
    if (!(error instanceof EmrFailure)) throw error;
    if (error.kind === 'refused')
      throw refusal('emr_sign_in_refused', { emr, reason: error.message }, { cause: error });
    throw refusal('emr_unavailable', { emr }, { cause: error, retry_after_s: 5 });
  }
  if (outcome.outcome === 'signed_in') return outcome;
  if (outcome.outcome === 'code_required') throw refusal('emr_code_required', { emr }, { field: 'one_time_code' });
  const codes = { credentials: 'emr_credentials_wrong', code: 'emr_code_wrong', locked: 'emr_locked' } as const;
  throw refusal(codes[outcome.because], { emr });
}
