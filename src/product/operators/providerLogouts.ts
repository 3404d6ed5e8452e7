import { apiError } from '../../catalog/errors.ts';
import type { Tx } from '../../platform/db/database.ts';
import { IdentityFailure } from '../../platform/security/providerClaims.ts';
import { hashToken } from '../../platform/security/signatures.ts';
import type { Context } from '../context.ts';
import { endProviderSessions } from './operatorSessions.ts';

/** Longer than a sign-in at the provider and a logout token can take. */
const kept_minutes = 60;

/** Ends the sessions that a logout token of the identity provider names, in all processes at once. */
export async function receiveLogout(ctx: Context, logout_token: string, address: string): Promise<void> {
  const { issuer, jti, sid, subject, issued_at } = await readToken(ctx, logout_token);
  const hashes = {
    jti_hash: hashClaim(issuer, 'jti', jti),
    sid_hash: sid === undefined ? null : hashClaim(issuer, 'sid', sid),
    subject_hash: subject === undefined ? null : hashClaim(issuer, 'sub', subject),
  };
  const operators = await ctx.db.system.begin(async (tx) => {
    await lockLogouts(tx);
    await tx`DELETE FROM sso_logouts WHERE received_at < now() - make_interval(mins => ${kept_minutes})`;
    const added = await tx`INSERT INTO sso_logouts ${tx.values({ ...hashes, issued_at })} ON CONFLICT DO NOTHING`;
    if (added.count === 0) throw refuse(ctx, 'jti_repeated');
    const ended = await endProviderSessions(tx, { issuer, subject: subject ?? null, sid_hash: hashes.sid_hash });
    const operators = new Map(ended.map(({ id, email }) => [id, email]));
    for (const [id, email] of operators) {
      await ctx.audit.recordInTransaction(tx, {
        client_id: null,
        actor_kind: 'operator',
        actor: email,
        action: 'operator.provider_logout',
        outcome: 'ended',
        subject: id,
        address,
        detail: { sessions: ended.filter((each) => each.id === id).length },
      });
    }
    return [...operators.keys()];
  });
  for (const id of operators) ctx.notifications.notify('chartwire_operators', id);
}

async function readToken(ctx: Context, logout_token: string) {
  const { identity_provider } = ctx;
  if (!identity_provider) throw apiError('sso_off');
  try {
    return await identity_provider.readLogoutToken(logout_token);
  } catch (error) {
    if (!(error instanceof IdentityFailure)) throw error;
    if (error.kind === 'invalid') throw refuse(ctx, error.code);
    ctx.log.warn({ reason: error.kind, code: error.code }, 'back-channel logout not checked');
    throw apiError('logout_token_unchecked', undefined, { cause: error });
  }
}

function refuse(ctx: Context, code: string): Error {
  ctx.log.warn({ reason: 'logout_token_refused', code }, 'back-channel logout refused');
  return apiError('logout_token_refused');
}

/** A sign-in at the provider: who, in which session there, and when. */
type ProviderSignIn = { issuer: string; subject: string; sid: string | undefined; authenticated_at: Date };

export function hashSid({ issuer, sid }: Pick<ProviderSignIn, 'issuer' | 'sid'>): Buffer | null {
  return sid === undefined ? null : hashClaim(issuer, 'sid', sid);
}

/**
 * Throws if a logout that has arrived meanwhile has ended the session at the provider. Later ones wait until the
 * transaction has stored our session, and find it.
 */
export async function requireNoLogout(tx: Tx, sign_in: ProviderSignIn): Promise<void> {
  const { issuer, subject, authenticated_at } = sign_in;
  await lockLogouts(tx);
  const subject_hash = hashClaim(issuer, 'sub', subject);
  const [logout] = await tx`
    SELECT FROM sso_logouts
     WHERE (subject_hash IS NULL OR subject_hash = ${subject_hash})
       AND (sid_hash = ${hashSid(sign_in)} OR sid_hash IS NULL AND issued_at > ${authenticated_at})
     LIMIT 1`;
  if (logout) throw apiError('sso_expired');
}

async function lockLogouts(tx: Tx): Promise<void> {
  await tx`SELECT pg_advisory_xact_lock(hashtextextended('chartwire.sso_logouts', 0))`;
}

function hashClaim(issuer: string, claim: string, value: string): Buffer {
  return hashToken(`${issuer} ${claim} ${value}`);
}
