import type { Config } from '../config.ts';
import type { Context } from '../context.ts';
import type { Fragment, Query, Sql, Tx } from '../db/database.ts';
import { newId } from '../ids.ts';
import type { ClientRole, OperatorRole } from '../model/dashboard/roles.ts';
import type { PendingSetup, SessionMethod } from '../model/dashboard/session.ts';
import type { OperatorRow } from '../model/dashboard/settings.ts';

/** A person who runs the installation. Operators belong to no tenant. */
export type Operator = {
  id: string;
  email: string;
  name: string;
  /** The role in all clients. Without `all_clients`, the roles in `clients` apply instead. */
  role: OperatorRole;
  all_clients: boolean;
  clients: { id: string; client_id: string; role: ClientRole }[];
  /** May reveal patient details that the role hides. */
  may_reveal: boolean;
  totp: boolean;
  /** How many passkeys and unused recovery codes the operator has. */
  passkeys: number;
  recovery_codes: number;
  /** The password was generated and shown to someone else. */
  password_temporary: boolean;
  /** Signs in at the identity provider, which also decides the role. */
  single_sign_on: boolean;
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
  all_clients?: boolean;
  may_reveal?: boolean;
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
    SELECT id, email, name, ${accessColumns(ctx.db.system)},
           totp_sealed IS NOT NULL OR EXISTS (SELECT FROM operator_passkeys WHERE operator_id = operators.id)
             AS second_factor,
           disabled_at IS NOT NULL AS disabled, sso_subject IS NOT NULL AS single_sign_on,
           CASE WHEN sso_link_until > now() THEN iso(sso_link_until) END AS sso_link_until, iso(created_at) AS created_at,
           (SELECT iso(max(seen_at)) FROM operator_sessions WHERE operator_id = operators.id) AS seen_at
      FROM operators ORDER BY disabled_at IS NOT NULL, email`;
}

/** Whether an operator has this address, disabled ones included. */
export async function isEmailTaken(sql: Sql | Tx, email: string): Promise<boolean> {
  const rows = await sql`SELECT FROM operators WHERE email = ${email.toLowerCase()}`;
  return rows.length > 0;
}

/** What a sign-in is checked against. */
export type KnownOperator = {
  id: string;
  /** Null for operators who use single sign-on. */
  password_hash: string | null;
  totp_sealed: Buffer | null;
  passkeys: boolean;
  single_sign_on: boolean;
  /** A password is accepted although single sign-on is used, because it was reset on the server an hour ago or less. */
  local_sign_in: boolean;
};

export async function findOperator(sql: Sql | Tx, email: string): Promise<KnownOperator | undefined> {
  const [row] = await sql<KnownOperator[]>`
    SELECT id, password_hash, totp_sealed, sso_subject IS NOT NULL AS single_sign_on,
           EXISTS (SELECT FROM operator_passkeys WHERE operator_id = operators.id) AS passkeys,
           coalesce(local_sign_in_until > now(), false) AS local_sign_in
      FROM operators WHERE email = ${email} AND disabled_at IS NULL`;
  return row;
}

/** An operator as single sign-on finds it. */
export type SsoOperator = { id: string; email: string; role: OperatorRole; disabled: boolean };

/** The operator with this identity, locked: sign-ins of one person at the same time update it one after the other. */
export async function findSsoOperator(tx: Tx, issuer: string, subject: string): Promise<SsoOperator | undefined> {
  const [row] = await tx<SsoOperator[]>`
    SELECT id, email, role, disabled_at IS NOT NULL AS disabled FROM operators
     WHERE sso_issuer = ${issuer} AND sso_subject = ${subject} FOR UPDATE`;
  return row;
}

/** Adds an operator without a password. Returns undefined if the email address is taken. */
export async function addSsoOperator(
  tx: Tx,
  operator: { email: string; name: string; role: OperatorRole; issuer: string; subject: string },
): Promise<string | undefined> {
  const { email, name, role, issuer, subject } = operator;
  const id = newId();
  const added = await tx`
    INSERT INTO operators ${tx.values({ id, email, name, role, sso_issuer: issuer, sso_subject: subject })}
    ON CONFLICT DO NOTHING`;
  return added.count > 0 ? id : undefined;
}

export async function updateSsoOperator(
  tx: Tx,
  id: string,
  { role, name }: { role: OperatorRole; name: string | undefined },
): Promise<void> {
  await tx`UPDATE operators SET role = ${role}, name = coalesce(${name ?? null}, name) WHERE id = ${id}`;
}

/** The operator with this email address, locked. `allowed`: an owner allows single sign-on to take the operator over. */
export async function findOperatorToLink(
  tx: Tx,
  email: string,
): Promise<(SsoOperator & { allowed: boolean }) | undefined> {
  const [row] = await tx<(SsoOperator & { allowed: boolean })[]>`
    SELECT id, email, role, disabled_at IS NOT NULL AS disabled, coalesce(sso_link_until > now(), false) AS allowed
      FROM operators WHERE email = ${email} FOR UPDATE`;
  return row;
}

/** Replaces the operator's password and second factor by single sign-on. */
export async function linkOperator(
  tx: Tx,
  id: string,
  { role, issuer, subject }: { role: OperatorRole; issuer: string; subject: string },
): Promise<void> {
  await tx`
    UPDATE operators SET sso_issuer = ${issuer}, sso_subject = ${subject}, role = ${role}, sso_link_until = NULL,
      password_hash = NULL, password_temporary = false, totp_sealed = NULL, totp_step = 0
     WHERE id = ${id}`;
}

/** Allows single sign-on with the operator's email address to take the operator over, for a day; or no longer. */
export async function allowLinking(tx: Tx, id: string, allowed: boolean): Promise<void> {
  await tx`
    UPDATE operators SET sso_link_until = CASE WHEN ${allowed} THEN now() + interval '1 day' END WHERE id = ${id}`;
}

export async function usesSingleSignOn(sql: Sql | Tx, id: string): Promise<boolean> {
  const rows = await sql`SELECT FROM operators WHERE id = ${id} AND sso_subject IS NOT NULL`;
  return rows.length > 0;
}

/** Accepts the operator's password for an hour, also where single sign-on is used. */
export async function allowLocalSignIn(tx: Tx, id: string): Promise<void> {
  await tx`UPDATE operators SET local_sign_in_until = now() + interval '1 hour' WHERE id = ${id}`;
}

/** Role, clients and rights of an operator, for queries on `operators`. */
export function accessColumns(sql: Query): Fragment {
  return sql`operators.role, all_clients OR operators.role = 'owner' AS all_clients, may_reveal,
    (SELECT coalesce(json_agg(json_build_object('id', replace(clients.id::text, '-', ''),
         'client_id', clients.public_id, 'role', operator_clients.role) ORDER BY clients.created_at, clients.id), '[]')
       FROM operator_clients JOIN clients ON clients.id = operator_clients.client_id
      WHERE operator_clients.operator_id = operators.id) AS clients`;
}

export type OperatorChanges = {
  name?: string | undefined;
  role?: OperatorRole | undefined;
  all_clients?: boolean | undefined;
  may_reveal?: boolean | undefined;
  disabled?: boolean | undefined;
};

/** Updates the given fields. Returns the role afterwards, or undefined if there is no such operator. */
export async function changeOperator(
  tx: Tx,
  id: string,
  { name, role, all_clients, may_reveal, disabled }: OperatorChanges,
): Promise<OperatorRole | undefined> {
  const [changed] = await tx<{ role: OperatorRole }[]>`
    UPDATE operators SET name = coalesce(${name ?? null}, name), role = coalesce(${role ?? null}, role),
      all_clients = coalesce(${all_clients ?? null}, all_clients), may_reveal = coalesce(${may_reveal ?? null}, may_reveal),
      disabled_at = CASE ${disabled ?? null}::boolean WHEN true THEN coalesce(disabled_at, now()) WHEN false THEN NULL
                    ELSE disabled_at END
     WHERE id = ${id} RETURNING role`;
  return changed?.role;
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
