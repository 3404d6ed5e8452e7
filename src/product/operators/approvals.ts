import { createHash } from 'node:crypto';
import { apiError } from '../../catalog/errors.ts';
import type { FourEyesAction } from '../../catalog/fourEyes.ts';
import { newId } from '../../catalog/ids.ts';
import type { Query, Sql, Tx } from '../../platform/db/database.ts';
import type { AuditEntry, Context } from '../context.ts';
import { type Operator, operatorColumns, type SessionMethod } from './operators.ts';

/** What can follow a state. An approval ends with the other states. */
const transitions = {
  pending: ['approved', 'refused', 'cancelled', 'expired'],
  approved: ['executed', 'cancelled', 'expired'],
} as const;
type OpenState = keyof typeof transitions;
export type ApprovalState = OpenState | (typeof transitions)[OpenState][number];
export const approval_states = [
  ...new Set(Object.entries(transitions).flatMap(([from, next]) => [from as OpenState, ...next])),
] as readonly ApprovalState[];

/** Why an approval was canceled. */
export const cancel_reasons = ['withdrawn', 'requester_changed', 'approver_changed', 'restored'] as const;
export type CancelReason = (typeof cancel_reasons)[number];

const kept_days = 90;

/** A request to an endpoint of the dashboard, as it will run. */
export type ApprovalContent = {
  endpoint: string;
  params: Record<string, unknown>;
  query: Record<string, unknown>;
  body: Record<string, unknown> | null;
};

export type Approval = {
  id: string;
  action: FourEyesAction;
  endpoint: string;
  /** The public id of the client; null for the installation. */
  client: string | null;
  subject: string | null;
  content: ApprovalContent;
  /** In hexadecimal digits. Whoever approves names it, so that they approve what they saw. */
  content_hash: string;
  requester_id: string;
  requested_by: string;
  requester_method: SessionMethod;
  requested_at: string;
  state: ApprovalState;
  expires_at: string;
  decider_id: string | null;
  decided_by: string | null;
  decided_at: string | null;
  reason: CancelReason | null;
};

type NewApproval = {
  action: FourEyesAction;
  client: string | null;
  subject: string | null;
  content: ApprovalContent;
  operator: Operator;
  address: string;
};

/** Stores a request until another operator has decided about it. The same request is stored once while it is open. */
export async function requestApproval(
  ctx: Context,
  { action, client, subject, content, operator, address }: NewApproval,
): Promise<{ id: string; expires_at: Date }> {
  await expireApprovals(ctx);
  const id = newId();
  const text = JSON.stringify(content);
  const content_hash = hashContent(operator.id, text);
  const content_sealed = ctx.system_keys.seal('operators', toBinding(id), text);
  return ctx.db.system.begin(async (tx) => {
    await requireFewOpen(tx, operator.id, content_hash);
    const [added] = await tx<{ expires_at: Date }[]>`
      INSERT INTO approvals (id, action, endpoint, client, subject, content_sealed, content_hash, requester_id,
        requester_method, expires_at)
      VALUES (${id}, ${action}, ${content.endpoint}, ${client}, ${subject}, ${content_sealed}, ${content_hash},
        ${operator.id}, ${operator.method}, now() + make_interval(hours => ${ctx.config.four_eyes_hours}))
      ON CONFLICT (requester_id, content_hash) WHERE state IN ('pending', 'approved') DO NOTHING RETURNING expires_at`;
    if (!added) return requireSame(tx, operator.id, content_hash);
    const detail = { action, endpoint: content.endpoint, client, content_hash: content_hash.toString('hex') };
    const entry = { client_id: null, actor_kind: 'operator', actor: operator.email, address, subject: id } as const;
    await ctx.audit.recordInTransaction(tx, { ...entry, action: 'approval.request', outcome: 'pending', detail });
    return { id, expires_at: added.expires_at };
  });
}

/** Throws if the operator has requested too many others. Locks the operator, so that requests at the same time count. */
async function requireFewOpen(tx: Tx, requester_id: string, content_hash: Buffer): Promise<void> {
  await tx`SELECT FROM operators WHERE id = ${requester_id} FOR NO KEY UPDATE`;
  const [row] = await tx<{ n: number }[]>`
    SELECT count(*)::int AS n FROM approvals
     WHERE requester_id = ${requester_id} AND state IN ('pending', 'approved') AND content_hash <> ${content_hash}`;
  if ((row?.n ?? 0) >= open_max) throw apiError('approvals_max', { max: String(open_max) });
}

