import { ApiError, apiError } from '../../catalog/errors.ts';
import { newToken } from '../../catalog/ids.ts';
import type { Credentials, Grant } from '../../emr/connector.ts';
import type { Tx } from '../../platform/db/database.ts';
import { hashToken } from '../../platform/security/signatures.ts';
import { requireConnector } from '../accounts/connectAccount.ts';
import type { Context } from '../context.ts';
import {
  attemptSignIn,
  callEmr,
  checkCredentials,
  countSignInAttempt,
  quoteEmr,
  refusalError,
  resolveCredentials,
} from './credentials.ts';
import { type LinkPurpose, lookUpLinkByHash } from './linkTokens.ts';
import { callbackId, findKeySetUrl, returnAddress } from './registrations.ts';

/**
 * Starts a sign-in on the EMR's own page. `window` is a secret of the window that goes there and is required when it
 * returns, so that a URL sent to someone else cannot sign them in to this link.
 */
export async function startPageSignIn(
  ctx: Context,
  link: { token: string; purpose: LinkPurpose },
  sent: Credentials,
): Promise<{ url: string; window: string }> {
  const { purpose } = link;
  const { connector, credentials, way } = await ctx.db.tenant(purpose.client_id, (tx) =>
    resolveCredentials(ctx, tx, purpose, sent),
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
  const page = { credentials, pending, callback_id, emr_address: purpose.emr_address };
  await ctx.db.tenant(purpose.client_id, (tx) => addPageSignIn(ctx, tx, link, { state, window, page }));
  return { url, window };
}

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
  const claimed = await claimPageSignIn(ctx, state, window);
  if (!claimed) throw apiError('page_sign_in_unknown');
  try {
    // Another EMR's page returned here: its code must not go to the token endpoint of this one.
    if (callback_id !== claimed.page.callback_id) throw apiError('page_sign_in_mixed_up');
    const grant = await exchange(ctx, claimed, returned);
    await endPageSignIn(ctx, claimed, { grant });
  } catch (error) {
    const { code: failure, message } = error instanceof ApiError ? error : apiError('internal');
    await endPageSignIn(ctx, claimed, { failure, message });
    throw error;
  }
}

async function exchange(ctx: Context, { link_token_hash, page }: ClaimedPageSignIn, returned: URL): Promise<Grant> {
  const { credentials, pending, callback_id } = page;
  const link = await lookUpLinkByHash(ctx, link_token_hash);
  if (!link || link.purpose.connector === null) throw apiError('page_sign_in_unknown');
  const { purpose, state } = link;
  const connector = requireConnector(ctx, purpose.connector);
  const { page_sign_in } = connector;
  // After an app was deleted, the link is one without it, and nothing would say where the app's secret may go.
  const same_app = callbackId(purpose) === callback_id;
  // Nor does the code of one practice go to another that was chosen since.
  const same_emr = purpose.emr_address === page.emr_address;
  if (state !== 'open' || !page_sign_in || !same_app || !same_emr) throw apiError('page_sign_in_unknown');
  const { result } = await attemptSignIn(ctx, { purpose, token_hash: link_token_hash }, async (endpoint) => {
    const outcome = await callEmr(connector, () => page_sign_in.finish(endpoint, credentials, pending, returned));
    if (outcome.outcome === 'signed_in') return outcome.grant;
    if (outcome.reason === 'person') throw apiError('emr_page_declined', { emr: connector.display_name });
    if (outcome.reason === 'expired') throw apiError('page_sign_in_unknown');
    const refused = refusalError(connector, outcome, await findKeySetUrl(ctx, purpose));
    throw quoteEmr(refused, connector, outcome);
  });
  return result;
}

/** State stored while a person is on the EMR's own page. `callback_id`: where the page must return to. */
export type PageSignInState = { credentials: Credentials; pending: Grant; callback_id: string; emr_address: string };

/** A sign-in that only its claimer completes. */
type ClaimedPageSignIn = { client_id: string; link_token_hash: Buffer; state: string; page: PageSignInState };

/** Enough time to find a password, but not to leave the window open over lunch. */
const page_minutes = 15;

/** Starts a sign-in, replacing an earlier one of the same link. */
export async function addPageSignIn(
  ctx: Context,
  tx: Tx,
  link: { token: string; purpose: LinkPurpose },
  { state, window, page }: { state: string; window: string; page: PageSignInState },
): Promise<void> {
  const { client_id } = link.purpose;
  const hash = hashToken(link.token);
  const sealed = await ctx.vault.seal(tx, toOwner(client_id), bindings.pending(hash), JSON.stringify(page));
  await tx`
    INSERT INTO page_sign_ins (link_token_hash, client_id, state_hash, window_hash, pending_sealed)
    VALUES (${hash}, ${client_id}, ${hashToken(state)}, ${hashToken(window)}, ${sealed})
    ON CONFLICT (link_token_hash) DO UPDATE SET state_hash = excluded.state_hash, window_hash = excluded.window_hash,
      pending_sealed = excluded.pending_sealed, grant_sealed = NULL, failure = NULL, failure_message = NULL,
      returned_at = NULL, created_at = now()`;
}

