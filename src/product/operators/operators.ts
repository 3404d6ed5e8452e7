import { newId } from '../../catalog/ids.ts';
import type { OperatorRole } from '../../catalog/roles.ts';
import type { Config } from '../../catalog/settings/config.ts';
import type { Fragment, Query, Sql, Tx } from '../../platform/db/database.ts';
import type { Context } from '../context.ts';
import { type Access, accessColumns, type Rights } from './operatorAccess.ts';

/** How long a temporary password is accepted. */
const temporary_hours = 72;

/** What an operator must do before anything else. */
export const pending_setups = ['password', 'second_factor'] as const;
export type PendingSetup = (typeof pending_setups)[number];

/** How an operator signed in. `password_totp` includes recovery codes. */
export const session_methods = ['password', 'password_totp', 'passkey', 'single_sign_on'] as const;
export type SessionMethod = (typeof session_methods)[number];

/** A person who runs the installation. Operators belong to no tenant. */
export type Operator = Access &
  Rights & {
    id: string;
    email: string;
    name: string;
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

/** Everything about an operator but the session, for queries on `operators`. */
export function operatorColumns(sql: Query): Fragment {
  return sql`operators.id, email, name, ${accessColumns(sql)}, totp_sealed IS NOT NULL AS totp, password_temporary,
    sso_subject IS NOT NULL AS single_sign_on,
    (SELECT count(*) FROM operator_passkeys WHERE operator_id = operators.id) AS passkeys,
    (SELECT count(*) FROM operator_recovery_codes WHERE operator_id = operators.id) AS recovery_codes`;
}

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
  may_see_disclosures?: boolean;
  may_hold?: boolean;
  password_hash: string;
  password_temporary: boolean;
  /** The inviter's email address, and when. */
  invited_by?: string;
  invited_at?: Date;
};

/** Returns undefined if the email address is taken. */
export async function addOperator(sql: Sql | Tx, operator: NewOperator): Promise<string | undefined> {
  const id = newId();
  const added = await sql`
    INSERT INTO operators ${sql.values({ ...operator, id, email: operator.email.toLowerCase() })}
    ON CONFLICT (email) DO NOTHING`;
  if (added.count === 0) return undefined;
  if (operator.password_temporary) await sql`UPDATE operators SET ${temporary(sql, null)} WHERE id = ${id}`;
  return id;
}

/** Owners are notified of a new owner. */
export async function markNewOwner(tx: Tx, id: string): Promise<void> {
  await tx`UPDATE operators SET owner_since = now() WHERE id = ${id} AND role = 'owner'`;
}

export async function hasOperators(ctx: Pick<Context, 'db'>): Promise<boolean> {
  const rows = await ctx.db.system`SELECT FROM operators LIMIT 1`;
  return rows.length > 0;
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
  password_expired: boolean;
  /** Disabled because it was not used (inactivity.ts). Other disabled operators are not found. */
  inactive: boolean;
};

export async function findOperator(sql: Sql | Tx, email: string): Promise<KnownOperator | undefined> {
  const [row] = await sql<KnownOperator[]>`
    SELECT id, password_hash, totp_sealed, sso_subject IS NOT NULL AS single_sign_on,
           EXISTS (SELECT FROM operator_passkeys WHERE operator_id = operators.id) AS passkeys,
           coalesce(local_sign_in_until > now(), false) AS local_sign_in,
           coalesce(password_expires_at <= now(), false) AS password_expired, inactive
      FROM operators WHERE email = ${email} AND (disabled_at IS NULL OR inactive)`;
  return row;
}

/** An operator as single sign-on finds it. */
export type SsoOperator = { id: string; email: string; disabled: boolean };

/** The operator with this identity, locked: sign-ins of one person at the same time update it one after the other. */
export async function findSsoOperator(tx: Tx, issuer: string, subject: string): Promise<SsoOperator | undefined> {
  const [row] = await tx<SsoOperator[]>`
    SELECT id, email, disabled_at IS NOT NULL AS disabled FROM operators
     WHERE sso_issuer = ${issuer} AND sso_subject = ${subject} FOR UPDATE`;
  return row;
}

/**
 * Adds an operator without a password. Unless it becomes an owner, it has no clients but those that are claimed or
 * assigned later. Returns undefined if the email address is taken.
 */
export async function addSsoOperator(
  tx: Tx,
  operator: { email: string; name: string; issuer: string; subject: string },
): Promise<string | undefined> {
  const { email, name, issuer, subject } = operator;
  const id = newId();
  const identity = { sso_issuer: issuer, sso_subject: subject };
  const added = await tx`
    INSERT INTO operators ${tx.values({ id, email, name, role: 'support', all_clients: false, ...identity })}
    ON CONFLICT DO NOTHING`;
  return added.count > 0 ? id : undefined;
}

