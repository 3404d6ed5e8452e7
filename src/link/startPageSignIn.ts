import { connectorOf } from '../accounts/openAccount.ts';
import type { Credentials } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import { apiError } from '../errors.ts';
import { newToken } from '../ids.ts';
import { callEmr, emrEndpoint } from './callEmr.ts';
import { checkCredentials, trimCredentials } from './checkCredentials.ts';
import { countSignInAttempt } from './countSignInAttempt.ts';
import { knownCredentials, mergeCredentials } from './knownCredentials.ts';
import type { LinkPurpose } from './linkTokens.ts';
import { addPageSignIn } from './pageSignIns.ts';

/** The redirect URI of the EMR's page. It must be registered with the EMR, so it is the same for every link. */
export function returnAddress(ctx: Context): string {
  return `${ctx.base_url}/link/v1/oauth/callback`;
}

/**
 * Starts a sign-in on the EMR's own page. `window` is a secret of the window that goes there and is required when it
 * returns, so that a URL sent to someone else cannot sign them in to this link.
 */
export async function startPageSignIn(
  ctx: Context,
  link: { token: string; purpose: LinkPurpose },
  given: Credentials,
): Promise<{ url: string; window: string }> {
  const { purpose } = link;
  const connector = connectorOf(ctx, purpose.connector);
  const known = await ctx.db.tenant(purpose.client_id, (tx) => knownCredentials(ctx, tx, purpose));
  const credentials = mergeCredentials(known, trimCredentials(connector, given));
  checkCredentials(connector, credentials);
  const way = connector.sign_in_ways?.find(({ name }) => name === credentials.way);
  const { page_sign_in } = connector;
  if (!way?.on_page || !page_sign_in) {
    const rule = 'credentials.way does not use an EMR page.';
    throw apiError('invalid_field', { rule }, { field: 'credentials.way' });
  }
  await countSignInAttempt(ctx, purpose.client_id, link.token);
  const [state, window] = [newToken('page_state'), newToken('page_window')];
  const back = { return_address: returnAddress(ctx), state };
  const { url, pending } = await callEmr(connector, () =>
    page_sign_in.start(emrEndpoint(ctx, purpose), credentials, back),
  );
  const page = { credentials, pending };
  await ctx.db.tenant(purpose.client_id, (tx) => addPageSignIn(ctx, tx, link, { state, window, page }));
  return { url, window };
}
