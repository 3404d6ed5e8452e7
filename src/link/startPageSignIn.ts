import { connectorOf } from '../accounts/openAccount.ts';
import type { Credentials } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import { apiError } from '../errors.ts';
import { newToken } from '../ids.ts';
import { askEmr, emrEndpoint } from './askEmr.ts';
import { checkCredentials, mergeCredentials } from './checkCredentials.ts';
import type { LinkPurpose } from './linkTokens.ts';
import { addPageSignIn } from './pageSignIns.ts';
import { spendSignIn } from './spendSignIn.ts';
import { storedCredentials } from './storedCredentials.ts';

/** Where the EMR's page leads back to. It must be registered with the EMR, so it is the same for every link. */
export function returnAddress(ctx: Context): string {
  return `${ctx.base_url}/link/v1/oauth/callback`;
}

/**
 * Begins a sign-in on the EMR's own page. `window` is told to the window that goes there and asked for when it comes
 * back: an address that was sent to somebody else signs nobody in for us.
 */
export async function startPageSignIn(
  ctx: Context,
  link: { token: string; purpose: LinkPurpose },
  given: Credentials,
): Promise<{ url: string; window: string }> {
  const { purpose } = link;
  const connector = connectorOf(ctx, purpose.connector);
  const stored = await ctx.db.tenant(purpose.client_id, (tx) => storedCredentials(ctx, tx, purpose));
  const credentials = mergeCredentials(stored, given);
  checkCredentials(connector, credentials);
  const way = connector.sign_in_ways?.find(({ name }) => name === credentials.way);
  const { page_sign_in } = connector;
  if (!way?.on_page || !page_sign_in) {
    const rule = 'credentials.way is none that has a page.';
    throw apiError('invalid_field', { rule }, { field: 'credentials.way' });
  }
  await spendSignIn(ctx, purpose.client_id, link.token);
  const [state, window] = [newToken('page_state'), newToken('page_window')];
  const back = { return_address: returnAddress(ctx), state };
  const { url, pending: kept } = await askEmr(connector, () =>
    page_sign_in.start(emrEndpoint(ctx, purpose), credentials, back),
  );
  const page = { credentials, kept };
  await ctx.db.tenant(purpose.client_id, (tx) => addPageSignIn(ctx, tx, link, { state, window, page }));
  return { url, window };
}