/** Stores what the provider claims. `role`: undefined if it names roles in clients only. */
export async function setClaims(
  tx: Tx,
  id: string,
  { role, name }: { role: OperatorRole | undefined; name: string | undefined },
): Promise<void> {
  await tx`
    UPDATE operators SET claimed_role = ${role ?? null}, name = coalesce(${name ?? null}, name),
      ${ownerSince(tx, tx`lower_role(${role ?? 'support'}, role_limit)`)}
     WHERE id = ${id}`;
}

/**
 * The operator with this email address, locked. `allowed`: an active owner allows single sign-on to take the operator
 * over.
 */
export async function findOperatorToLink(
  tx: Tx,
  email: string,
): Promise<(SsoOperator & { allowed: boolean }) | undefined> {
  // Owners are locked first, as everywhere else: the one who allows it cannot be disabled until the takeover is complete.
  await hasOwner(tx);
  const [row] = await tx<(SsoOperator & { allowed: boolean })[]>`
    SELECT id, email, disabled_at IS NOT NULL AS disabled,
           coalesce(sso_link_until > now(), false) AND EXISTS (
             SELECT FROM operators AS owner
              WHERE owner.id = operators.sso_link_by AND owner.role = 'owner' AND owner.disabled_at IS NULL) AS allowed
      FROM operators WHERE email = ${email} FOR UPDATE`;
  return row;
}

/** Replaces the operator's password and second factor by single sign-on. The role so far is the limit of later claims. */
export async function linkOperator(
  tx: Tx,
  id: string,
  { issuer, subject }: { issuer: string; subject: string },
): Promise<void> {
  await tx`
    UPDATE operators SET sso_issuer = ${issuer}, sso_subject = ${subject}, role_limit = role, sso_link_until = NULL,
      password_hash = NULL, password_temporary = false, password_expires_at = NULL, totp_sealed = NULL, totp_step = 0
     WHERE id = ${id}`;
}

/** Allows single sign-on with the operator's email address to take the operator over, for a day; or no longer. */
export async function allowLinking(tx: Tx, id: string, allowed: boolean, allowed_by: string): Promise<void> {
  await tx`
    UPDATE operators SET sso_link_until = CASE WHEN ${allowed} THEN now() + interval '1 day' END,
      sso_link_by = CASE WHEN ${allowed} THEN ${allowed_by}::uuid END
     WHERE id = ${id}`;
}

/**
 * Ends what an owner has prepared at other operators: permitted takeovers, and temporary passwords that the owner saw.
 * Returns the operators whose password has expired with it.
 */
export async function endPreparationsBy(tx: Tx, owner_id: string): Promise<string[]> {
  await tx`UPDATE operators SET sso_link_until = NULL WHERE sso_link_by = ${owner_id}`;
  const expired = await tx<{ id: string }[]>`
    UPDATE operators SET password_expires_at = now() WHERE password_set_by = ${owner_id} AND password_temporary
    RETURNING id`;
  return expired.map(({ id }) => id);
}

/** An operator's email address and access, also of a disabled one. */
export async function readOperatorAccess(
  sql: Query,
  id: string,
): Promise<{ email: string; disabled: boolean; access: Access } | undefined> {
  const [row] = await sql<(Access & { email: string; disabled: boolean })[]>`
    SELECT email, disabled_at IS NOT NULL AS disabled, ${accessColumns(sql)} FROM operators WHERE id = ${id}`;
  if (!row) return undefined;
  const { email, disabled, role, all_clients, clients } = row;
  return { email, disabled, access: { role, all_clients, clients } };
}

/** Which accounts only some sessions may change. */
export type Standing = { single_sign_on: boolean; owner: boolean; disabled: boolean };

/** The standing of an operator, locked. Undefined if there is no such operator. */
export async function lockStanding(tx: Tx, id: string): Promise<Standing | undefined> {
  const [row] = await tx<Standing[]>`
    SELECT sso_subject IS NOT NULL AS single_sign_on, role = 'owner' AS owner, disabled_at IS NOT NULL AS disabled
      FROM operators WHERE id = ${id} FOR UPDATE`;
  return row;
}

/** Accepts the operator's password for an hour, also where single sign-on is used. */
export async function allowLocalSignIn(tx: Tx, id: string): Promise<void> {
  await tx`UPDATE operators SET local_sign_in_until = now() + interval '1 hour' WHERE id = ${id}`;
}

export type OperatorChanges = {
  name?: string | undefined;
  role?: OperatorRole | undefined;
  all_clients?: boolean | undefined;
  may_reveal?: boolean | undefined;
  may_see_disclosures?: boolean | undefined;
  may_hold?: boolean | undefined;
  disabled?: boolean | undefined;
};

/**
 * Updates the given fields. Returns the role afterwards, or undefined if there is no such operator. With single sign-on,
 * `role` limits the role that the provider claims.
 */
