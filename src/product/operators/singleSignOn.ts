import { ApiError, apiError } from '../../catalog/errors.ts';
import { type ClientRole, client_roles, type OperatorRole, operator_roles } from '../../catalog/roles.ts';
import type { Tx } from '../../platform/db/database.ts';
import type { Identity } from '../../platform/security/identityProvider.ts';
import { type ClaimReader, IdentityFailure, type IdentityFailureKind } from '../../platform/security/providerClaims.ts';
import type { Context } from '../context.ts';
import { disableInactiveOperators } from './inactivity.ts';
import { isLowered, readAccess, setClaimedClients } from './operatorAccess.ts';
import { endPreparations } from './operatorInvitations.ts';
import {
  type Browser,
  endOperatorSessions,
  findSessionOwner,
  finishProviderCheck,
  keepProviderSession,
  keepProviderTokens,
  renewSession,
  startSession,
} from './operatorSessions.ts';
import {
  addSsoOperator,
  findOperatorToLink,
  findSsoOperator,
  linkOperator,
  type SsoOperator,
  setClaims,
} from './operators.ts';
import { hashSid, requireNoLogout } from './providerLogouts.ts';
import { removeSecondFactors } from './secondFactor.ts';
import { forgetDevices, signInEntry } from './signIn.ts';
import { describeStrength, findWeakness } from './signInStrength.ts';
import { addSsoSignIn, sealTokens, type TakenSignIn, takeSsoSignIn } from './ssoSignIns.ts';

/** The provider's clock may be behind ours. */
const clock_skew_ms = 30_000;

/**
 * Starts a sign-in at the identity provider. `path` is the page of the dashboard to return to; `session`, the session of
 * an operator who confirms their identity.
 */
export async function startSingleSignOn(
  ctx: Context,
  path: string,
  session?: string,
): Promise<{ url: string; browser: string }> {
  const { identity_provider } = ctx;
  if (!identity_provider) throw apiError('sso_off');
  const { browser, checks } = await addSsoSignIn(ctx, path, session);
  const url = await withProvider(ctx, () => identity_provider.authorizationUrl(callbackUrl(ctx), checks));
  return { url, browser };
}

/** The page to show to a browser that has returned, and the token of a session that was started. */
export type FinishedSignIn = { path: string; token?: string; refused?: ApiError };

/**
 * Signs in an operator whose browser has returned from the provider, or renews the session that the operator left. A
 * renewal that is refused still has a page to return to.
 */
export async function finishSingleSignOn(
  ctx: Context,
  returned: { query: string; state_cookie: string | undefined },
  browser: Browser,
): Promise<FinishedSignIn> {
  const url = new URL(callbackUrl(ctx));
  url.search = returned.query;
  const { state_cookie = '' } = returned;
  const taken = await takeSsoSignIn(ctx, { state: url.searchParams.get('state') ?? '', browser: state_cookie });
  if (!taken) {
    ctx.log.warn({ reason: 'state unknown, used or expired' }, 'single sign-on refused');
    throw apiError('sso_expired');
  }
  try {
    return await admitReturned(ctx, url, taken, browser);
  } catch (error) {
    if (taken.session_hash === null || !(error instanceof ApiError)) throw error;
    return { path: taken.path, refused: error };
  }
}

async function admitReturned(
  ctx: Context,
  url: URL,
  { checks, path, session_hash, started_at }: TakenSignIn,
  browser: Browser,
): Promise<FinishedSignIn> {
  const { identity_provider } = ctx;
  if (!identity_provider) throw apiError('sso_off');
  const identity = await withProvider(ctx, () => identity_provider.identify(url, checks, claimReader(ctx)));
  const { tokens } = identity;
  const sealProvider = (hash: Buffer) => (tokens ? sealTokens(ctx, hash, tokens) : null);
  const { address } = browser;
  // Before the transaction, in which the operator is locked before the owners.
  await disableInactiveOperators(ctx);
  const authenticated_at = readAuthTime(identity.claims);
  const operator = await ctx.db.system.begin(async (tx) => {
    const sign_in = { ctx, tx, address };
    if (session_hash === null) return admit(sign_in, identity);
    return renew(sign_in, identity, { session_hash, started_at, authenticated_at });
  });
  ctx.notifications.notify('chartwire_operators', operator.id ?? '');
  if (operator.refused) {
    ctx.log.warn({ reason: operator.refused.code }, 'single sign-on refused');
    throw operator.refused;
  }
  if (!tokens) ctx.log.warn({ reason: 'no_tokens' }, 'the identity provider offers no way to check operators again');
  if (session_hash !== null) {
    // Without new tokens, the session is checked with those that it has.
    if (tokens) await keepProviderTokens(ctx.db.system, session_hash, sealTokens(ctx, session_hash, tokens));
    return { path };
  }
  // The provider may have asked for the password hours ago, so only its own word makes the session fresh.
  const provider_sign_in = describeSignIn(identity);
  const session = {
    operator_id: operator.id,
    method: 'single_sign_on',
    browser,
    authenticated_at,
    sealProvider,
    provider_session: {
      sid_hash: hashSid(provider_sign_in),
      requireOpen: (tx: Tx) => requireNoLogout(tx, provider_sign_in),
    },
  } as const;
  const token = await startSession(ctx, session);
  return { path, token };
}

