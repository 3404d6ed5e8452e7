import { readAccount } from '../accounts/accounts.ts';
import { matchEmrApps } from '../accounts/emrApps.ts';
import { connectorOf, currentCredentials, needsApp } from '../accounts/openAccount.ts';
import { type ApiError, apiError } from '../../catalog/errors.ts';
import type { Context } from '../context.ts';
import type { Tx } from '../../platform/db/database.ts';

type ChoiceContext = Pick<Context, 'vault' | 'connectors' | 'config'>;

/**
 * The app for a link, found by the EMR's host. An account is linked again with what it was linked with: for another
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
  if (!needsApp(connectorOf(ctx, emr.connector), way)) return null;
  const apps = await matchEmrApps(ctx, tx, emr);
  const same = apps.find(({ credentials }) => credentials.way === way && credentials.client_id === client_id);
  if (!same && !ctx.config.sandbox) throw appRequired(emr.emr_address);
  return same?.id ?? null;
}

export function appRequired(emr_address: string): ApiError {
  return apiError('emr_app_required', { host: new URL(emr_address).host }, { field: 'credentials.way' });
}
