import { readAccount } from '../accounts/accounts.ts';
import { type EmrApp, findEmrApp } from '../accounts/emrApps.ts';
import { connectorOf, currentCredentials } from '../accounts/openAccount.ts';
import type { Connector, Credentials, SignInWay } from '../../emr/connector.ts';
import type { EndpointPins } from '../../emr/endpointPins.ts';
import type { Context } from '../context.ts';
import type { Tx } from '../../platform/db/database.ts';
import { mergeCredentials, trimCredentials } from './checkCredentials.ts';
import type { LinkPurpose } from './linkTokens.ts';

/**
 * The credentials of a sign-in, not checked yet: those of the EMR app alone, with where they may go, or what was entered,
 * completed by what is known already.
 */
export async function resolveCredentials(
  ctx: Context,
  tx: Tx,
  purpose: LinkPurpose,
  given: Credentials,
): Promise<ResolvedCredentials> {
  const connector = connectorOf(ctx, purpose.connector);
  const { stored, app } = await knownCredentials(ctx, tx, purpose);
  const credentials = app?.credentials ?? mergeCredentials(stored, trimCredentials(connector, given));
  const way = connector.sign_in_ways?.find(({ name }) => name === credentials.way);
  return { connector, credentials, way, pins: app };
}

type ResolvedCredentials = {
  connector: Connector;
  credentials: Credentials;
  way: SignInWay | undefined;
  pins: EndpointPins | undefined;
};

/** What need not be entered: the credentials of the EMR app, or without one, in update mode, those of the account. */
type KnownCredentials = { stored: Credentials; app: EmrApp | undefined };

export async function knownCredentials(ctx: Context, tx: Tx, purpose: LinkPurpose): Promise<KnownCredentials> {
  const app = purpose.emr_app_id === null ? undefined : await findEmrApp(ctx, tx, purpose.emr_app_id);
  const account = purpose.account_id === null ? undefined : await readAccount(tx, purpose.account_id);
  // Those of an app are for the endpoints of that app, so that a link without it does not use them.
  const entered = purpose.emr_app_id === null && account?.emr_app_id === null;
  if (!account || account.status === 'revoked' || !entered) return { stored: {}, app };
  return { stored: await currentCredentials(ctx, tx, account, account.credentials_sealed), app };
}