/**
 * Gives an operator the access that the provider claims now, while a session is in use. Returns whether it has changed.
 * Without a role, all sessions of the operator end; otherwise, if it has changed, all but this one.
 */
export async function applyClaims(
  ctx: Context,
  operator: Named & { address: string },
  claims: Identity['claims'],
  session_hash: Buffer,
): Promise<boolean> {
  return ctx.db.system.begin(async (tx) => {
    const sign_in = { ctx, tx, address: operator.address };
    const grants = readGrants(ctx, claims);
    const changed = await applyGrants(sign_in, operator.id, { grants, name: undefined }, session_hash);
    await finishProviderCheck(tx, session_hash);
    if (!changed && hasRole(grants)) return false;
    const outcome = hasRole(grants) ? 'access changed' : 'sso_role_missing';
    const entry = signInEntry(operator, operator, outcome, { method: 'single_sign_on', ...describe(grants) });
    await ctx.audit.recordInTransaction(tx, { ...entry, action: 'operator.provider_check' });
    return true;
  });
}

/** Where to sign out at the provider too; null if it offers no such page, or cannot be reached. */
export async function providerSignOutUrl(ctx: Context): Promise<string | null> {
  try {
    return (await ctx.identity_provider?.signOutUrl(`${ctx.base_url}/dashboard`)) ?? null;
  } catch (error) {
    ctx.log.warn({ err: error }, 'not signed out at the identity provider');
    return null;
  }
}

export function claimReader(ctx: Pick<Context, 'config'>): ClaimReader {
  return {
    isComplete: (claims) => readEmail(claims) !== undefined && hasRole(readGrants(ctx, claims)),
    readRoles: (claims) => JSON.stringify(describe(readGrants(ctx, claims))),
  };
}

/** Where the provider sends the browser back to. */
export function callbackUrl(ctx: Pick<Context, 'base_url'>): string {
  return `${ctx.base_url}/dashboard/sign-in/callback`;
}

const failure_codes = {
  unavailable: 'sso_unavailable',
  declined: 'sso_declined',
  client_refused: 'sso_client_refused',
  invalid: 'sso_invalid',
} as const satisfies Record<IdentityFailureKind, string>;

async function withProvider<T>(ctx: Context, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof IdentityFailure)) throw error;
    ctx.log.warn({ reason: error.kind, code: error.code }, 'single sign-on failed');
    throw apiError(failure_codes[error.kind], undefined, { cause: error });
  }
}

/** A sign-in in progress. */
type SignIn = { ctx: Context; tx: Tx; address: string };

type Admitted = { id: string; refused?: undefined } | { id?: string; refused: ApiError };

/** What the claims give: a role without a client, and roles in clients by their public ids. */
type Grants = { role: OperatorRole | undefined; clients: ReadonlyMap<string, ClientRole> };

/**
 * Finds or creates the operator of an identity and gives it the access of its claims. Identities are known by issuer and
 * subject: people can change an email address, and providers assign it again. A refusal is returned, not thrown: its audit
 * record and ended sessions must be committed.
 */
