import { createHash } from 'node:crypto';
import { apiError } from '../../catalog/errors.ts';
import { newId } from '../../catalog/ids.ts';
import type { Query, Sql, Tx } from '../../platform/db/database.ts';
import type { Context } from '../context.ts';
import { type AccessRow, readAccessReport } from './accessReport.ts';

/** What a review decides about a row. It changes nothing: who reviews removes the access on its own page. */
export const review_decisions = ['confirmed', 'remove'] as const;
export type ReviewDecision = (typeof review_decisions)[number];
type Decisions = Record<string, ReviewDecision>;

/** A review in a list. The fields from `note` on are null until it is attested. */
export type ReviewRow = {
  id: string;
  started_by: string;
  started_at: string;
  note: string | null;
  /** SHA-256 of the JSON of `{ rows, decisions, note }`, in hexadecimal digits. */
  hash: string | null;
  attested_by: string | null;
  attested_at: string | null;
};

export type Review = ReviewRow & {
  rows: AccessRow[];
  decisions: Decisions | null;
  /** Whether the stored review still has its hash. The audit log has the hash too. */
  intact: boolean;
  /** The ids of rows that were to be removed, and still have access. */
  remaining: string[];
};

/** An abandoned review is deleted after this time. */
const open_days = 30;

/** Starts a review: stores the report as it is now, and returns the id. */
export async function startReview(
  ctx: Pick<Context, 'db'>,
  started_by: string,
  recordInTransaction: (tx: Tx, id: string) => Promise<void>,
): Promise<string> {
  const rows = JSON.stringify(await readAccessReport(ctx));
  const id = newId();
  await ctx.db.system.begin(async (tx) => {
    await tx`INSERT INTO access_reviews ${tx.values({ id, started_by, rows })}`;
    await recordInTransaction(tx, id);
  });
  return id;
}

export async function listReviews({ db }: Pick<Context, 'db'>): Promise<ReviewRow[]> {
  return db.system<ReviewRow[]>`SELECT ${reviewColumns(db.system)} FROM access_reviews ORDER BY started_at DESC, id`;
}

export async function findReview(ctx: Pick<Context, 'db'>, id: string): Promise<Review | undefined> {
  const [stored] = await ctx.db.system<(ReviewRow & { rows: string; decisions: string | null })[]>`
    SELECT ${reviewColumns(ctx.db.system)}, rows, decisions FROM access_reviews WHERE id = ${id}`;
  if (!stored) return undefined;
  const rows = JSON.parse(stored.rows) as AccessRow[];
  const decisions = stored.decisions === null ? null : (JSON.parse(stored.decisions) as Decisions);
  const intact = decisions === null || stored.hash === hashReview(rows, decisions, stored.note ?? '');
  const removed = rows.filter((row) => decisions?.[row.id] === 'remove').map((row) => row.id);
  const active = removed.length === 0 ? [] : (await readAccessReport(ctx)).filter(({ status }) => status === 'active');
  const remaining = removed.filter((removed_id) => active.some((row) => row.id === removed_id));
  return { ...stored, rows, decisions, intact, remaining };
}

/**
 * Completes a review, once. Every row needs a decision; the hash covers them and what was shown. Returns undefined if
 * there is no such review.
 */
export async function attestReview(
  tx: Tx,
  id: string,
  { attested_by, note, decided }: { attested_by: string; note: string; decided: readonly Decided[] },
): Promise<{ hash: string; rows: number; to_remove: number } | undefined> {
  const [stored] = await tx<{ rows: string; attested: boolean }[]>`
    SELECT rows, attested_at IS NOT NULL AS attested FROM access_reviews WHERE id = ${id} FOR UPDATE`;
  if (!stored) return undefined;
  if (stored.attested) throw apiError('review_attested');
  const rows = JSON.parse(stored.rows) as AccessRow[];
  const decisions = readDecisions(rows, decided);
  const hash = hashReview(rows, decisions, note);
  await tx`UPDATE access_reviews SET decisions = ${JSON.stringify(decisions)}, note = ${note}, hash = ${hash},
      attested_by = ${attested_by}, attested_at = now()
     WHERE id = ${id}`;
  const to_remove = Object.values(decisions).filter((decision) => decision === 'remove').length;
  return { hash, rows: rows.length, to_remove };
}

/** Deletes a review that was not attested. Returns false if there is none. */
export async function discardReview(tx: Tx, id: string): Promise<boolean> {
  const discarded = await tx`DELETE FROM access_reviews WHERE id = ${id} AND attested_at IS NULL`;
  return discarded.count > 0;
}

export async function purgeReviews({ pooled: sql }: Sql): Promise<void> {
  await sql`DELETE FROM access_reviews
    WHERE attested_at IS NULL AND started_at < now() - make_interval(days => ${open_days})`;
}

export type Decided = { id: string; decision: ReviewDecision };

/** In the order of the rows. */
function readDecisions(rows: readonly AccessRow[], decided: readonly Decided[]): Decisions {
  const by_row = new Map(decided.map(({ id, decision }) => [id, decision]));
  const ids = new Set(rows.map(({ id }) => id));
  const fits = by_row.size === decided.length && by_row.size === ids.size && decided.every(({ id }) => ids.has(id));
  if (!fits) {
    const rule = `decisions must have exactly one decision for each of the ${ids.size} rows`;
    throw apiError('invalid_field', { rule }, { field: 'decisions' });
  }
  return Object.fromEntries(rows.flatMap(({ id }) => [[id, by_row.get(id) ?? 'remove']]));
}

/** The JSON of an exported review gives the same hash: its keys have this order. */
function hashReview(rows: readonly AccessRow[], decisions: Decisions, note: string): string {
  return createHash('sha256').update(JSON.stringify({ rows, decisions, note })).digest('hex');
}

function reviewColumns(sql: Query) {
  return sql`id, started_by, iso(started_at) AS started_at, note, hash, attested_by, iso(attested_at) AS attested_at`;
}