async function requireSame(
  tx: Tx,
  requester_id: string,
  content_hash: Buffer,
): Promise<{ id: string; expires_at: Date }> {
  const [row] = await tx<{ id: string; expires_at: Date }[]>`
    SELECT id, expires_at FROM approvals
     WHERE requester_id = ${requester_id} AND content_hash = ${content_hash} AND state IN ('pending', 'approved')`;
  // It has ended since.
  if (!row) throw apiError('approval_over');
  return row;
}

type StoredApproval = Omit<Approval, 'content'> & { content_sealed: Buffer };

/** How many ended approvals are listed. */
const ended_listed_max = 200;
/** More requests of one operator at a time than other operators can decide about; bounds the list. */
const open_max = 100;

/** The open approvals, and those that ended last; newest first. The caller leaves out what an operator may not see. */
export async function listApprovals(ctx: Pick<Context, 'db' | 'system_keys' | 'log'>): Promise<Approval[]> {
  const { system: sql } = ctx.db;
  const rows = await sql<StoredApproval[]>`
    SELECT ${approvalColumns(sql)} FROM approvals JOIN operators AS requester ON requester.id = requester_id
     WHERE state IN ('pending', 'approved') OR approvals.id IN (
       SELECT id FROM approvals WHERE state NOT IN ('pending', 'approved')
        ORDER BY requested_at DESC, id DESC LIMIT ${ended_listed_max})
     ORDER BY state IN ('pending', 'approved') DESC, requested_at DESC, approvals.id DESC`;
  return rows.flatMap((row) => {
    try {
      return [open(ctx, row)];
    } catch (error) {
      // One row must not hide the others.
      ctx.log.error({ err: error, reason: row.id }, 'approval cannot be read; it was changed in the database');
      return [];
    }
  });
}

export async function findApproval(
  ctx: Pick<Context, 'db' | 'system_keys'>,
  id: string,
): Promise<Approval | undefined> {
  const { system: sql } = ctx.db;
  const [row] = await sql<StoredApproval[]>`
    SELECT ${approvalColumns(sql)} FROM approvals JOIN operators AS requester ON requester.id = requester_id
     WHERE approvals.id = ${id}`;
  return row && open(ctx, row);
}

/** Unseals the content. Throws if the row was changed in the database. */
function open({ system_keys }: Pick<Context, 'system_keys'>, row: StoredApproval): Approval {
  const { content_sealed, ...approval } = row;
  const text = system_keys.unseal('operators', toBinding(row.id), content_sealed);
  const content = JSON.parse(text) as ApprovalContent;
  const same = hashContent(row.requester_id, text).toString('hex') === row.content_hash;
  if (!same || content.endpoint !== row.endpoint)
    throw new Error(`The approval ${row.id} was changed in the database.`);
  return { ...approval, content };
}

/**
 * Approves or refuses what has this content. Throws if someone else has decided meanwhile, if it has expired, or if it is
 * the operator's own.
 */
export async function decideApproval(
  { config }: Pick<Context, 'config'>,
  tx: Tx,
  approval: Pick<Approval, 'id' | 'content_hash'>,
  { operator_id, state }: { operator_id: string; state: 'approved' | 'refused' },
): Promise<void> {
  const decided = await tx`
    UPDATE approvals SET state = ${state}, decided_by = ${operator_id}, decided_at = now(),
      ended_at = CASE WHEN ${state} = 'refused' THEN now() END,
      expires_at = CASE WHEN ${state} = 'approved' THEN now() + make_interval(hours => ${config.four_eyes_hours})
                   ELSE expires_at END
     WHERE id = ${approval.id} AND state = 'pending' AND expires_at > now() AND requester_id <> ${operator_id}
       AND content_hash = decode(${approval.content_hash}, 'hex')`;
  if (decided.count === 0) throw apiError('approval_over');
}

/**
 * Marks an approval as executed, in the transaction of its action: of two that run it at the same time, one fails, and a
 * process that dies in between has done neither.
 */
export async function finishApproval(tx: Tx, id: string): Promise<void> {
  const finished = await tx`
    UPDATE approvals SET state = 'executed', ended_at = now()
     WHERE id = ${id} AND state = 'approved' AND expires_at > now()`;
  if (finished.count === 0) throw apiError('approval_over');
}