async function admit(sign_in: SignIn, { issuer, subject, claims, id_token }: Identity): Promise<Admitted> {
  const { ctx, tx } = sign_in;
  const grants = readGrants(ctx, claims);
  const email = readEmail(claims);
  const name = typeof claims.name === 'string' ? claims.name.trim().slice(0, 100) : undefined;
  const existing = await findSsoOperator(tx, issuer, subject);
  const weak = findWeakness(ctx, id_token);
  if (weak) return refuse(sign_in, existing, weak, describeStrength(id_token));
  if (existing) return readmit(sign_in, existing, { grants, name });
  if (!hasRole(grants)) return refuse(sign_in, undefined, apiError('sso_role_missing'));
  if (!email) return refuse(sign_in, undefined, apiError('sso_email_missing'));
  const id = await addSsoOperator(tx, { email, name: name ?? '', issuer, subject });
  if (id) {
    await storeGrants(sign_in, id, { grants, name });
    await record(sign_in, { id, email }, 'created', describe(grants));
    return { id };
  }
  // The same person may have signed in twice at the same moment.
  const created = await findSsoOperator(tx, issuer, subject);
  if (created) return readmit(sign_in, created, { grants, name });
  return takeOver(sign_in, { email, issuer, subject, grants, verified: isTrue(claims.email_verified) });
}

type Claimed = { grants: Grants; name: string | undefined };

/** Access that the provider no longer claims ends at once, with all sessions and all that the operator has prepared. */
async function readmit(sign_in: SignIn, existing: SsoOperator, claimed: Claimed): Promise<Admitted> {
  const changed = await applyGrants(sign_in, existing.id, claimed, undefined);
  if (existing.disabled) return refuse(sign_in, existing, apiError('sso_disabled'));
  if (!hasRole(claimed.grants)) return refuse(sign_in, existing, apiError('sso_role_missing'));
  await record(sign_in, existing, 'signed in', changed ? describe(claimed.grants) : {});
  return existing;
}

/** The same person must have signed in again at the provider, after the confirmation was started. */
async function renew(
  sign_in: SignIn,
  identity: Identity,
  session: { session_hash: Buffer; started_at: Date; authenticated_at: Date | null },
): Promise<Admitted> {
  const { ctx, tx } = sign_in;
  const { issuer, subject, claims, id_token } = identity;
  const provider_sign_in = describeSignIn(identity);
  await requireNoLogout(tx, provider_sign_in);
  const existing = await findSsoOperator(tx, issuer, subject);
  const owner = await findSessionOwner(ctx, tx, session.session_hash);
  if (!existing || existing.id !== owner) return refuse(sign_in, existing, apiError('sso_other_person'));
  const claimed = { grants: readGrants(ctx, claims), name: undefined };
  await applyGrants(sign_in, existing.id, claimed, session.session_hash);
  if (existing.disabled) return refuse(sign_in, existing, apiError('sso_disabled'));
  if (!hasRole(claimed.grants)) return refuse(sign_in, existing, apiError('sso_role_missing'));
  const weak = findWeakness(ctx, id_token);
  if (weak) return refuse(sign_in, existing, weak, describeStrength(id_token));
  if (!session.authenticated_at) return refuse(sign_in, existing, apiError('sso_auth_time_missing'));
  const earliest = session.started_at.getTime() - clock_skew_ms;
  if (session.authenticated_at.getTime() < earliest) return refuse(sign_in, existing, apiError('sso_not_again'));
  if (!(await renewSession(tx, session.session_hash)))
    return refuse(sign_in, existing, apiError('operator_session_over'));
  await finishProviderCheck(tx, session.session_hash);
  await keepProviderSession(tx, session.session_hash, hashSid(provider_sign_in));
  await record(sign_in, existing, 'identity confirmed');
  return existing;
}

/**
 * Gives an operator the access of new claims. If it differs from before, the operator's sessions end, except for
 * `except`, which keeps its place with the new access; if it is lower, so does what the operator has prepared.
 */
async function applyGrants(
  sign_in: SignIn,
  id: string,
  claimed: Claimed,
  except: Buffer | undefined,
): Promise<boolean> {
  const { tx } = sign_in;
  const before = await readAccess(tx, id);
  await storeGrants(sign_in, id, claimed);
  const after = await readAccess(tx, id);
  const changed = JSON.stringify(before) !== JSON.stringify(after);
  const none = !hasRole(claimed.grants);
  if (none) await endOperatorSessions(tx, id);
  else if (changed) await endOperatorSessions(tx, id, except);
  if (none || isLowered(before, after)) await endPreparations(sign_in.ctx, tx, id);
  return changed;
}

