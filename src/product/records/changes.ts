import { apiError } from '../../catalog/errors.ts';
import { followed_kinds } from '../../model/changes.ts';
import type { Kind, KindName } from '../../model/records/kinds.ts';
import { patients } from '../../model/records/patients.ts';
import { type Fragment, type Query, type Sql, type Tx, unseen } from '../../platform/db/database.ts';
import { limitTo } from '../../platform/db/fragments.ts';
import { formatCursor, parseCursor } from '../../platform/security/cursors.ts';
import type { SystemKeys } from '../../platform/security/masterKeys.ts';
import { day_ms } from '../../platform/time/days.ts';
import type { Context } from '../context.ts';
import { pendingKinds, type Scope } from './readRecords.ts';

/** A place in the feed. Rows are in the order of these three. */
type Position = { generation: number; xid: string; record_id: string };

/** What a cursor contains. See docs/decisions/0019-change-feed.md. */
type Cursor = {
  kinds: readonly KindName[];
  position: Position;
  /** The horizon when the walk began: records that had been deleted before are left out. */
  since: Pick<Position, 'generation' | 'xid'>;
  /** When the reader last had everything, or began, in milliseconds. Deletions since then must still be stored. */
  complete_at: number;
  /** The generation, and the timeline and end of the WAL, of the server that issued it. */
  generation: number;
  timeline: number;
  wal: string;
};

/** The state of the server before a page is read. Transactions from `xmin` on may still be in progress. */
type ServerState = {
  generation: number;
  timeline: number;
  wal: string;
  xmin: string;
  now_ms: number;
  /** The failovers that were noticed. */
  branches: readonly Branch[];
  /** The kinds whose first sync has not finished. */
  pending: readonly KindName[];
};

type ChangeRow = {
  kind: KindName;
  id: string;
  emr_id: string | null;
  deleted: boolean;
  generation: number;
  xid: string;
  changed_at: string;
  record: string | null;
  mrn: string | null;
};

/** Cursors are signed with a key of the installation. */
type FeedContext = Pick<Context, 'db'> & { system_keys: Pick<SystemKeys, 'key'> };

export type ChangesPage = { body: string; mrns: string[] };
type ReadOptions = { kinds?: readonly KindName[] | undefined; cursor?: string | undefined; limit: number };

const valid_days = 30;
/** Longer than cursors are valid: a transaction may have lasted a while before it committed. */
const tombstone_days = valid_days + 2;

const last_id = 'f'.repeat(32);
const first_position: Position = { generation: 0, xid: '0', record_id: '0'.repeat(32) };

/**
 * A page of the feed: current states of records in the order of their last change. It ends before the oldest transaction
 * in progress, because what that one commits would come before changes that were shown already. A record that changes
 * again moves to the end, so a reader that continues where it stopped misses nothing.
 */
export async function readChanges(
  ctx: FeedContext,
  scope: Scope,
  { kinds, cursor: sent, limit }: ReadOptions,
): Promise<ChangesPage> {
  const place = ['changes', scope.organization_id] as const;
  const cursor = readCursor(ctx, place, sent);
  if (cursor && kinds && [...kinds].sort().join() !== [...cursor.kinds].sort().join()) throw otherKinds();
  const chosen = cursor?.kinds ?? kinds ?? followed_kinds.map(({ name }) => name);
  const state = await readState(ctx, scope);
  if (cursor) checkCursor(cursor, state);
  const horizon = { generation: state.generation, xid: state.xmin };
  const start = sent === latest ? beforeHorizon(horizon) : first_position;
  const { position, since } = cursor ?? { position: start, since: horizon };
  const rows = await readRows(ctx, scope, { kinds: chosen, position, since, horizon, limit });

  const shown = rows.slice(0, limit);
  const has_more = rows.length > limit;
  const last = shown.at(-1);
  const next: Cursor = {
    kinds: chosen,
    position: last ? { generation: last.generation, xid: last.xid, record_id: last.id } : position,
    since,
    complete_at: has_more ? (cursor?.complete_at ?? state.now_ms) : state.now_ms,
    ...{ generation: state.generation, timeline: state.timeline, wal: state.wal },
  };
  const rest = JSON.stringify({ next_cursor: formatCursor(ctx.system_keys, place, JSON.stringify(next)), has_more });
  const sync = state.pending.some((kind) => chosen.includes(kind)) ? ',"sync":{"state":"pending"}' : '';
  return {
    body: `{"success":true,"changes":[${shown.map(formatChange).join(',')}],${rest.slice(1, -1)}${sync}}`,
    mrns: shown.flatMap(({ mrn }) => mrn ?? []),
  };
}

