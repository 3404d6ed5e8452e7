import { readAccount } from '../accounts/accounts.ts';
import { type EmrApp, findEmrApp } from '../accounts/emrApps.ts';
import { currentCredentials } from '../accounts/openAccount.ts';
import type { Credentials } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import type { LinkPurpose } from './linkTokens.ts';

/** What need not be entered: the credentials of the EMR app, and in update mode those of the account. */
export type KnownCredentials = { stored: Credentials; app: EmrApp | undefined };

export async function knownCredentials(ctx: Context, tx: Tx, purpose: LinkPurpose): Promise<KnownCredentials> {
  const app = purpose.emr_app_id === null ? undefined : await findEmrApp(ctx, tx, purpose.emr_app_id);
  const account = purpose.account_id === null ? undefined : await readAccount(tx, purpose.account_id);
  if (!account || account.status === 'revoked') return { stored: {}, app };
  return { stored: await currentCredentials(ctx, tx, account, account.credentials_sealed), app };
}

/**
 * The known credentials updated with the submitted ones. With another sign-in method, the stored ones are dropped. What
 * an EMR app defines cannot be replaced.
 */
export function mergeCredentials({ stored, app }: KnownCredentials, given: Credentials): Credentials {
  const chosen = { ...given, ...app?.credentials };
  const method_changed = chosen.way !== undefined && chosen.way !== stored.way;
  return method_changed ? chosen : { ...stored, ...chosen };
}