async function storeGrants({ ctx, tx }: SignIn, id: string, { grants, name }: Claimed): Promise<void> {
  await setClaims(tx, id, { role: grants.role, name });
  const unknown = await setClaimedClients(tx, id, grants.clients);
  if (unknown.length > 0) ctx.log.warn({ reason: unknown.join(', ') }, 'OIDC_ROLES names clients that do not exist');
}

/** The email address belongs to another operator, who can be linked only while an owner allows it. */
async function takeOver(sign_in: SignIn, { email, issuer, subject, grants, verified }: Takeover): Promise<Admitted> {
  const { tx } = sign_in;
  const other = await findOperatorToLink(tx, email);
  if (other?.disabled) return refuse(sign_in, other, apiError('sso_disabled'));
  if (!other?.allowed) return refuse(sign_in, other, apiError('sso_email_taken'));
  if (!verified) return refuse(sign_in, other, apiError('sso_email_unverified'));
  await linkOperator(tx, other.id, { issuer, subject });
  await removeSecondFactors(tx, other.id);
  await forgetDevices(tx, other.id);
  await endOperatorSessions(tx, other.id);
  await applyGrants(sign_in, other.id, { grants, name: undefined }, undefined);
  await record(sign_in, other, 'linked', describe(grants));
  return other;
}

type Takeover = { email: string; issuer: string; subject: string; grants: Grants; verified: boolean };

type Named = { id: string; email: string };

async function refuse(
  sign_in: SignIn,
  operator: Named | undefined,
  refused: ApiError,
  detail: object = {},
): Promise<Admitted> {
  await record(sign_in, operator, refused.code, detail);
  return operator ? { id: operator.id, refused } : { refused };
}

function record({ ctx, tx, address }: SignIn, operator: Named | undefined, outcome: string, detail: object = {}) {
  const entry = signInEntry(operator, { address }, outcome, { method: 'single_sign_on', ...detail });
  return ctx.audit.recordInTransaction(tx, entry);
}

/** The sign-in as a logout names it. */
function describeSignIn({ issuer, subject, claims, id_token }: Identity) {
  const sid = typeof id_token.sid === 'string' && id_token.sid !== '' ? id_token.sid : undefined;
  const issued_at = typeof id_token.iat === 'number' ? new Date(id_token.iat * 1000) : new Date();
  return { issuer, subject, sid, authenticated_at: readAuthTime(claims) ?? issued_at };
}

/** Undefined if the provider says that the address is not verified. Many providers do not say. */
function readEmail({ email, email_verified }: Identity['claims']): string | undefined {
  const valid = typeof email === 'string' && email.length <= 320 && /^[^\s@]+@[^\s@]+$/.test(email);
  return valid && (email_verified === undefined || isTrue(email_verified)) ? email.toLowerCase() : undefined;
}

/** Some providers send flags as text. */
function isTrue(claim: unknown): boolean {
  return claim === true || claim === 'true';
}

/** When the person signed in at the provider; null if it does not say. */
function readAuthTime({ auth_time }: Identity['claims']): Date | null {
  return typeof auth_time === 'number' && Number.isFinite(auth_time) ? new Date(auth_time * 1000) : null;
}

/** The highest roles that the claim maps to, without a client and in each client. */
function readGrants({ config }: Pick<Context, 'config'>, claims: Identity['claims']): Grants {
  const claim = claims[config.oidc_role_claim] ?? atPath(claims, config.oidc_role_claim.split('.'));
  const mapped = [claim].flat().flatMap((value) => config.oidc_roles.get(String(value)) ?? []);
  const highest = operator_roles.filter((role) =>
    mapped.some((each) => each.client_id === undefined && each.role === role),
  );
  const clients = new Map<string, ClientRole>();
  for (const role of client_roles) {
    for (const each of mapped)
      if (each.client_id !== undefined && each.role === role) clients.set(each.client_id, role);
  }
  return { role: highest.at(-1), clients };
}

function hasRole({ role, clients }: Grants): boolean {
  return role !== undefined || clients.size > 0;
}

/** For the audit record. */
function describe({ role, clients }: Grants): object {
  return { ...(role ? { role } : {}), ...(clients.size > 0 ? { clients: Object.fromEntries(clients) } : {}) };
}

function atPath(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, name) => (Object.hasOwn(Object(inner), name) ? Object(inner)[name] : undefined),
    value,
  );
}
