import { newToken } from '../../catalog/ids.ts';
import type { SignInChecks } from '../../platform/security/identityProvider.ts';
import type { ProviderTokens } from '../../platform/security/providerClaims.ts';
import { hashToken } from '../../platform/security/signatures.ts';
import type { Context } from '../context.ts';

/** The time a person has to sign in at the provider. */
export const sign_in_minutes = 10;

/**
 * Remembers a sign-in for which the browser goes to the provider. `browser` is a secret of this browser, required when it
 * returns, so that a URL sent to someone else cannot sign them in. `session`: a session whose operator confirms their
 * identity. Older sign-ins are deleted.
 */
export async function addSsoSignIn(
  ctx: Pick<Context, 'db' | 'system_keys'>,
  path: string,
  session: string | undefined,
): Promise<{ browser: string; checks: SignInChecks }> {
  const [browser, state] = [newToken('page_window'), newToken('page_state')];
  const [nonce, verifier] = [newToken('page_state'), newToken('page_state')];
  const state_hash = hashToken(state);
  const checks_sealed = ctx.system_keys.seal(
    'operators',
    stateBinding(state_hash),
    JSON.stringify({ nonce, verifier }),
  );
  await ctx.db.system`DELETE FROM sso_sign_ins WHERE created_at < now() - make_interval(mins => ${sign_in_minutes})`;
  await ctx.db.system`
    INSERT INTO sso_sign_ins ${ctx.db.system.values({
      state_hash,
      browser_hash: hashToken(browser),
      checks_sealed,
      path,
      session_hash: session === undefined ? null : hashToken(session),
    })}`;
  return { browser, checks: { state, nonce, verifier, again: session !== undefined } };
}

/** A sign-in whose browser has returned. `session_hash`: the session to renew, if it confirms an identity. */
export type TakenSignIn = { checks: SignInChecks; path: string; session_hash: Buffer | null; started_at: Date };

/** Takes the sign-in of a browser that has returned. It can be taken once. */
export async function takeSsoSignIn(
  ctx: Pick<Context, 'db' | 'system_keys'>,
  { state, browser }: { state: string; browser: string },
): Promise<TakenSignIn | undefined> {
  const state_hash = hashToken(state);
  const [row] = await ctx.db.system<(Omit<TakenSignIn, 'checks'> & { checks_sealed: Buffer })[]>`
    DELETE FROM sso_sign_ins WHERE state_hash = ${state_hash} AND browser_hash = ${hashToken(browser)}
      AND created_at > now() - make_interval(mins => ${sign_in_minutes})
    RETURNING checks_sealed, path, session_hash, created_at AS started_at`;
  if (!row) return undefined;
  const { checks_sealed, ...taken } = row;
  const unsealed = ctx.system_keys.unseal('operators', stateBinding(state_hash), checks_sealed);
  const secrets = JSON.parse(unsealed) as Pick<SignInChecks, 'nonce' | 'verifier'>;
  return { ...taken, checks: { state, ...secrets, again: row.session_hash !== null } };
}

function stateBinding(state_hash: Buffer): string {
  return `sso_sign_ins:${state_hash.toString('hex')}`;
}

/** The provider's tokens as a session stores them. They belong to this session alone. */
export function sealTokens(
  { system_keys }: Pick<Context, 'system_keys'>,
  session_hash: Buffer,
  tokens: ProviderTokens,
): Buffer {
  return system_keys.seal('operators', tokenBinding(session_hash), JSON.stringify(tokens));
}

export function unsealTokens(
  { system_keys }: Pick<Context, 'system_keys'>,
  session_hash: Buffer,
  sealed: Buffer,
): ProviderTokens {
  return JSON.parse(system_keys.unseal('operators', tokenBinding(session_hash), sealed));
}

function tokenBinding(session_hash: Buffer): string {
  return `operator_sessions.provider:${session_hash.toString('hex')}`;
}