/** The value of `cursor` for changes from now on. */
export const latest = 'latest';

function readCursor(
  { system_keys }: FeedContext,
  place: readonly string[],
  sent: string | undefined,
): Cursor | undefined {
  if (sent === undefined || sent === '' || sent === latest) return undefined;
  const text = parseCursor(system_keys, place, sent);
  // Authenticated, so it is one of ours.
  if (text !== undefined) return JSON.parse(text) as Cursor;
  const rule = 'cursor must be the next_cursor of an earlier page of this feed, `latest`, or empty';
  throw apiError('invalid_field', { rule }, { field: 'cursor' });
}

function otherKinds() {
  const rule = 'kinds must be those of the first page, or omitted. Start again without a cursor to change them';
  return apiError('invalid_field', { rule }, { field: 'kinds' });
}

type Branch = { timeline: number; branched_at: string | null };

/**
 * Throws if the reader may have seen what the database no longer has, or has missed a deletion that is no longer stored.
 * A server that took over has everything that was written to the WAL before its own timeline branched off.
 */
export function checkCursor(
  cursor: Pick<Cursor, 'generation' | 'timeline' | 'wal' | 'complete_at'>,
  { generation, timeline, now_ms, branches }: Pick<ServerState, 'generation' | 'timeline' | 'now_ms' | 'branches'>,
): void {
  const later = branches.filter((each) => each.timeline > cursor.timeline && each.timeline <= timeline);
  const kept = ({ branched_at }: Branch) => branched_at !== null && toBytes(cursor.wal) <= toBytes(branched_at);
  // A failover that was not noticed may have lost something.
  const complete = later.length === timeline - cursor.timeline && later.every(kept);
  const expired = cursor.complete_at < now_ms - valid_days * day_ms;
  if (expired || cursor.generation !== generation || !complete) throw apiError('cursor_expired');
}