/** Claims a sign-in for completion, in the window that started it. Of several attempts exactly one succeeds. */
export async function claimPageSignIn(
  ctx: Context,
  state: string,
  window: string,
): Promise<ClaimedPageSignIn | undefined> {
  const [owner] = await ctx.db.system<{ client_id: string }[]>`
    SELECT client_id FROM page_sign_ins WHERE state_hash = ${hashToken(state)}`;
  if (!owner) return undefined;
  return ctx.db.tenant(owner.client_id, async (tx) => {
    const [row] = await tx<{ link_token_hash: Buffer; pending_sealed: Buffer }[]>`
      UPDATE page_sign_ins SET returned_at = now()
       WHERE state_hash = ${hashToken(state)} AND window_hash = ${hashToken(window)} AND returned_at IS NULL
         AND created_at > now() - make_interval(mins => ${page_minutes})
      RETURNING link_token_hash, pending_sealed`;
    if (!row) return undefined;
    const { link_token_hash } = row;
    const text = await ctx.vault.unseal(tx, row.pending_sealed, bindings.pending(link_token_hash));
    // Sealed by addPageSignIn from a value of this type.
    return { ...owner, link_token_hash, state, page: JSON.parse(text) };
  });
}

/** Stores the result: the EMR's grant or an error code. A sign-in started since is left alone. */
export async function endPageSignIn(
  ctx: Context,
  { client_id, link_token_hash, state }: ClaimedPageSignIn,
  end: { grant: Grant } | { failure: string; message: string },
): Promise<void> {
  await ctx.db.tenant(client_id, async (tx) => {
    const grant =
      'grant' in end
        ? await ctx.vault.seal(tx, toOwner(client_id), bindings.grant(link_token_hash), JSON.stringify(end.grant))
        : null;
    const [failure, message] = 'failure' in end ? [end.failure, end.message] : [null, null];
    await tx`UPDATE page_sign_ins SET grant_sealed = ${grant}, failure = ${failure}, failure_message = ${message}
      WHERE link_token_hash = ${link_token_hash} AND state_hash = ${hashToken(state)}`;
  });
}

export type PageState = {
  state: 'none' | 'waiting' | 'returned' | 'signed_in' | 'failed';
  /** An error code and its message. */
  failure: string | null;
  message: string | null;
};

export async function readPageState(ctx: Context, client_id: string, link_token: string): Promise<PageState> {
  const [row] = await ctx.db.read<PageState>(
    client_id,
    (sql) => sql`
      SELECT failure, failure_message AS message, CASE WHEN failure IS NOT NULL THEN 'failed' WHEN grant_sealed IS NOT NULL THEN 'signed_in'
                           WHEN returned_at IS NOT NULL THEN 'returned' ELSE 'waiting' END AS state
        FROM page_sign_ins WHERE link_token_hash = ${hashToken(link_token)}`,
  );
  return row ?? { state: 'none', failure: null, message: null };
}

/** The grant of a completed sign-in with the same EMR app, and the credentials it was started with. */
export async function readPageGrant(
  ctx: Context,
  tx: Tx,
  link_token: string,
  purpose: LinkPurpose,
): Promise<{ credentials: Credentials; grant: Grant } | undefined> {
  const hash = hashToken(link_token);
  const [row] = await tx<{ pending_sealed: Buffer; grant_sealed: Buffer }[]>`
    SELECT pending_sealed, grant_sealed FROM page_sign_ins
     WHERE link_token_hash = ${hash} AND grant_sealed IS NOT NULL`;
  if (!row) return undefined;
  // Both were sealed here from values of these types.
  const page: PageSignInState = JSON.parse(await ctx.vault.unseal(tx, row.pending_sealed, bindings.pending(hash)));
  if (page.callback_id !== callbackId(purpose)) return undefined;
  const grant: Grant = JSON.parse(await ctx.vault.unseal(tx, row.grant_sealed, bindings.grant(hash)));
  return { credentials: page.credentials, grant };
}

export async function removePageSignIn(tx: Tx, link_token: string): Promise<void> {
  await tx`DELETE FROM page_sign_ins WHERE link_token_hash = ${hashToken(link_token)}`;
}

/** No account exists yet, so these values are sealed with the client's own data key. */
function toOwner(client_id: string) {
  return { client_id, owner_id: client_id };
}

const bindings = {
  pending: (link_token_hash: Buffer) => `page_pending:${link_token_hash.toString('hex')}`,
  grant: (link_token_hash: Buffer) => `page_grant:${link_token_hash.toString('hex')}`,
};
