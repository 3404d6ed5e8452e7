import { randomBytes } from 'node:crypto';
import { apiError } from '../../catalog/errors.ts';
import type { Tx } from '../../platform/db/database.ts';
import { hashPassword, verifyPassword } from '../../platform/security/passwords.ts';
import type { Context } from '../context.ts';
import { setClients } from './operatorAccess.ts';
import { endPreparations, findInvitation, takeInvitation } from './operatorInvitations.ts';
import { endOperatorSessions } from './operatorSessions.ts';
import {
  addOperator,
  allowLocalSignIn,
  findOperator,
  hasOperators,
  hasOwner,
  lockActiveOwner,
  lockStanding,
  markNewOwner,
  type Operator,
  type Standing,
  setPassword,
  setTemporaryPassword,
} from './operators.ts';
import { removeSecondFactors } from './secondFactor.ts';
import { forgetDevices } from './signIn.ts';

/** 96 random bits that can be typed. */
export function newPassword(): string {
  return randomBytes(12).toString('base64url');
}

/** Writes the audit record in the transaction of the change. */
type RecordInTransaction = (tx: Tx, id: string) => Promise<void>;

/**
 * Creates the operator that an invitation was made for, with a password of their own. Undefined if the invitation is no
 * longer valid. An address that got an operator in the meantime is an error, and leaves the invitation as it is.
 */
export async function acceptInvitation(
  ctx: Pick<Context, 'db'>,
  { token, name, password }: { token: string; name: string; password: string },
  recordInTransaction: (tx: Tx, created: { id: string; invitation_id: string; email: string }) => Promise<void>,
): Promise<{ operator_id: string; email: string } | undefined> {
  const open = await findInvitation(ctx.db.system, token);
  if (open === undefined) return undefined;
  await checkNewPassword(password, { email: open.email, name }, 'password');
  const password_hash = await hashPassword(password);
  return ctx.db.system.begin(async (tx) => {
    // Locked before the invitation, in the order in which disabling an operator takes its locks.
    if (!(await lockActiveOwner(tx, open.inviter_id))) return undefined;
    const invited = await takeInvitation(tx, token);
    if (!invited) return undefined;
    const { id: invitation_id, clients, ...operator } = invited;
    const id = await addOperator(tx, {
      ...operator,
      name,
      all_clients: clients === null,
      password_hash,
      password_temporary: false,
    });
    if (id === undefined) throw apiError('operator_exists');
    if (clients) await setClients(tx, id, clients);
    await markNewOwner(tx, id);
    await recordInTransaction(tx, { id, invitation_id, email: operator.email });
    return { operator_id: id, email: operator.email };
  });
}

type ResetOptions = {
  reset_by?: string;
  authorize?: (standing: Standing) => void;
  despite_single_sign_on?: boolean;
};

/**
 * Resets an operator's password (shown once), removes all second factors and ends all sessions and all that the operator
 * has prepared. `reset_by`: the owner who sees the password; `authorize` throws if it may not be seen. `despite_single_sign_on` accepts the password for an hour
 * even if the operator, or everyone, uses single sign-on.
 */
export async function resetOperator(
  ctx: Pick<Context, 'db' | 'audit'>,
  id: string,
  recordInTransaction: RecordInTransaction,
  { reset_by, authorize, despite_single_sign_on = false }: ResetOptions = {},
): Promise<string | undefined> {
  const password = newPassword();
  const hash = await hashPassword(password);
  return ctx.db.system.begin(async (tx) => {
    // Locks the owners first, in the same order as every other change: two may reset each other at the same time.
    await hasOwner(tx);
    if (reset_by !== undefined && !(await lockActiveOwner(tx, reset_by))) throw apiError('operator_session_over');
    const standing = await lockStanding(tx, id);
    if (standing) authorize?.(standing);
    if (!(await setTemporaryPassword(tx, id, hash, reset_by ?? null))) return undefined;
    await removeSecondFactors(tx, id);
    await forgetDevices(tx, id);
    if (despite_single_sign_on) await allowLocalSignIn(tx, id);
    await endOperatorSessions(tx, id);
    await endPreparations(ctx, tx, id);
    await recordInTransaction(tx, id);
    return password;
  });
}

