import { PassThrough, type Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type { EventType } from '../../model/events.ts';
import type { Database, Fragment, Query } from '../../platform/db/database.ts';

export type EventStream = {
  client_id: string;
  account_id?: string | undefined;
  types?: readonly EventType[] | undefined;
  /** The last id that the caller has received: of an event, or of the start of a stream. Without it the stream starts now. */
  after?: string | undefined;
  /** Called before events are sent, and every 25 s: the stream ends when it returns false. */
  isAllowed: () => Promise<boolean>;
  /** Called with the patients of the events before these are sent. */
  onSend: (mrns: readonly string[]) => Promise<void>;
};

const poll_ms = 500;
/** Proxies close a stream that is silent for a minute. */
const heartbeat_ms = 25_000;
/**
 * How far back each poll looks: an event's time is set when its transaction starts, so an event can become visible after
 * a newer one.
 */
const overlap_ms = 10_000;
const batch_max = 100;
/** A caller that reads nothing for this long is gone. It continues from its last event when it reconnects. */
const unread_bytes_max = 1_048_576;

type Row = { id: string; type: EventType; body: string; mrns: string[]; at: number };

/**
 * A client's events as server-sent events, each within a second of its commit. The data is the body of the webhook. After
 * a reconnection (`after`), events of the last seconds before it may be repeated. The first id that is sent stands for the
 * start, so that a caller whose connection is lost before the first event misses none.
 */
export function streamEvents(db: Database, stream: EventStream): Readable {
  const output = new PassThrough();
  void send(db, stream, output).catch((error) => output.destroy(error));
  return output;
}

async function send(db: Database, stream: EventStream, output: PassThrough): Promise<void> {
  const sent = new Map<string, number>();
  let from = await readStart(db, stream);
  output.write(`retry: 2000\nid: ${stream.after ?? positionAt(from)}\n\n`);
  let heartbeat_at = performance.now() + heartbeat_ms;
  while (!output.destroyed && !output.readableEnded) {
    const rows = await readAfter(db, stream, from, [...sent.keys()]);
    // A revoked secret gets nothing more. Usually answered from memory.
    if (rows.length > 0 && !(await stream.isAllowed())) return void output.end();
    // Stored before the events are sent, so that everything shown is in the audit log.
    if (rows.length > 0) await stream.onSend(rows.flatMap(({ mrns }) => mrns));
    for (const { id, type, body, at } of rows) {
      output.write(`id: ${id}\nevent: ${type}\ndata: ${body}\n\n`);
      sent.set(id, at);
      from = Math.max(from, at - overlap_ms);
    }
    for (const [id, at] of sent) if (at < from) sent.delete(id);
    if (output.readableLength > unread_bytes_max) output.destroy();
    if (performance.now() > heartbeat_at) {
      heartbeat_at = performance.now() + heartbeat_ms;
      if (!(await stream.isAllowed())) return void output.end();
      output.write(': heartbeat\n\n');
    }
    if (rows.length < batch_max) await pause(poll_ms, undefined, { ref: false });
  }
}

/** In milliseconds, by the database's clock. */
async function readStart(db: Database, { client_id, after }: EventStream): Promise<number> {
  const [row] = await db.search<{ now: number; seen: number | null }>(
    client_id,
    (sql) => sql`SELECT ${toMilliseconds(sql, sql`now()`)} AS now,
      (SELECT ${toMilliseconds(sql, sql`created_at`)} FROM events WHERE id = ${after ?? null}::uuid) AS seen`,
  );
  if (!row) throw new Error('The query for the time returned no row.');
  if (row.seen !== null) return row.seen - overlap_ms;
  return after === undefined ? row.now : Math.min(readIdTime(after), row.now);
}

/** Ids start with their time in milliseconds, so an id without an event stands for a time. */
function positionAt(ms: number): string {
  return Math.floor(ms).toString(16).padStart(12, '0').padEnd(32, '0');
}

function readIdTime(id: string): number {
  return Number.parseInt(id.slice(0, 12), 16);
}

function readAfter(db: Database, stream: EventStream, from: number, sent: readonly string[]): Promise<Row[]> {
  const { client_id, account_id, types, after } = stream;
  return db.search<Row>(
    client_id,
    (sql) => sql`
      SELECT id, type, body, mrns, ${toMilliseconds(sql, sql`created_at`)} AS at
        FROM events
       WHERE client_id = ${client_id} AND created_at >= to_timestamp(${from}::float8 / 1000)
         AND id <> ALL (${[...sent, ...(after === undefined ? [] : [after])]}::uuid[])
         ${account_id === undefined ? sql`` : sql`AND account_id = ${account_id}`}
         ${types === undefined ? sql`` : sql`AND type = ANY (${[...types]}::text[])`}
       ORDER BY created_at, id LIMIT ${batch_max}`,
  );
}

function toMilliseconds(sql: Query, moment: Fragment): Fragment {
  return sql`(extract(epoch FROM ${moment}) * 1000)::float8`;
}
