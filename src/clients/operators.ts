import type { Context } from '../context.ts';
import { newId } from '../ids.ts';
import { hashPassword, verifyPassword } from '../security/passwords.ts';

/** People who run the installation. They stand above the tenants, so these rows belong to none. */
export async function keepOwner(ctx: Context, email: string, password: string): Promise<void> {
  const [row] = await ctx.db.system<{ password_hash: string }[]>`
    SELECT password_hash FROM operators WHERE email = ${email}`;
  if (row && (await verifyPassword(row.password_hash, password))) return;
  const hash = await hashPassword(password);
  await ctx.db.system`INSERT INTO operators (id, email, password_hash, role)
    VALUES (${newId()}, ${email}, ${hash}, 'owner')
    ON CONFLICT (email) DO UPDATE SET password_hash = excluded.password_hash`;
}
