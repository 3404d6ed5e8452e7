import type { IdentityProvider } from '../../platform/security/identityProvider.ts';
import { IdentityFailure } from '../../platform/security/providerClaims.ts';
import { hashToken } from '../../platform/security/signatures.ts';
import type { Context } from '../context.ts';
import {
  claimProviderCheck,
  endSession,
  findSession,
  keepProviderTokens,
  type ProviderCheck,
} from './operatorSessions.ts';
import type { Operator } from './operators.ts';
import { signInEntry } from './signIn.ts';
import { applyClaims, claimReader } from './singleSignOn.ts';
import { sealTokens, unsealTokens } from './ssoSignIns.ts';

/**
 * The operator of an unexpired session, with the access that the identity provider claims now, or did at most
 * `OIDC_CHECK_SECONDS` ago. One request waits for the provider; others that arrive meanwhile have the access so far.
 */
export async function findCheckedSession(
  ctx: Context,
  token: string,
  options: { active: boolean },
): Promise<Operator | undefined> {
  const session = await findSession(ctx, token, options);
  if (!session) return undefined;
  const { check_due, ...operator } = session;
  const { identity_provider } = ctx;
  if (!check_due || !identity_provider) return operator;
  if (await isUnchanged(ctx, identity_provider, hashToken(token))) return operator;
  const changed = await findSession(ctx, token, { active: false });
  if (!changed) return undefined;
  const { check_due: _, ...now } = changed;
  return now;
}

/** Asks the provider, unless another request is doing that, and applies what it says. */
async function isUnchanged(ctx: Context, provider: IdentityProvider, session_hash: Buffer): Promise<boolean> {
  const check = await claimProviderCheck(ctx, session_hash);
  if (!check) return true;
  try {
    const tokens = unsealTokens(ctx, session_hash, check.provider_sealed);
    const claims = await provider.identifyAgain(check.subject, tokens, claimReader(ctx), (renewed) =>
      keepProviderTokens(ctx.db.system, session_hash, sealTokens(ctx, session_hash, renewed)),
    );
    const changed = await applyClaims(ctx, check, claims, session_hash);
    if (changed) ctx.notifications.notify('chartwire_operators', check.id);
    return !changed;
  } catch (error) {
    if (!(error instanceof IdentityFailure)) throw error;
    ctx.log.warn({ reason: error.kind, code: error.code }, 'operator not checked at the identity provider');
    // An outage of the provider must not lock everyone out at once.
    if (error.kind !== 'declined' && !check.overdue) return true;
    await end(ctx, check, session_hash, error.kind === 'declined' ? 'sso_declined' : 'sso_unavailable');
    return false;
  }
}

async function end(ctx: Context, check: ProviderCheck, session_hash: Buffer, outcome: string): Promise<void> {
  await ctx.db.system.begin(async (tx) => {
    await endSession(tx, session_hash);
    const entry = signInEntry(check, check, outcome, { method: 'single_sign_on' });
    await ctx.audit.recordInTransaction(tx, { ...entry, action: 'operator.provider_check' });
  });
  ctx.notifications.notify('chartwire_operators', check.id);
}
