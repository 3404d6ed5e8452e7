import { firstIdAt, parseId } from '../../catalog/ids.ts';
import { groupCommit } from '../../platform/db/batches.ts';
import type { Fragment, Query } from '../../platform/db/database.ts';
import { type ClientScope, inScope } from '../../platform/db/fragments.ts';
import { parseDateTime } from '../../platform/time/days.ts';
import type { Context, LoggedRequest, RequestLog } from '../context.ts';

export async function insertRequests(system: Query, requests: readonly LoggedRequest[]): Promise<void> {
  // The id contains the time of arrival.
  const values = requests.map((each) => ({ ...each, at: new Date(Number.parseInt(each.id.slice(0, 12), 16)) }));
  const owners = [...new Set(requests.flatMap(({ client_id, account_id }) => [client_id, account_id]))].filter(
    (id) => id !== null,
  );
  // Nobody waits for the commit to reach the disk: if the database server crashes, the requests of the last second may
  // be missing.
  await system`
    WITH setting AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS value),
         owner AS MATERIALIZED (SELECT lock_request_owners(${owners}::uuid[]) AS id)
    INSERT INTO requests (id, at, client_id, account_id, endpoint, method, status, duration_ms, code, path, field, job_id,
                          response_bytes, message_values, sent_path)
    SELECT id, at, client_id, account_id, endpoint, method, status, duration_ms, code, path, field, job_id,
           response_bytes, message_values, sent_path
      FROM json_to_recordset(${JSON.stringify(values)}::text::json) AS entry (id uuid, at timestamptz, client_id uuid,
             account_id uuid, endpoint text, method text, status integer, duration_ms integer, code text,
             path text, field text, job_id bigint, response_bytes bigint, message_values json, sent_path text) CROSS JOIN setting
     WHERE setting.value IS NOT NULL
       -- A client or a practice may have been erased since the request.
       AND (client_id IS NULL OR client_id IN (SELECT owner.id FROM owner))
       AND (account_id IS NULL OR account_id IN (SELECT owner.id FROM owner))
    ON CONFLICT DO NOTHING`;
}

const statuses = {
  '2xx': [200, 300],
  '4xx': [400, 500],
  '5xx': [500, 600],
  failed: [400, 600],
} as const;

/** A logged request, without its body and URL. `client_id` and `account` are public ids; null if unauthenticated. */
export type RequestRow = Omit<LoggedRequest, 'account_id'> & {
  at: string;
  client_name: string | null;
  account: string | null;
};

export type RequestSearch = {
  id?: string | undefined;
  client_id?: string | undefined;
  account_id?: string | undefined;
  endpoint?: string | undefined;
  status?: keyof typeof statuses | undefined;
  duration_ms_min?: number | undefined;
  /** Date-times; `to` is exclusive. */
  from?: string | undefined;
  to?: string | undefined;
  /** A request's ID, or a part of its path. `endpoints`: those whose path contains it. `sent_paths`: search them too. */
  search?: { text: string; endpoints: readonly string[]; sent_paths: boolean } | undefined;
  /** The last request of the previous page. */
  before?: string | undefined;
  page_size?: number | undefined;
  scope: ClientScope;
};

/** A page of requests, newest first. */
export async function listRequests(
  ctx: Pick<Context, 'db'>,
  search: RequestSearch,
): Promise<{ rows: RequestRow[]; next: string | null }> {
  const sql = ctx.db.system.pooled;
  const { id, client_id, account_id, endpoint, status, duration_ms_min, before, page_size = 50, scope } = search;
  const { from, to, search: searched } = search;
  const [at_least, below] = statuses[status ?? 'failed'];
  const conditions = [
    inScope(sql, sql`requests.client_id`, scope),
    id === undefined ? undefined : sql`requests.id = ${id}`,
    client_id === undefined
      ? undefined
      : sql`requests.client_id = (SELECT id FROM clients WHERE public_id = ${client_id})`,
    account_id === undefined ? undefined : sql`requests.account_id = ${account_id}`,
    endpoint === undefined ? undefined : sql`endpoint = ${endpoint}`,
    // A literal rather than a parameter, so that the planner can use the partial index on failures.
    status === undefined || status === '2xx' ? undefined : sql`requests.status >= 400`,
    status === undefined ? undefined : sql`requests.status >= ${at_least} AND requests.status < ${below}`,
    duration_ms_min === undefined ? undefined : sql`duration_ms >= ${duration_ms_min}`,
    before === undefined ? undefined : sql`requests.id < ${before}`,
    from === undefined ? undefined : sql`requests.id >= ${firstIdAt(parseDateTime(from))}`,
    to === undefined ? undefined : sql`requests.id < ${firstIdAt(parseDateTime(to))}`,
    searched && matching(sql, searched),
  ].filter((each) => each !== undefined);
  const matches = await sql<RequestRow[]>`
    SELECT requests.id, iso(at) AS at, clients.public_id AS client_id, clients.name AS client_name,
           accounts.reference_id AS account, endpoint, method, requests.status, duration_ms, code,
           path, field, job_id, response_bytes, message_values, sent_path
      FROM requests LEFT JOIN clients ON clients.id = requests.client_id
           LEFT JOIN accounts ON accounts.id = requests.account_id
     WHERE ${conditions.reduce((all, each) => sql`${all} AND ${each}`, sql`true`)}
     ORDER BY requests.id DESC LIMIT ${page_size + 1}`;
  const rows = matches.slice(0, page_size);
  return { rows, next: matches.length > page_size ? (rows.at(-1)?.id ?? null) : null };
}

