import { newId, newToken } from '../../catalog/ids.ts';
import type { Config } from '../../catalog/settings/config.ts';
import type { Database, Sql, Tx } from '../../platform/db/database.ts';
import { hashToken } from '../../platform/security/signatures.ts';
import type { Context } from '../context.ts';
import { noteNetwork } from './operatorNetworks.ts';
import { markSignedIn, markUsed, type Operator, operatorColumns, type SessionMethod } from './operators.ts';

/** How long after a sign-in an operator can do what needs a fresh one. */
const fresh_minutes = 10;

/** The browser that a request came from. */
export type Browser = {
  address: string;
  user_agent: string;
  /** The value of its device cookie. */
  device: string | undefined;
};

/** Browsers send at most a few hundred characters. */
const user_agent_max = 500;

type NewSession = {
  operator_id: string;
  method: SessionMethod;
  browser: Browser;
  /** When the person proved their identity, if it was not just now; null if that is not known. */
  authenticated_at?: Date | null | undefined;
  /** Returns the tokens of the identity provider. */
  sealProvider?: (token_hash: Buffer) => Buffer | null;
  /** A session of single sign-on: the provider's id of it, hashed, and a function that throws if it has ended there. */
  provider_session?: { sid_hash: Buffer | null; requireOpen: (tx: Tx) => Promise<void> };
};

/** Starts a session and returns its token. Beyond the number of sessions that an operator can have, the oldest end. */
export async function startSession(
  ctx: Pick<Context, 'db' | 'config' | 'audit' | 'notifications'>,
  { operator_id, method, browser, authenticated_at, sealProvider = () => null, provider_session }: NewSession,
): Promise<string> {
  const { address, user_agent } = browser;
  const token = newToken('operator_session');
  const token_hash = hashToken(token);
  await noteNetwork(ctx, operator_id, address);
  const ended = await ctx.db.system.begin(async (tx) => {
    await provider_session?.requireOpen(tx);
    // Locks the operator: of two sign-ins at the same time, the second one counts the session of the first.
    await markSignedIn(tx, operator_id);
    await tx`INSERT INTO operator_sessions
        (id, token_hash, operator_id, method, address, user_agent, provider_sealed, sso_sid_hash,
         authenticated_at)
      VALUES (${newId()}, ${token_hash}, ${operator_id}, ${method}, ${address},
        ${user_agent.slice(0, user_agent_max)}, ${sealProvider(token_hash)},
        ${provider_session?.sid_hash ?? null},
        ${authenticated_at === undefined ? tx`now()` : tx`least(now(), coalesce(${authenticated_at}::timestamptz, '-infinity'))`})`;
    return endOldestSessions(ctx, tx, { operator_id, address });
  });
  if (ended > 0) ctx.notifications.notify('chartwire_operators', operator_id);
  return token;
}

async function endOldestSessions(
  { config, audit }: Pick<Context, 'config' | 'audit'>,
  tx: Tx,
  { operator_id, address }: { operator_id: string; address: string },
): Promise<number> {
  const sessions_max = config.operator_sessions_max;
  if (sessions_max === 0) return 0;
  const ended = await tx<{ email: string }[]>`
    DELETE FROM operator_sessions AS session USING operators
     WHERE operators.id = session.operator_id AND session.id IN (
       SELECT id FROM operator_sessions WHERE operator_id = ${operator_id} AND ${isOpen(tx, config)}
        ORDER BY created_at DESC, id DESC OFFSET ${sessions_max})
    RETURNING email`;
  const [first] = ended;
  if (!first) return 0;
  await audit.recordInTransaction(tx, {
    client_id: null,
    actor_kind: 'operator',
    actor: first.email,
    action: 'operator.sessions_max',
    outcome: 'ended',
    subject: operator_id,
    address,
    detail: { sessions: ended.length },
  });
  return ended.length;
}

/**
 * The operator of an unexpired session. `active` requests are user actions and extend the idle timeout (written at most
 * every 30 s); background requests of a page do not. `check_due`: the identity provider must be asked (checkedSessions.ts).
 */