/** `16/B374D848` as a number. */
function toBytes(lsn: string): bigint {
  const [high = '0', low = '0'] = lsn.split('/');
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`);
}

function beforeHorizon({ generation, xid }: Pick<Position, 'generation' | 'xid'>): Position {
  return { generation, xid: String(BigInt(xid) - 1n), record_id: last_id };
}

async function readState({ db }: Pick<Context, 'db'>, { client_id, organization_id }: Scope): Promise<ServerState> {
  const [state] = await db.read<ServerState>(
    client_id,
    (sql) => sql`
      SELECT server.*, change_branches() AS branches,
             ${pendingKinds(
               sql,
               organization_id,
               followed_kinds.map(({ name }) => name),
             )} AS pending
        FROM (SELECT change_generation() AS generation, current_timeline() AS timeline,
                     pg_current_wal_insert_lsn()::text AS wal, pg_snapshot_xmin(pg_current_snapshot())::text AS xmin,
                     floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms) AS server`,
  );
  if (!state) throw new Error('A query without FROM returned no row.');
  if (state.branches.some(({ timeline }) => timeline === state.timeline)) return state;
  return { ...state, branches: [...state.branches, ...(await noticeTimeline(db.system))] };
}

/**
 * Stores where the server's timeline branched off, if it is new: after a failover, the end of what the server had received
 * from its predecessor. It is known until the server is restarted.
 */
export async function noticeTimeline({ pooled: system }: Sql): Promise<Branch[]> {
  await system`INSERT INTO change_timelines (generation, timeline, branched_at)
    SELECT max(generation), current_timeline(), pg_last_wal_replay_lsn() FROM change_generations
    ON CONFLICT DO NOTHING`;
  return system<Branch[]>`SELECT timeline, branched_at::text AS branched_at FROM change_timelines
    WHERE generation = (SELECT max(generation) FROM change_generations) AND timeline = current_timeline()`;
}

type Range = {
  kinds: readonly KindName[];
  position: Position;
  since: Pick<Position, 'generation' | 'xid'>;
  horizon: Pick<Position, 'generation' | 'xid'>;
  limit: number;
};

/** A row that has changed since the state was read is behind the horizon, so all of these are as they were then. */
function readRows(ctx: Pick<Context, 'db'>, scope: Scope, range: Range): Promise<ChangeRow[]> {
  const { kinds, position, since, horizon, limit } = range;
  return ctx.db.read<ChangeRow>(scope.client_id, (sql) => {
    const pair = (place: Pick<Position, 'generation' | 'xid'>) =>
      sql`((SELECT ${place.generation}::int), (SELECT ${place.xid}::text::bigint))`;
    const after = sql`((SELECT ${position.generation}::int), (SELECT ${position.xid}::text::bigint),
      ${unseen(sql, position.record_id, 'uuid')})`;
    const ofKind = (kind: KindName) => sql`(SELECT * FROM record_changes
       WHERE client_id = ${unseen(sql, scope.client_id, 'uuid')}
         AND organization_id = ${unseen(sql, scope.organization_id, 'uuid')} AND kind = ${unseen(sql, kind, 'text')}
         AND (generation, xid, record_id) > ${after} AND (generation, xid) < ${pair(horizon)}
         AND (NOT deleted OR (generation, xid) >= ${pair(since)})
       ORDER BY generation, xid, record_id ${limitTo(sql, limit + 1)})`;
    const changes = kinds.map(ofKind).reduce((all, each) => sql`${all} UNION ALL ${each}`);
    return sql`
      SELECT kind, record_id AS id, emr_id, deleted, generation, xid::text AS xid, iso(changed_at) AS changed_at,
             ${ofRecord(sql, kinds, () => 'doc')}::text AS record,
             ${ofRecord(sql, kinds, ({ mrn_column }) => mrn_column ?? 'id')}::text AS mrn
        FROM (SELECT * FROM (${changes}) AS any_kind ORDER BY generation, xid, record_id ${limitTo(sql, limit + 1)}) AS page
       ORDER BY page.generation, page.xid, page.record_id`;
  });
}

/** A column of the record that a change is about; null if it is deleted. */
function ofRecord(sql: Query, kinds: readonly KindName[], column: (kind: Kind) => string): Fragment {
  const cases = followed_kinds
    .filter(({ name }) => kinds.includes(name))
    .map(
      (kind) => sql` WHEN ${kind.name}::text THEN
      (SELECT ${sql(column(kind))} FROM ${sql(kind.name)} AS record WHERE record.id = page.record_id)`,
    );
  return sql`(CASE page.kind ${cases} END)`;
}

function formatChange({ kind, id, emr_id, deleted, changed_at, record }: ChangeRow): string {
  const change = JSON.stringify({ kind, id, emr_id, op: deleted ? 'delete' : 'upsert', changed_at });
  return `${change.slice(0, -1)},"record":${record ?? 'null'}}`;
}

/** Deletes the rows of records that were deleted before any valid cursor. */
export async function purgeChanges({ pooled: system }: Sql, batch = 1_000): Promise<void> {
  for (let deleted = batch; deleted === batch; ) {
    const { count } = await system`DELETE FROM record_changes WHERE record_id = ANY (ARRAY(
      SELECT record_id FROM record_changes WHERE deleted AND changed_at < now() - make_interval(days => ${tombstone_days})
       LIMIT ${batch}))`;
    deleted = count;
  }
}

/** Starts a new generation, after a restore. Runs as the owner of the tables. */
export async function startGeneration(owner: Pick<Sql, 'pooled'>): Promise<void> {
  await owner.pooled`INSERT INTO change_generations (generation, system_identifier)
    SELECT max(generation) + 1, (SELECT system_identifier FROM pg_control_system()) FROM change_generations`;
}

/**
 * Starts a new generation if the database is a copy that our own tools did not make: of another cluster, or with
 * transaction ids that this cluster has not reached. Runs before a process changes any record.
 */
export async function checkGeneration({ pooled: system }: Sql): Promise<void> {
  await system`INSERT INTO change_generations (generation, system_identifier)
    SELECT generation + 1, server.system_identifier
      FROM pg_control_system() AS server CROSS JOIN LATERAL (
        SELECT generation, system_identifier FROM change_generations ORDER BY generation DESC LIMIT 1) AS newest
     WHERE newest.system_identifier <> server.system_identifier OR EXISTS (
       SELECT FROM record_changes WHERE record_changes.generation = newest.generation
          AND xid >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint)
    ON CONFLICT DO NOTHING`;
}

/**
 * Before a patient is erased: the deletions that follow, and an earlier one of the patient itself, keep nothing by which the
 * EMR knows the records. Readers of the feed get the deletions by our ids.
 */
export async function forgetInChanges(
  tx: Tx,
  { organization_id, patient }: { organization_id: string; patient: { id: string | null; ehr_id: string | null } },
): Promise<void> {
  await tx`SELECT set_config('chartwire.erasing', 'true', true)`;
  await tx`UPDATE record_changes SET emr_id = NULL WHERE organization_id = ${organization_id} AND deleted
     AND (record_id = ${patient.id} OR kind = ${patients.name} AND emr_id = ${patient.ehr_id})`;
}