function matching(sql: Query, { text, endpoints, sent_paths }: NonNullable<RequestSearch['search']>): Fragment {
  const id = parseId(text.toLowerCase());
  if (id !== undefined) return sql`requests.id = ${id}`;
  const shown = sent_paths ? sql`coalesce(sent_path, path)` : sql`path`;
  return sql`(endpoint = ANY (${[...endpoints]}) OR strpos(lower(${shown}), ${text.toLowerCase()}) > 0)`;
}

/** Creates the partitions of the next days and deletes expired requests, whole days at once. Returns the days deleted. */
export async function rotateRequests(sql: Query, days: number): Promise<number> {
  await prepareRequestDays(sql);
  const [row] = await sql<{ dropped: number }[]>`SELECT drop_request_days(${days}) AS dropped`;
  await deleteRequests(sql, days);
  return row?.dropped ?? 0;
}

/** Creates the partitions of the next days. */
export async function prepareRequestDays(sql: Query): Promise<void> {
  await sql`SELECT prepare_request_days()`;
}

/**
 * Deletes the requests of whole expired days, one batch per statement; those of days that only have such requests are
 * dropped faster. `condition`: only of these requests.
 */
export async function deleteRequests(sql: Query, days: number, condition?: Fragment, batch = 10_000): Promise<number> {
  let total = 0;
  for (let deleted = batch; deleted === batch; total += deleted) {
    const rows = await sql`
      DELETE FROM requests WHERE id IN (
        SELECT id FROM requests WHERE ${expiredRequests(sql, days)} AND ${condition ?? sql`true`}
         ORDER BY id LIMIT ${batch})`;
    deleted = rows.count;
  }
  return total;
}

/** How many requests of each client have expired. */
export function countExpiredRequests(sql: Query, days: number): Promise<{ client_id: string; rows: number }[]> {
  return sql<{ client_id: string; rows: number }[]>`
    SELECT client_id, count(*) AS rows FROM requests
     WHERE ${expiredRequests(sql, days)} AND client_id IS NOT NULL GROUP BY client_id`;
}

function expiredRequests(sql: Query, days: number): Fragment {
  return sql`id < first_id_at(date_trunc('day', now() - make_interval(days => ${days}), 'UTC'))`;
}

/** Requests that end within this time are stored by one statement. No response waits for it. */
const interval_ms = 100;
/** Requests waiting to be stored: a few seconds of a busy process, two megabytes. */
const waiting_max = 10_000;
/**
 * Unauthenticated requests beyond these rates are not logged: anyone can send them, to any path, and more of them add no
 * information. A flood that lasts a day leaves 120,000 rows, about 20 MB.
 */
const unauthenticated_limits = [
  { period_ms: 1_000, requests: 20 },
  { period_ms: 3_600_000, requests: 5_000 },
];

/** Opens the request log. If the database is unavailable, requests are dropped and counted; responses never wait for it. */
export function openRequestLog(
  { db, metrics }: Pick<Context, 'db' | 'metrics'>,
  now: () => number = () => Date.now(),
): RequestLog & { close(): Promise<void> } {
  const group = groupCommit<LoggedRequest>(
    async (requests) => {
      await insertRequests(db.system.pooled, requests);
      return [];
    },
    { interval_ms },
  );
  const admit = unauthenticatedLimit(now);
  return {
    add: (request) => {
      if (group.waiting() >= waiting_max || (request.client_id === null && !admit())) {
        metrics.requests_unlogged.inc();
        return;
      }
      group.add(request).catch(() => metrics.requests_unlogged.inc());
    },
    close: group.flushed,
  };
}

function unauthenticatedLimit(now: () => number): () => boolean {
  const limits = unauthenticated_limits.map((limit) => ({ ...limit, period: 0, admitted: 0 }));
  return () => {
    for (const limit of limits) {
      const period = Math.floor(now() / limit.period_ms);
      if (period !== limit.period) Object.assign(limit, { period, admitted: 0 });
    }
    const admitted = limits.every((limit) => limit.admitted < limit.requests);
    // One that is not logged counts against no limit.
    if (admitted) for (const limit of limits) limit.admitted += 1;
    return admitted;
  };
}