export async function changeOperator(
  tx: Tx,
  id: string,
  { name, role, all_clients, may_reveal, may_see_disclosures, may_hold, disabled }: OperatorChanges,
): Promise<OperatorRole | undefined> {
  const [changed] = await tx<{ role: OperatorRole }[]>`
    UPDATE operators SET name = coalesce(${name ?? null}, name),
      ${ownerSince(
        tx,
        tx`CASE WHEN ${role ?? null}::text IS NULL THEN role WHEN sso_subject IS NULL THEN ${role ?? null}
             ELSE lower_role(coalesce(claimed_role, 'support'), ${role ?? null}) END`,
      )},
      role_limit = CASE WHEN sso_subject IS NOT NULL THEN coalesce(${role ?? null}, role_limit) END,
      all_clients = coalesce(${all_clients ?? null}, all_clients), may_reveal = coalesce(${may_reveal ?? null}, may_reveal),
      may_see_disclosures = coalesce(${may_see_disclosures ?? null}, may_see_disclosures),
      may_hold = coalesce(${may_hold ?? null}, may_hold),
      disabled_at = CASE ${disabled ?? null}::boolean WHEN true THEN coalesce(disabled_at, now()) WHEN false THEN NULL
                    ELSE disabled_at END,
      -- An owner who disables an operator again has another reason.
      inactive = inactive AND ${disabled ?? null}::boolean IS NULL,
      active_from = CASE WHEN disabled_at IS NOT NULL AND ${disabled ?? null}::boolean = false THEN now() ELSE active_from END
     WHERE id = ${id} RETURNING role`;
  return changed?.role;
}

/** Enables a disabled operator by email address. Returns undefined if there is none. */
export async function enableOperator(tx: Tx, email: string): Promise<string | undefined> {
  const [enabled] = await tx<{ id: string }[]>`
    UPDATE operators SET disabled_at = NULL, inactive = false, active_from = now()
     WHERE email = ${email.trim().toLowerCase()} AND disabled_at IS NOT NULL RETURNING id`;
  return enabled?.id;
}

/** The operator has signed in. Sign-ins of one operator follow one another until the transaction ends. */
export async function markSignedIn(tx: Tx, id: string): Promise<void> {
  await tx`UPDATE operators SET signed_in_at = now(), last_used_at = now() WHERE id = ${id}`;
}

/** Skips an operator whose use was marked just now. */
export async function markUsed(sql: Sql, id: string): Promise<void> {
  await sql`UPDATE operators SET last_used_at = now()
    WHERE id = ${id} AND (last_used_at IS NULL OR last_used_at < now() - interval '30 seconds')`;
}

/**
 * The active operators who have not been used for this many days, without the owner who was active last: somebody must be
 * able to enable the others.
 */
export async function listInactive(sql: Query, days: number): Promise<{ id: string; email: string }[]> {
  const active_at = sql`greatest(last_used_at, active_from)`;
  return sql<{ id: string; email: string }[]>`
    SELECT id, email FROM operators
     WHERE disabled_at IS NULL AND ${active_at} < now() - make_interval(days => ${days})
       AND id <> (SELECT id FROM operators WHERE role = 'owner' AND disabled_at IS NULL
                   ORDER BY ${active_at} DESC, id LIMIT 1)
     ORDER BY id`;
}

export async function disableInactive(tx: Tx, id: string): Promise<void> {
  await tx`UPDATE operators SET disabled_at = now(), inactive = true WHERE id = ${id} AND disabled_at IS NULL`;
}

/** Whether an active owner remains. The lock prevents two owners from stepping down at the same time. */
export async function hasOwner(tx: Tx): Promise<boolean> {
  const owners = await tx`SELECT id FROM operators WHERE role = 'owner' AND disabled_at IS NULL ORDER BY id FOR UPDATE`;
  return owners.length > 0;
}

/** Keeps an owner from being disabled or demoted until the transaction ends. False if that has already happened. */
export async function lockActiveOwner(tx: Tx, id: string): Promise<boolean> {
  const rows = await tx`
    SELECT FROM operators WHERE id = ${id} AND role = 'owner' AND disabled_at IS NULL FOR SHARE`;
  return rows.length > 0;
}

/** Sets a password that the operator has chosen. */
export async function setPassword(sql: Sql | Tx, id: string, hash: string): Promise<boolean> {
  const updated = await sql`
    UPDATE operators SET password_hash = ${hash}, password_temporary = false, password_expires_at = NULL,
      password_set_by = NULL
     WHERE id = ${id}`;
  return updated.count > 0;
}

/** Sets a password that someone else has seen: `set_by`, or null on the server. */
export async function setTemporaryPassword(tx: Tx, id: string, hash: string, set_by: string | null): Promise<boolean> {
  const updated = await tx`
    UPDATE operators SET password_hash = ${hash}, ${temporary(tx, set_by)} WHERE id = ${id}`;
  return updated.count > 0;
}

function temporary(sql: Query, set_by: string | null): Fragment {
  return sql`password_temporary = true, password_set_by = ${set_by}::uuid,
    password_expires_at = now() + make_interval(hours => ${temporary_hours})`;
}

/** Sets the role, and since when it has been owner. */
function ownerSince(sql: Query, role: Fragment): Fragment {
  return sql`role = ${role}, owner_since = CASE WHEN ${role} <> 'owner' THEN NULL
    WHEN operators.role <> 'owner' THEN now() ELSE owner_since END`;
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
