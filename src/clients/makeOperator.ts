import { randomBytes } from 'node:crypto';
import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import type { OperatorRole } from '../model/dashboard/roles.ts';
import { hashPassword, verifyPassword } from '../security/passwords.ts';
import { endSessionsOf } from './operatorSessions.ts';
import { addOperator, findOperator, hasOperators, keepPassword, keepSecondFactor } from './operators.ts';

/** 96 random bits that can be typed. */
export function newPassword(): string {
  return randomBytes(12).toString('base64url');
}

/** Leaves word of a change in its transaction; the change and the word stand together or not at all. */
type RecordInTransaction = (tx: Tx, id: string) => Promise<void>;

/** Makes an operator with a password that is shown once. Undefined when somebody has this e-mail address already. */
export async function makeOperator(
  ctx: Pick<Context, 'db'>,
  operator: { email: string; name: string; role: OperatorRole },
  recordInTransaction: RecordInTransaction,
): Promise<{ id: string; password: string } | undefined> {
  const password = newPassword();
  const password_hash = await hashPassword(password);
  return ctx.db.system.begin(async (tx) => {
    const id = await addOperator(tx, { ...operator, password_hash, password_temporary: true });
    if (id === undefined) return undefined;
    await recordInTransaction(tx, id);
    return { id, password };
  });
}

/** Gives somebody who cannot sign in a new password, shown once, without a second factor; open sessions end. */
export async function resetOperator(
  ctx: Pick<Context, 'db'>,
  id: string,
  recordInTransaction: RecordInTransaction,
): Promise<string | undefined> {
  const password = newPassword();
  const hash = await hashPassword(password);
  return ctx.db.system.begin(async (tx) => {
    if (!(await keepPassword(tx, id, { hash, temporary: true }))) return undefined;
    await keepSecondFactor(tx, id, null);
    await endSessionsOf(tx, id);
    await recordInTransaction(tx, id);
    return password;
  });
}

/** An operator's own new password. Whoever else has a session of theirs loses it; `session` is the one that stays. */
export async function changePassword(
  ctx: Pick<Context, 'db'>,
  id: string,
  password: string,
  session: string | undefined,
  recordInTransaction: RecordInTransaction,
): Promise<void> {
  const hash = await hashPassword(password);
  await ctx.db.system.begin(async (tx) => {
    await keepPassword(tx, id, { hash, temporary: false });
    await endSessionsOf(tx, id, session);
    await recordInTransaction(tx, id);
  });
}

/** An installation begins with one owner. Of several processes that start at once one makes it, and tells. */
export async function makeFirstOwner(ctx: Context): Promise<{ email: string; password: string } | undefined> {
  if (await hasOperators(ctx)) return undefined;
  const email = ctx.config.owner_email;
  const made = await makeOperator(ctx, { email, name: 'Owner', role: 'owner' }, (tx, subject) =>
    ctx.audit.recordInTransaction(tx, {
      client_id: null,
      actor_kind: 'system',
      actor: 'first start',
      action: 'operator.create',
      outcome: 'created',
      subject,
    }),
  );
  return made && { email, password: made.password };
}

/** The sandbox's owner, whose password is written down beside it and therefore always the one that is written there. */
export async function keepSandboxOwner(ctx: Context, email: string, password: string): Promise<void> {
  const known = await findOperator(ctx.db.system, email);
  if (known && (await verifyPassword(known.password_hash, password))) return;
  const hash = await hashPassword(password);
  if (known) await keepPassword(ctx.db.system, known.id, { hash, temporary: false });
  else {
    const owner = {
      email,
      name: 'Sandbox owner',
      role: 'owner',
      password_hash: hash,
      password_temporary: false,
    } as const;
    await addOperator(ctx.db.system, owner);
  }
}
