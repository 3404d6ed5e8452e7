import type { Context } from '../context.ts';
import { newId } from '../ids.ts';
import type { OperatorRole } from '../model/dashboard/roles.ts';
import { hashPassword, verifyPassword } from '../security/passwords.ts';

/** A person who runs the installation. Operators stand above the tenants, so these rows belong to none. */
export type Operator = { id: string; email: string; name: string; role: OperatorRole; totp: boolean };

export async function addOperator(
  ctx: Pick<Context, 'db'>,
  operator: { email: string; name: string; role: OperatorRole; password: string },
): Promise<boolean> {
  const added = await ctx.db.system`
    INSERT INTO operators (id, email, name, password_hash, role)
    VALUES (${newId()}, ${operator.email.toLowerCase()}, ${operator.name}, ${await hashPassword(operator.password)},
            ${operator.role})
    ON CONFLICT (email) DO NOTHING`;
  return added.count > 0;
}

export async function hasOperators(ctx: Pick<Context, 'db'>): Promise<boolean> {
  const rows = await ctx.db.system`SELECT FROM operators LIMIT 1`;
  return rows.length > 0;
}

/** The sandbox's owner, whose password is written down beside it and therefore always the one that is written there. */
export async function keepOwner(ctx: Context, email: string, password: string): Promise<void> {
  const [row] = await ctx.db.system<{ password_hash: string }[]>`
    SELECT password_hash FROM operators WHERE email = ${email}`;
  if (row && (await verifyPassword(row.password_hash, password))) return;
  if (await addOperator(ctx, { email, name: 'Sandbox owner', role: 'owner', password })) return;
  await ctx.db.system`UPDATE operators SET password_hash = ${await hashPassword(password)} WHERE email = ${email}`;
}