/** Cancels an open approval. Returns false if it has ended. */
export async function cancelApproval(tx: Tx, id: string, reason: CancelReason): Promise<boolean> {
  const cancelled = await tx`UPDATE approvals SET state = 'cancelled', ended_at = now(), reason = ${reason}
    WHERE id = ${id} AND state IN ('pending', 'approved')`;
  return cancelled.count > 0;
}

/** Cancels what an operator has requested, or approved and was not run yet: the operator has lost access. */
export async function cancelOperatorApprovals(
  { audit }: Pick<Context, 'audit'>,
  tx: Tx,
  operator_id: string,
): Promise<void> {
  const cancelled = await tx<{ id: string; reason: CancelReason }[]>`
    UPDATE approvals SET state = 'cancelled', ended_at = now(),
      reason = CASE WHEN requester_id = ${operator_id} THEN 'requester_changed' ELSE 'approver_changed' END
     WHERE state IN ('pending', 'approved') AND (requester_id = ${operator_id} OR decided_by = ${operator_id})
    RETURNING id, reason`;
  await recordEnds(audit, tx, 'cancelled', cancelled);
}

/**
 * Cancels all open approvals of a restored database: what they were about may have run after the backup, or may have been
 * refused.
 */
export async function cancelRestoredApprovals({ db, audit }: Pick<Context, 'db' | 'audit'>): Promise<void> {
  await db.system.begin(async (tx) => {
    const cancelled = await tx<{ id: string; reason: CancelReason }[]>`
      UPDATE approvals SET state = 'cancelled', ended_at = now(), reason = 'restored'
       WHERE state IN ('pending', 'approved') RETURNING id, reason`;
    await recordEnds(audit, tx, 'cancelled', cancelled);
  });
}

/** Ends the approvals whose time is over. */
export async function expireApprovals({ db, audit }: Pick<Context, 'db' | 'audit'>): Promise<void> {
  const due = await db.system`
    SELECT FROM approvals WHERE state IN ('pending', 'approved') AND expires_at <= now() LIMIT 1`;
  if (due.length === 0) return;
  await db.system.begin(async (tx) => {
    const expired = await tx<{ id: string }[]>`
      UPDATE approvals SET state = 'expired', ended_at = now()
       WHERE state IN ('pending', 'approved') AND expires_at <= now() RETURNING id`;
    await recordEnds(audit, tx, 'expired', expired);
  });
}

/** Deletes approvals that have ended long ago. The audit log keeps its records. */
export async function purgeApprovals({ pooled: sql }: Sql): Promise<void> {
  await sql`DELETE FROM approvals WHERE ended_at < now() - make_interval(days => ${kept_days})`;
}

/** Who has requested an approval, with the access of now. Undefined if the operator is disabled. */
export async function findRequester(sql: Query, approval: Approval): Promise<Operator | undefined> {
  const [row] = await sql<Omit<Operator, 'method' | 'fresh'>[]>`
    SELECT ${operatorColumns(sql)} FROM operators WHERE id = ${approval.requester_id} AND disabled_at IS NULL`;
  // The sign-in was fresh when the approval was requested.
  return row && { ...row, method: approval.requester_method, fresh: true };
}

async function recordEnds(
  audit: Context['audit'],
  tx: Tx,
  outcome: 'cancelled' | 'expired',
  ended: readonly { id: string; reason?: CancelReason }[],
): Promise<void> {
  if (ended.length === 0) return;
  const entry = { client_id: null, actor_kind: 'system', actor: 'approvals', action: 'approval.end', outcome } as const;
  const toEntry = ({ id, reason }: (typeof ended)[number]): AuditEntry => ({
    ...entry,
    subject: id,
    ...(reason && { detail: { reason } }),
  });
  await audit.recordInTransaction(tx, ...ended.map(toEntry));
}

function approvalColumns(sql: Query) {
  return sql`approvals.id, action, endpoint, client, subject, content_sealed, encode(content_hash, 'hex') AS content_hash,
    requester_id, requester.email AS requested_by, requester_method, iso(requested_at) AS requested_at, state,
    iso(expires_at) AS expires_at, decided_by AS decider_id,
    (SELECT email FROM operators WHERE operators.id = approvals.decided_by) AS decided_by,
    iso(decided_at) AS decided_at, reason`;
}

/** Covers the requester too: two operators who request the same have two approvals. */
function hashContent(requester_id: string, text: string): Buffer {
  return createHash('sha256').update(`${requester_id}\n${text}`).digest();
}

function toBinding(id: string): string {
  return `approvals.content:${id}`;
}
