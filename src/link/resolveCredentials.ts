import { readAccount } from '../accounts/accounts.ts';
import { type EmrApp, findEmrApp } from '../accounts/emrApps.ts';
import { connectorOf, currentCredentials } from '../accounts/openAccount.ts';
import type { Connector, Credentials, SignInWay } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import { mergeCredentials, trimCredentials } from './checkCredentials.ts';
import type { LinkPurpose } from './linkTokens.ts';

/** The credentials of a sign-in: what was entered, completed by what is known already. Not checked yet. */
export async function resolveCredentials(
  ctx: Context,
  tx: Tx,
  purpose: LinkPurpose,
  given: Credentials,
): Promise<{ connector: Connector; credentials: Credentials; way: SignInWay | undefined }> {
  const connector = connectorOf(ctx, purpose.connector);
  const { stored, app } = await knownCredentials(ctx, tx, purpose);
  // What an EMR app defines cannot be replaced.
  const credentials = mergeCredentials(stored, { ...trimCredentials(connector, given), ...app?.credentials });
  return { connector, credentials, way: connector.sign_in_ways?.find(({ name }) => name === credentials.way) };
}

/** What need not be entered: the credentials of the EMR app, and in update mode those of the account. */
type KnownCredentials = { stored: Credentials; app: EmrApp | undefined };

export async function knownCredentials(ctx: Context, tx: Tx, purpose: LinkPurpose): Promise<KnownCredentials> {
  const app = purpose.emr_app_id === null ? undefined : await findEmrApp(ctx, tx, purpose.emr_app_id);
  const account = purpose.account_id === null ? undefined : await readAccount(tx, purpose.account_id);
  if (!account || account.status === 'revoked') return { stored: {}, app };
  return { stored: await currentCredentials(ctx, tx, account, account.credentials_sealed), app };
}
