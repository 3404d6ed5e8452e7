import { apiError } from '../../catalog/errors.ts';
import { newToken } from '../../catalog/ids.ts';
import type { Credentials } from '../../emr/connector.ts';
import type { Context } from '../context.ts';
import { hashToken } from '../../platform/security/hash.ts';
import { attemptSignIn, callEmr } from './callEmr.ts';
import { checkCredentials } from './checkCredentials.ts';
import { countSignInAttempt } from './countSignInAttempt.ts';
import type { LinkPurpose } from './linkTokens.ts';
import { addPageSignIn } from './pageSignIns.ts';
import { callbackId, returnAddress } from './registrationUrls.ts';
import { resolveCredentials } from './resolveCredentials.ts';

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
  const { connector, credentials, way } = await ctx.db.tenant(purpose.client_id, (tx) =>
    resolveCredentials(ctx, tx, purpose, given),
  );
  checkCredentials(connector, credentials);
  const { page_sign_in } = connector;
  if (!way?.on_page || !page_sign_in) {
    const rule = 'credentials.way does not use an EMR page.';
    throw apiError('invalid_field', { rule }, { field: 'credentials.way' });
  }
  await countSignInAttempt(ctx, purpose.client_id, link.token);
  const [state, window] = [newToken('page_state'), newToken('page_window')];
  const callback_id = callbackId(purpose);
  const back = { return_address: returnAddress(ctx, callback_id), state };
  const attempt = { token_hash: hashToken(link.token), purpose };
  const { result } = await attemptSignIn(ctx, attempt, (endpoint) =>
    callEmr(connector, () => page_sign_in.start(endpoint, credentials, back)),
  );
  const { url, pending } = result;
  const page = { credentials, pending, callback_id };
  await ctx.db.tenant(purpose.client_id, (tx) => addPageSignIn(ctx, tx, link, { state, window, page }));
  return { url, window };
}