export async function findSession(
  ctx: Pick<Context, 'db' | 'config'>,
  token: string,
  { active }: { active: boolean },
): Promise<(Operator & { check_due: boolean }) | undefined> {
  const hash = hashToken(token);
  const { oidc_check_seconds } = ctx.config;
  const [row] = await ctx.db.system<(Operator & { check_due: boolean; stale: boolean })[]>`
    SELECT ${operatorColumns(ctx.db.system)},
           method, authenticated_at > now() - make_interval(mins => ${fresh_minutes}) AS fresh,
           ${oidc_check_seconds}::integer > 0 AND provider_sealed IS NOT NULL
             AND ${isNotWithin(ctx.db.system, 'checked_at', oidc_check_seconds)} AS check_due,
           seen_at < now() - interval '30 seconds' AS stale
      FROM operator_sessions JOIN operators ON operators.id = operator_id
     WHERE token_hash = ${hash} AND disabled_at IS NULL AND ${isOpen(ctx.db.system, ctx.config)}`;
  if (!row) return undefined;
  const { stale, ...operator } = row;
  if (active && stale) {
    await ctx.db.system`UPDATE operator_sessions SET seen_at = now() WHERE token_hash = ${hash}`;
    await markUsed(ctx.db.system, operator.id);
  }
  return operator;
}

/** One of an operator's own sessions. */
export type SessionRow = {
  id: string;
  address: string;
  user_agent: string;
  method: SessionMethod;
  created_at: string;
  seen_at: string;
  current: boolean;
};

/** An operator's open sessions, the most recently used first; `token` is that of the current one. */
export async function listSessions(
  ctx: Pick<Context, 'db' | 'config'>,
  operator_id: string,
  token: string,
): Promise<SessionRow[]> {
  const { system: sql } = ctx.db;
  return sql<SessionRow[]>`
    SELECT id, address, user_agent, method, iso(created_at) AS created_at, iso(seen_at) AS seen_at,
           token_hash = ${hashToken(token)} AS current
      FROM operator_sessions WHERE operator_id = ${operator_id} AND ${isOpen(sql, ctx.config)}
     ORDER BY current DESC, operator_sessions.seen_at DESC`;
}

type SessionLimits = Pick<Config, 'operator_session_idle_minutes' | 'operator_session_hours'>;

function isOpen(sql: Sql | Tx, { operator_session_idle_minutes, operator_session_hours }: SessionLimits) {
  return sql`seen_at > now() - make_interval(mins => ${operator_session_idle_minutes})
       AND operator_sessions.created_at > now() - make_interval(hours => ${operator_session_hours})`;
}

/** A session by its token or the hash of it. */
type SessionName = string | Buffer;

/** The operator has proved their identity again. Returns false if the session has ended. */
export async function renewSession(tx: Tx, session: SessionName): Promise<boolean> {
  const renewed =
    await tx`UPDATE operator_sessions SET authenticated_at = now() WHERE token_hash = ${hashSession(session)}`;
  return renewed.count > 0;
}

/** The operator of a session by the hash of its token. */
export async function findSessionOwner(
  { config }: Pick<Context, 'config'>,
  tx: Tx,
  token_hash: Buffer,
): Promise<string | undefined> {
  const [row] = await tx<{ operator_id: string }[]>`
    SELECT operator_id FROM operator_sessions WHERE token_hash = ${token_hash} AND ${isOpen(tx, config)}`;
  return row?.operator_id;
}

export async function endSession(sql: Sql | Tx, session: SessionName): Promise<void> {
  await sql`DELETE FROM operator_sessions WHERE token_hash = ${hashSession(session)}`;
}

/** A session about which the identity provider is asked, and the operator's subject there. */
export type ProviderCheck = {
  id: string;
  email: string;
  subject: string;
  address: string;
  provider_sealed: Buffer;
  /** The provider has not answered for longer than the session may continue without it. */
  overdue: boolean;
};

/**
 * Claims the check of a session at the identity provider. Undefined if one is in progress, or has failed just now: the
 * provider is asked at most every `OIDC_CHECK_SECONDS`.
 */
export async function claimProviderCheck(
  { db: { system: sql }, config }: Pick<Context, 'db' | 'config'>,
  token_hash: Buffer,
): Promise<ProviderCheck | undefined> {
  const { oidc_check_seconds, oidc_check_grace_minutes } = config;
  const [check] = await sql<ProviderCheck[]>`
    UPDATE operator_sessions AS session SET check_started_at = now() FROM operators
     WHERE token_hash = ${token_hash} AND operators.id = session.operator_id AND sso_subject IS NOT NULL
       AND provider_sealed IS NOT NULL AND ${isNotWithin(sql, 'checked_at', oidc_check_seconds)}
       AND (check_started_at IS NULL OR ${isNotWithin(sql, 'check_started_at', oidc_check_seconds)})
    RETURNING operators.id, email, sso_subject AS subject, session.address, provider_sealed,
      ${isNotWithin(sql, 'checked_at', oidc_check_seconds + oidc_check_grace_minutes * 60)} AS overdue`;
  return check;
}

/** Whether a time is longer ago. One in the future was set by a database server whose clock was ahead. */
function isNotWithin(sql: Sql | Tx, column: string, seconds: number) {
  return sql`${sql(column)} NOT BETWEEN now() - make_interval(secs => ${seconds}) AND now() + interval '1 minute'`;
}

