import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import { type ApiError, apiError } from '../errors.ts';
import { type OperatorRole, operator_roles } from '../model/dashboard/roles.ts';
import { type Identity, IdentityFailure, type IdentityFailureKind } from '../security/identityProvider.ts';
import { forgetDevices } from './operatorDevices.ts';
import { type Browser, endSessionsOf, startSession } from './operatorSessions.ts';
import {
  addSsoOperator,
  findOperatorToLink,
  findSsoOperator,
  linkOperator,
  type SsoOperator,
  updateSsoOperator,
} from './operators.ts';
import { removeSecondFactors } from './secondFactor.ts';
import { signInEntry } from './signInEntry.ts';
import { addSsoSignIn, takeSsoSignIn } from './ssoSignIns.ts';

/** Starts a sign-in at the identity provider. `path` is the page of the dashboard to return to. */
export async function startSingleSignOn(ctx: Context, path: string): Promise<{ url: string; browser: string }> {
  const { identity_provider } = ctx;
  if (!identity_provider) throw apiError('sso_off');
  const { browser, checks } = await addSsoSignIn(ctx, path);
  const url = await withProvider(ctx, () => identity_provider.authorizationUrl(callbackUrl(ctx), checks));
  return { url, browser };
}

/** Signs in an operator whose browser has returned from the provider. Returns the session token and the page to show. */
export async function finishSingleSignOn(
  ctx: Context,
  returned: { query: string; state_cookie: string | undefined },
  browser: Browser,
): Promise<{ token: string; path: string }> {
  const { identity_provider } = ctx;
  if (!identity_provider) throw apiError('sso_off');
  const url = new URL(callbackUrl(ctx));
  url.search = returned.query;
  const { state_cookie = '' } = returned;
  const taken = await takeSsoSignIn(ctx, { state: url.searchParams.get('state') ?? '', browser: state_cookie });
  if (!taken) {
    ctx.log.warn({ reason: 'state unknown, used or expired' }, 'single sign-on refused');
    throw apiError('sso_expired');
  }
  const isComplete = (claims: Identity['claims']) => emailOf(claims) !== undefined && rolesOf(ctx, claims).length > 0;
  const identity = await withProvider(ctx, () => identity_provider.identify(url, taken.checks, isComplete));
  const { address } = browser;
  const operator = await ctx.db.system.begin((tx) => admit({ ctx, tx, address }, identity));
  if ('refused' in operator) {
    ctx.log.warn({ reason: operator.refused.code }, 'single sign-on refused');
    throw operator.refused;
  }
  return { token: await startSession(ctx, operator.id, 'single_sign_on', browser), path: taken.path };
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

type Admitted = { id: string } | { refused: ApiError };

/**
 * Finds or creates the operator of an identity and gives it the role of its claims. Identities are known by issuer and
 * subject: people can change an email address, and providers assign it again. A refusal is returned, not thrown: its audit
 * record and ended sessions must be committed.
 */
async function admit(sign_in: SignIn, { issuer, subject, claims }: Identity): Promise<Admitted> {
  const { ctx, tx } = sign_in;
  const role = rolesOf(ctx, claims).at(-1);
  const email = emailOf(claims);
  const name = typeof claims.name === 'string' ? claims.name.trim().slice(0, 100) : undefined;
  const known = await findSsoOperator(tx, issuer, subject);
  if (known) return readmit(sign_in, known, { role, name });
  if (!role) return refuse(sign_in, undefined, apiError('sso_role_missing'));
  if (!email) return refuse(sign_in, undefined, apiError('sso_email_missing'));
  const id = await addSsoOperator(tx, { email, name: name ?? '', role, issuer, subject });
  if (id) {
    await record(sign_in, { id, email }, 'created', { role });
    return { id };
  }
  // The same person may have signed in twice at the same moment.
  const created = await findSsoOperator(tx, issuer, subject);
  return created ? readmit(sign_in, created, { role, name }) : takeOver(sign_in, { email, role, issuer, subject });
}

async function readmit(
  sign_in: SignIn,
  known: SsoOperator,
  { role, name }: { role: OperatorRole | undefined; name: string | undefined },
): Promise<Admitted> {
  const { tx } = sign_in;
  if (role !== known.role) await endSessionsOf(tx, known.id);
  if (known.disabled) return refuse(sign_in, known, apiError('sso_disabled'));
  if (!role) return refuse(sign_in, known, apiError('sso_role_missing'));
  await updateSsoOperator(tx, known.id, { role, name });
  await record(sign_in, known, 'signed in', role === known.role ? {} : { role });
  return known;
}

/** The email address belongs to another operator, who can be linked only while an owner allows it. */
async function takeOver(
  sign_in: SignIn,
  { email, role, issuer, subject }: { email: string; role: OperatorRole; issuer: string; subject: string },
): Promise<Admitted> {
  const { tx } = sign_in;
  const other = await findOperatorToLink(tx, email);
  if (other?.disabled) return refuse(sign_in, other, apiError('sso_disabled'));
  if (!other?.allowed) return refuse(sign_in, other, apiError('sso_email_taken'));
  await linkOperator(tx, other.id, { role, issuer, subject });
  await removeSecondFactors(tx, other.id);
  await forgetDevices(tx, other.id);
  await endSessionsOf(tx, other.id);
  await record(sign_in, other, 'linked', { role });
  return other;
}

type Named = { id: string; email: string };

async function refuse(sign_in: SignIn, operator: Named | undefined, refused: ApiError): Promise<Admitted> {
  await record(sign_in, operator, refused.code);
  return { refused };
}

function record({ ctx, tx, address }: SignIn, operator: Named | undefined, outcome: string, detail: object = {}) {
  const entry = signInEntry(operator, { address }, outcome, { method: 'single_sign_on', ...detail });
  return ctx.audit.recordInTransaction(tx, entry);
}

/** Undefined if the provider says that the address is not verified. Many providers do not say. */
function emailOf({ email, email_verified }: Identity['claims']): string | undefined {
  const valid = typeof email === 'string' && email.length <= 320 && /^[^\s@]+@[^\s@]+$/.test(email);
  return valid && email_verified !== false ? email.toLowerCase() : undefined;
}

/** The roles that the claim maps to, lowest first. */
function rolesOf({ config }: Pick<Context, 'config'>, claims: Identity['claims']): OperatorRole[] {
  const claim = claims[config.oidc_role_claim] ?? atPath(claims, config.oidc_role_claim.split('.'));
  const roles = new Set([claim].flat().map((value) => config.oidc_roles.get(String(value))));
  return operator_roles.filter((role) => roles.has(role));
}

function atPath(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, name) => (Object.hasOwn(Object(inner), name) ? Object(inner)[name] : undefined),
    value,
  );
}
