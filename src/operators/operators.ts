import type { Config } from '../config.ts';
import type { Context } from '../context.ts';
import type { Sql, Tx } from '../db/database.ts';
import { newId } from '../ids.ts';
import type { OperatorRole } from '../model/dashboard/roles.ts';
import type { PendingSetup, SessionMethod } from '../model/dashboard/session.ts';
import type { OperatorRow } from '../model/dashboard/settings.ts';

/** A person who runs the installation. Operators belong to no tenant. */
export type Operator = {
  id: string;
  email: string;
  name: string;
  role: OperatorRole;
  totp: boolean;
  /** How many passkeys and unused recovery codes the operator has. */
  passkeys: number;
  recovery_codes: number;
  /** The password was generated and shown to someone else. */
  password_temporary: boolean;
  /** How the operator signed in to this session, and whether that was in the last ten minutes. */
  method: SessionMethod;
  fresh: boolean;
};

/** What the operator must do before anything else. A provider of single sign-on has its own rules. */
export function pendingSetup(
  config: Pick<Config, 'operator_second_factor'>,
  { method, password_temporary, totp, passkeys }: Operator,
): PendingSetup | undefined {
  if (method === 'single_sign_on') return undefined;
  if (password_temporary) return 'password';
  return config.operator_second_factor === 'required' && !totp && passkeys === 0 ? 'second_factor' : undefined;
}

export type NewOperator = {
  email: string;
  name: string;
  role: OperatorRole;
  password_hash: string;
  password_temporary: boolean;
};

/** Returns undefined if the email address is taken. */
export async function addOperator(sql: Sql | Tx, operator: NewOperator): Promise<string | undefined> {
  const id = newId();
  const added = await sql`
    INSERT INTO operators ${sql.values({ ...operator, id, email: operator.email.toLowerCase() })}
    ON CONFLICT (email) DO NOTHING`;
  return added.count > 0 ? id : undefined;
}

export async function hasOperators(ctx: Pick<Context, 'db'>): Promise<boolean> {
  const rows = await ctx.db.system`SELECT FROM operators LIMIT 1`;
  return rows.length > 0;
}

export async function listOperators(ctx: Pick<Context, 'db'>): Promise<OperatorRow[]> {
  return ctx.db.system<OperatorRow[]>`
    SELECT id, email, name, role,
           totp_sealed IS NOT NULL OR EXISTS (SELECT FROM operator_passkeys WHERE operator_id = operators.id)
             AS second_factor,
           disabled_at IS NOT NULL AS disabled,
           iso(created_at) AS created_at,
           (SELECT iso(max(seen_at)) FROM operator_sessions WHERE operator_id = operators.id) AS seen_at
      FROM operators ORDER BY disabled_at IS NOT NULL, email`;
}

/** What a sign-in is checked against. */
export type KnownOperator = { id: string; password_hash: string; totp_sealed: Buffer | null; passkeys: boolean };

export async function findOperator(sql: Sql | Tx, email: string): Promise<KnownOperator | undefined> {
  const [row] = await sql<KnownOperator[]>`
    SELECT id, password_hash, totp_sealed,
           EXISTS (SELECT FROM operator_passkeys WHERE operator_id = operators.id) AS passkeys
      FROM operators WHERE email = ${email} AND disabled_at IS NULL`;
  return row;
}

export type OperatorChanges = {
  name?: string | undefined;
  role?: OperatorRole | undefined;
  disabled?: boolean | undefined;
};

/** Updates the given fields. Returns false if there is no such operator. */
export async function changeOperator(tx: Tx, id: string, { name, role, disabled }: OperatorChanges): Promise<boolean> {
  const changed = await tx`
    UPDATE operators SET name = coalesce(${name ?? null}, name), role = coalesce(${role ?? null}, role),
      disabled_at = CASE ${disabled ?? null}::boolean WHEN true THEN coalesce(disabled_at, now()) WHEN false THEN NULL
                    ELSE disabled_at END
     WHERE id = ${id}`;
  return changed.count > 0;
}

/** Whether an active owner remains. The lock prevents two owners from stepping down at the same time. */
export async function hasOwner(tx: Tx): Promise<boolean> {
  const owners = await tx`SELECT id FROM operators WHERE role = 'owner' AND disabled_at IS NULL ORDER BY id FOR UPDATE`;
  return owners.length > 0;
}

export async function setPassword(
  sql: Sql | Tx,
  id: string,
  { hash, temporary }: { hash: string; temporary: boolean },
): Promise<boolean> {
  const updated = await sql`
    UPDATE operators SET password_hash = ${hash}, password_temporary = ${temporary} WHERE id = ${id}`;
  return updated.count > 0;
}

/** Keeps others from changing the operator until the transaction ends. */
export async function lockOperator(tx: Tx, id: string): Promise<{ totp: boolean }> {
  const [row] = await tx<{ totp: boolean }[]>`
    SELECT totp_sealed IS NOT NULL AS totp FROM operators WHERE id = ${id} FOR UPDATE`;
  return { totp: row?.totp === true };
}

/** Stores the sealed TOTP secret; null removes it. */
export async function setTotp(sql: Sql | Tx, id: string, sealed: Buffer | null): Promise<void> {
  await sql`UPDATE operators SET totp_sealed = ${sealed}, totp_step = 0 WHERE id = ${id}`;
}

/** Marks a TOTP time step as used. Returns false if it or a later one was already used. */
export async function consumeTotpStep(sql: Sql | Tx, id: string, step: number): Promise<boolean> {
  const spent = await sql`UPDATE operators SET totp_step = ${step} WHERE id = ${id} AND totp_step < ${step}`;
  return spent.count > 0;
}
