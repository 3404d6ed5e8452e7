import { type ApiError, apiError } from '../../catalog/errors.ts';
import { parseId } from '../../catalog/ids.ts';
import { matchHost } from '../../emr/endpointPins.ts';
import { missingParams, replacedParams, type SearchConstants } from '../../emr/requestSettings.ts';
import type { Tx } from '../../platform/db/database.ts';
import { readAccount } from '../accounts/accounts.ts';
import { currentCredentials, needsApp, requireConnector } from '../accounts/connectAccount.ts';
import { type EmrApp, findEmrApp, matchEmrApps } from '../accounts/emrApps.ts';
import type { Context } from '../context.ts';

/** What identifies the EMR of an organization. */
export type Organization = { connector: string; emr_address: string; search_params: SearchConstants };

/** A practice that shares its address with others is linked with an app only, which may say what names a practice. */
export async function requirePracticeApp(
  ctx: Context,
  tx: Tx,
  { search_params }: Organization,
  app_id: string | null,
): Promise<string | null> {
  requirePracticeParams(app_id === null ? undefined : await findEmrApp(ctx, tx, app_id), search_params);
  return app_id;
}

/** Throws if the searches of the practice would not be limited to it, or if the app is for another practice. */
export function requirePracticeParams(app: EmrApp | undefined, own: SearchConstants): void {
  if (!app && Object.keys(own).length > 0) {
    throw apiError('search_params_need_app', undefined, { field: 'search_params' });
  }
  const missing = missingParams(app?.search_params ?? {}, own);
  if (missing.length > 0) {
    throw apiError('search_params_required', { names: missing.join(', ') }, { field: 'search_params' });
  }
  const [replaced] = replacedParams(app?.search_params ?? {}, own);
  if (replaced !== undefined) {
    const rule = `search_params must not contain ${replaced}, for which the EMR app has another value`;
    throw apiError('invalid_field', { rule }, { field: 'search_params' });
  }
}

/** The app that the request names, which must fit the EMR. */
export async function namedApp(ctx: Context, tx: Tx, text: string): Promise<EmrApp> {
  const id = parseId(text);
  const app = id && (await findEmrApp(ctx, tx, id));
  if (!app) throw apiError('emr_app_not_found', { id: text }, { field: 'emr_app_id' });
  if (!app.registered) throw apiError('emr_app_unregistered', undefined, { field: 'emr_app_id' });
  return app;
}

export function requireFit(app: EmrApp, emr: Organization): void {
  const fits = app.connector === emr.connector && matchHost(app.hosts, emr.emr_address) !== undefined;
  if (!fits) throw apiError('emr_app_mismatch', undefined, { field: 'emr_app_id' });
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