/** Changes an operator's own password and ends all other sessions; `session` is the current one. */
export async function changePassword(
  ctx: Pick<Context, 'db'>,
  operator: Pick<Operator, 'id' | 'email' | 'name'>,
  recordInTransaction: RecordInTransaction,
  { password, session }: { password: string; session: string | undefined },
): Promise<void> {
  const { id } = operator;
  await checkNewPassword(password, operator, 'new_password');
  const stored = await findOperator(ctx.db.system, operator.email);
  if (await verifyPassword(stored?.password_hash ?? undefined, password)) {
    throw apiError(
      'invalid_field',
      { rule: 'The new password must differ from the current one' },
      { field: 'new_password' },
    );
  }
  const hash = await hashPassword(password);
  await ctx.db.system.begin(async (tx) => {
    await setPassword(tx, id, hash);
    await endOperatorSessions(tx, id, session);
    await recordInTransaction(tx, id);
  });
}

/** Creates the first owner. If several processes start at once, one of them creates it and returns the password. */
export async function createFirstOwner(ctx: Context): Promise<{ email: string; password: string } | undefined> {
  // With OIDC_ONLY the password would not be accepted, and owners come from the identity provider.
  if (ctx.config.oidc_only || (await hasOperators(ctx))) return undefined;
  const email = ctx.config.owner_email;
  const password = newPassword();
  const password_hash = await hashPassword(password);
  return ctx.db.system.begin(async (tx) => {
    const rights = { role: 'owner', may_see_disclosures: true } as const;
    const owner = { email, name: 'Owner', ...rights, password_hash, password_temporary: true };
    const subject = await addOperator(tx, owner);
    if (subject === undefined) return undefined;
    await ctx.audit.recordInTransaction(tx, {
      client_id: null,
      actor_kind: 'system',
      actor: 'first start',
      action: 'operator.create',
      outcome: 'created',
      subject,
    });
    return { email, password };
  });
}

/** Creates the sandbox's owner, or resets its password to the one in sandbox.json. */
export async function ensureSandboxOwner(ctx: Context, email: string, password: string): Promise<void> {
  const existing = await findOperator(ctx.db.system, email);
  if (existing && (await verifyPassword(existing.password_hash ?? undefined, password))) return;
  const hash = await hashPassword(password);
  if (existing) await setPassword(ctx.db.system, existing.id, hash);
  else {
    const owner = {
      email,
      name: 'Sandbox owner',
      role: 'owner',
      may_see_disclosures: true,
      password_hash: hash,
      password_temporary: false,
    } as const;
    await addOperator(ctx.db.system, owner);
  }
}

const length = { min: 12, max: 128 };

/** Throws `invalid_field` if a password is too short or long, easy to guess, or the operator's name or email address. */
export async function checkNewPassword(
  password: string,
  { email, name }: { email: string; name: string },
  field: string,
): Promise<void> {
  const rule = ruleBroken(
    password.normalize('NFKC'),
    [email, email.split('@')[0] ?? '', name],
    await commonPasswords(),
  );
  if (rule !== undefined) throw apiError('invalid_field', { rule: `The new password ${rule}` }, { field });
}

function ruleBroken(password: string, own: string[], common: ReadonlySet<string>): string | undefined {
  const characters = [...password].length;
  if (characters < length.min) return `must have at least ${length.min} characters`;
  if (characters > length.max) return `can have at most ${length.max} characters`;
  const spellings = [fold(password), undecorated(password)];
  if (own.some((each) => each !== '' && spellings.includes(fold(each)))) {
    return 'must not be your name or email address';
  }
  if (spellings.some((each) => common.has(each))) return 'is easy to guess. Choose one that fewer people use';
  return undefined;
}

/** Few common passwords have 12 characters. People extend them with digits and punctuation: `Sunshine2026!`. */
function undecorated(password: string): string {
  return fold(password).replaceAll(/^[^\p{L}]+|[^\p{L}]+$/gu, '');
}

function fold(text: string): string {
  return text.normalize('NFKC').trim().toLowerCase();
}

let loaded: Promise<ReadonlySet<string>> | undefined;

/** 49,000 passwords. Loaded when the first password is set: most processes and commands never need them. */
function commonPasswords(): Promise<ReadonlySet<string>> {
  loaded ??= import('@zxcvbn-ts/language-common').then(
    ({ dictionary }) => new Set(dictionary['passwords-common'].map((each) => each.toLowerCase())),
  );
  return loaded;
}
