import { connectorOf } from '../accounts/openAccount.ts';
import { ApiError, apiError } from '../../catalog/errors.ts';
import type { Context } from '../context.ts';
import { attemptSignIn, callEmr } from './callEmr.ts';
import { lookUpLinkByHash } from './linkTokens.ts';
import { claimPageSignIn, endPageSignIn, type PageSignInState } from './pageSignIns.ts';
import { quoteEmr, refusalError } from './refusalError.ts';
import { callbackId, findKeySetUrl, returnAddress } from './registrationUrls.ts';

/**
 * Completes a sign-in after the EMR's page has redirected back, to the redirect URI with `callback_id`. Link's own window
 * learns of it by polling.
 */
export async function finishPageSignIn(
  ctx: Context,
  { query, window, callback_id }: { query: string; window: string; callback_id: string },
): Promise<void> {
  const returned = new URL(returnAddress(ctx, encodeURIComponent(callback_id)));
  returned.search = query;
  const state = returned.searchParams.get('state') ?? '';
  const taken = await claimPageSignIn(ctx, state, window);
  if (!taken) throw apiError('page_sign_in_unknown');
  const { client_id, link_token_hash, page } = taken;
  try {
    // Another EMR's page returned here: its code must not go to the token endpoint of this one.
    if (callback_id !== page.callback_id) throw apiError('page_sign_in_mixed_up');
    const grant = await exchange(ctx, link_token_hash, page, returned);
    await endPageSignIn(ctx, client_id, link_token_hash, state, { grant });
  } catch (error) {
    const { code: failure, message } = error instanceof ApiError ? error : apiError('internal');
    await endPageSignIn(ctx, client_id, link_token_hash, state, { failure, message });
    throw error;
  }
}

async function exchange(
  ctx: Context,
  link_token_hash: Buffer,
  { credentials, pending, callback_id }: PageSignInState,
  returned: URL,
) {
  const link = await lookUpLinkByHash(ctx, link_token_hash);
  const connector = link && connectorOf(ctx, link.purpose.connector);
  const page_sign_in = connector?.page_sign_in;
  // After an app was deleted, the link is one without it, and nothing would say where the app's secret may go.
  const same_app = link && callbackId(link.purpose) === callback_id;
  if (link?.state !== 'open' || !page_sign_in || !same_app) throw apiError('page_sign_in_unknown');
  const { result } = await attemptSignIn(ctx, { ...link, token_hash: link_token_hash }, async (endpoint) => {
    const outcome = await callEmr(connector, () => page_sign_in.finish(endpoint, credentials, pending, returned));
    if (outcome.outcome === 'signed_in') return outcome.grant;
    if (outcome.reason === 'person') throw apiError('emr_page_declined', { emr: connector.display_name });
    if (outcome.reason === 'expired') throw apiError('page_sign_in_unknown');
    const refused = refusalError(connector, outcome, await findKeySetUrl(ctx, link.purpose));
    throw quoteEmr(refused, connector, outcome);
  });
  return result;
}