/** Stores the tokens that the provider has issued in place of others. */
export async function keepProviderTokens(sql: Sql | Tx, token_hash: Buffer, sealed: Buffer): Promise<void> {
  await sql`UPDATE operator_sessions SET provider_sealed = ${sealed} WHERE token_hash = ${token_hash}`;
}

/** The provider has said what the operator may do. */
export async function finishProviderCheck(tx: Tx, token_hash: Buffer): Promise<void> {
  await tx`UPDATE operator_sessions SET checked_at = now(), check_started_at = NULL WHERE token_hash = ${token_hash}`;
}

/** The operator has signed in again at the provider, perhaps in another session there. */
export async function keepProviderSession(tx: Tx, token_hash: Buffer, sid_hash: Buffer | null): Promise<void> {
  await tx`UPDATE operator_sessions SET sso_sid_hash = coalesce(${sid_hash}, sso_sid_hash)
    WHERE token_hash = ${token_hash}`;
}

/**
 * Ends the sessions that were started with a session at the provider, or with all of a person's. A session whose ID token
 * had no `sid` ends with any of the person's. Returns the operator of each.
 */
export async function endProviderSessions(
  tx: Tx,
  { issuer, subject, sid_hash }: { issuer: string; subject: string | null; sid_hash: Buffer | null },
): Promise<{ id: string; email: string }[]> {
  return tx<{ id: string; email: string }[]>`
    DELETE FROM operator_sessions AS session USING operators
     WHERE operators.id = session.operator_id AND session.method = 'single_sign_on' AND sso_issuer = ${issuer}
       AND (${subject}::text IS NULL OR sso_subject = ${subject})
       AND (${sid_hash}::bytea IS NULL OR sso_sid_hash = ${sid_hash}
            OR sso_sid_hash IS NULL AND ${subject}::text IS NOT NULL)
    RETURNING operators.id, email`;
}

/** Ends one of an operator's own sessions. Returns false if there is no such session. */
export async function endSessionById(tx: Tx, operator_id: string, id: string): Promise<boolean> {
  const ended = await tx`DELETE FROM operator_sessions WHERE operator_id = ${operator_id} AND id = ${id}`;
  return ended.count > 0;
}

/** Ends an operator's sessions after a change; `except` is the session that made it. */
export async function endOperatorSessions(sql: Sql | Tx, operator_id: string, except: SessionName = ''): Promise<void> {
  await sql`DELETE FROM operator_sessions WHERE operator_id = ${operator_id} AND token_hash <> ${hashSession(except)}`;
}

function hashSession(session: SessionName): Buffer {
  return typeof session === 'string' ? hashToken(session) : session;
}

/** Deletes expired sessions after a day. */
export async function purgeSessions({ pooled: sql }: Sql): Promise<void> {
  await sql`DELETE FROM operator_sessions WHERE created_at < now() - interval '1 day'`;
}

/** What an operator can reveal the patient details of. */
export const reveal_kinds = ['job', 'event', 'received_request', 'patient'] as const;
export type RevealKind = (typeof reveal_kinds)[number];

/** A record whose patient details an operator has revealed: a job by its number, others by their id. */
export type Reveal = { kind: RevealKind; subject: string };

const reveal_minutes = 15;

/** Shows the patient details of a record to one session. Returns until when. */
export async function addReveal(
  tx: Tx,
  { client_id, session, kind, subject }: Reveal & { client_id: string; session: string },
): Promise<Date> {
  const [row] = await tx<{ expires_at: Date }[]>`
    INSERT INTO operator_reveals (session_hash, client_id, kind, subject, expires_at)
    VALUES (${hashToken(session)}, ${client_id}, ${kind}, ${subject}, now() + make_interval(mins => ${reveal_minutes}))
    ON CONFLICT (session_hash, client_id, kind, subject) DO UPDATE SET expires_at = EXCLUDED.expires_at
    RETURNING expires_at`;
  if (!row) throw new Error('The reveal was not stored.');
  return row.expires_at;
}

/** Whether the session has revealed the record and the time has not expired. */
export async function isRevealed(
  db: Pick<Database, 'read'>,
  { client_id, session, kind, subject }: Reveal & { client_id: string; session: string },
): Promise<boolean> {
  const rows = await db.read(
    client_id,
    (sql) => sql`SELECT FROM operator_reveals WHERE session_hash = ${hashToken(session)} AND client_id = ${client_id}
      AND kind = ${kind} AND subject = ${subject} AND expires_at > now()`,
  );
  return rows.length > 0;
}
