import { failures } from '../../../src/catalog/failures.ts';
import type { Fragment, Sql } from '../../../src/platform/db/database.ts';
import { type Evidence, in_transit_ms, type LedgerEntry } from './evidence.ts';
import { accountUsers, foreignCredentials, neededSignIns, redemptions } from './signIns.ts';

/** What must be true after a run, whatever failed during it. */
export type Invariant = {
  name: string;
  /** The promises that it is part of; see soak/promises.ts. */
  rows: readonly number[];
  /** How many things were checked, and the ids of those that break the invariant. */
  check(evidence: Evidence): Promise<{ checked: number; violations: string[] }>;
};

export const invariants: readonly Invariant[] = [
  { rows: [1, 3, 4, 5], name: 'every acknowledged write has its job', check: acknowledgedWrites },
  { rows: [3], name: 'a write repeated with its Idempotency-Key has one operation', check: repeatedRequests },
  { rows: [1, 8], name: 'every job has finished', check: ({ sql }) => count(sql, jobs, 'finished_at IS NULL') },
  {
    rows: [42],
    name: 'no unfinished job is outside a lane and a parking place',
    check: ({ sql }) => count(sql, jobs, stranded),
  },
  { rows: [42], name: 'no lane is left without a job', check: ({ sql }) => count(sql, 'lanes', empty_lane) },
  { rows: [1, 6], name: 'every finished job has exactly one event', check: terminalEvents },
  { rows: [1], name: 'the event of a job agrees with its state', check: eventTypes },
  {
    rows: [1],
    name: 'no write needs a review, because this EMR can be searched',
    check: ({ sql }) => count(sql, jobs, review),
  },
  { rows: [7], name: 'every failure has a documented code and a readable text', check: failureTexts },
  { rows: [1, 6], name: 'no write was applied twice in the EMR', check: doubledWrites },
  { rows: [1], name: 'every write that succeeded was applied in the EMR', check: lostWrites },
  { rows: [1], name: 'no write that failed was applied in the EMR', check: hiddenWrites },
  { rows: [1], name: 'the EMR has no write without an intent', check: unknownWrites },
  { rows: [10], name: 'the writes of a patient were applied in the order of acceptance', check: order },
  { rows: [11], name: 'every event has a delivery to every endpoint', check: missingDeliveries },
  {
    rows: [11],
    name: 'every delivery succeeded or is still to be retried',
    check: ({ sql }) => count(sql, 'deliveries', given_up),
  },
  { rows: [11], name: 'every delivery that succeeded was received', check: undelivered },
  { rows: [11], name: 'every received webhook is an event, byte by byte', check: unknownWebhooks },
  { rows: [11], name: 'every received webhook has a valid signature and timestamp', check: signatures },
  {
    rows: [11],
    name: 'no webhook was sent again after it was accepted, unless a crash came between',
    check: repeatedWebhooks,
  },
  { rows: [11], name: 'the database found no deadlock', check: deadlocks },
  { rows: [8, 43], name: 'no account asked for a sign-in that was not needed', check: neededSignIns },
  {
    rows: [43],
    name: 'a refresh token was redeemed once, unless the process that redeemed it was killed',
    check: redemptions,
  },
  { rows: [44], name: 'a read after an event returned at least its state', check: cachedReads },
  { rows: [45], name: 'no EMR received a credential that it had not issued', check: foreignCredentials },
  { rows: [45], name: 'every write was sent as the EMR user of its account', check: accountUsers },
  { rows: [25], name: 'every finished job has its audit record', check: ({ sql }) => count(sql, jobs, unaudited) },
  { rows: [19], name: 'all keys are encrypted by one master key', check: masterKeys },
];

const jobs = 'jobs';
const stranded = `finished_at IS NULL AND NOT parked AND NOT EXISTS (
  SELECT FROM lanes WHERE lanes.organization_id = jobs.organization_id AND lanes.key = jobs.lane)`;
const empty_lane = `NOT EXISTS (SELECT FROM jobs WHERE jobs.organization_id = lanes.organization_id
  AND jobs.lane = lanes.key AND jobs.finished_at IS NULL AND NOT jobs.parked)`;
const review = `state = 'needs_review'`;
const given_up = `status = 'failed' OR status = 'pending' AND ready_at IS NULL`;
const unaudited = `finished_at IS NOT NULL AND NOT EXISTS (
  SELECT FROM audit_records WHERE job_id = jobs.id AND action = 'job.' || jobs.type AND outcome = jobs.state)`;

/** Counts the rows of a table, and finds those that meet a condition. */
async function count(sql: Sql, table: string, condition: string) {
  const [row] = await sql<{ checked: number }[]>`SELECT count(*) AS checked FROM ${sql(table)}`;
  const violating = await sql.unsafe<{ id: string }[]>(`SELECT id::text FROM ${table} WHERE ${condition} ORDER BY id`);
  return { checked: row?.checked ?? 0, violations: violating.map(({ id }) => id) };
}

async function acknowledgedWrites({ sql, acknowledged }: Evidence) {
  const rows = await sql<{ job_id: string; operation_id: string }[]>`
    SELECT id::text AS job_id, ${hex(sql, 'operation_id')} AS operation_id FROM jobs`;
  const job_ids = new Set(rows.map((row) => row.job_id));
  const operation_ids = new Set(rows.map((row) => row.operation_id));
  const lost = acknowledged.filter(({ job_id, operation_id }) =>
    job_id === null ? !operation_ids.has(operation_id ?? '') : !job_ids.has(job_id),
  );
  return { checked: acknowledged.length, violations: lost.map(({ token }) => token) };
}

async function repeatedRequests({ sql, acknowledged }: Evidence) {
  const acknowledged_tokens = new Set(acknowledged.map(({ token }) => token));
  const rows = await sql<{ token: string; n: number }[]>`
    SELECT substring(input::text FROM ${token_pattern}) AS token, count(*) AS n FROM operations
     WHERE input::text ~ ${token_pattern} GROUP BY 1`;
  const repeated = rows.filter(({ token, n }) => n > 1 && acknowledged_tokens.has(token));
  return { checked: acknowledged_tokens.size, violations: repeated.map(({ token }) => token) };
}

/** The unique text of a write; the load creates them, see mixed/requests.ts. */
export const token_pattern = 'Soak[a-z]{6,}';

async function terminalEvents({ sql }: Evidence) {
  // Scheduled syncs send no event; those that were requested do.
  const rows = await sql<{ id: string }[]>`
    SELECT id::text FROM jobs
     WHERE (SELECT count(*) FROM events WHERE events.job_id = jobs.id)
        <> CASE WHEN finished_at IS NULL OR type = 'sync' AND event_id IS NULL THEN 0 ELSE 1 END
        OR finished_at IS NOT NULL AND type <> 'sync' AND event_id IS NULL`;
  const { checked } = await count(sql, jobs, 'false');
  return { checked, violations: rows.map(({ id }) => id) };
}

async function eventTypes({ sql }: Evidence) {
  const rows = await sql<{ id: string; state: string; type: string }[]>`
    SELECT jobs.id::text, jobs.state, events.type FROM jobs JOIN events ON events.id = jobs.event_id`;
  const expected = (type: string) =>
    /[._]failed$/.test(type) ? 'failed' : /_partial$/.test(type) ? 'partial' : 'done';
  const states: Record<string, string> = { succeeded: 'done', partial: 'partial' };
  const wrong = rows.filter(({ state, type }) => (states[state] ?? 'failed') !== expected(type));
  return { checked: rows.length, violations: wrong.map(({ id }) => id) };
}

async function failureTexts({ sql }: Evidence) {
  const rows = await sql<{ id: string; code: string | null; text: string }[]>`
    SELECT jobs.id::text, jobs.error ->> 'code' AS code, concat(jobs.error::text, events.body) AS text
      FROM jobs LEFT JOIN events ON events.id = jobs.event_id WHERE jobs.state IN ('failed', 'partial', 'needs_review')`;
  const bad = rows.filter(
    ({ code, text }) => !Object.hasOwn(failures, code ?? '') || /<html|<!doctype|\\n\s+at |SyntaxError/i.test(text),
  );
  return { checked: rows.length, violations: bad.map(({ id }) => id) };
}

async function doubledWrites({ ledger }: Evidence) {
  const applied = appliedEntries(ledger);
  const seen = new Set<string>();
  const doubled = applied.filter(({ operation, marker }) => {
    const write = `${operation} ${marker}`;
    if (seen.has(write)) return true;
    seen.add(write);
    return false;
  });
  return { checked: applied.length, violations: doubled.map(({ marker }) => marker) };
}

async function lostWrites({ sql, ledger }: Evidence) {
  const applied = new Set(appliedEntries(ledger).map(({ marker }) => readOperationId(marker)));
  const rows = await finishedWrites(sql, ['succeeded', 'partial']);
  const lost = rows.filter(({ operation_id }) => !applied.has(operation_id));
  return { checked: rows.length, violations: lost.map(({ id }) => id) };
}

async function hiddenWrites({ sql, ledger }: Evidence) {
  const applied = new Set(appliedEntries(ledger).map(({ marker }) => readOperationId(marker)));
  const succeeded = new Set((await finishedWrites(sql, ['succeeded', 'partial'])).map((row) => row.operation_id));
  const rows = await finishedWrites(sql, ['failed']);
  // A run that failed may be repeated by one that succeeded.
  const hidden = rows.filter(({ operation_id }) => applied.has(operation_id) && !succeeded.has(operation_id));
  return { checked: rows.length, violations: hidden.map(({ id }) => id) };
}

/** Finished jobs that write: not syncs, and not searches for patients. */
function finishedWrites(sql: Sql, states: string[]) {
  return sql<{ id: string; operation_id: string }[]>`
    SELECT id::text, ${hex(sql, 'operation_id')} AS operation_id FROM jobs
     WHERE state = ANY (${states}) AND type NOT IN ('sync', 'patient.fetch', 'appointment.fetch', 'availability.fetch')`;
}

async function unknownWrites({ sql, ledger }: Evidence) {
  const rows = await sql<{ marker: string }[]>`
    SELECT DISTINCT detail ->> 'marker' AS marker FROM job_steps WHERE kind = 'intent'`;
  const intents = new Set(rows.map(({ marker }) => marker));
  const unknown = ledger.filter(({ marker }) => marker === null || !intents.has(marker));
  return { checked: ledger.length, violations: unknown.map(({ marker, operation }) => marker ?? operation) };
}

/**
 * Per lane and account: a parked job leaves its lane, so jobs of other accounts pass it. A write belongs to the job whose
 * intent was the last one before it arrived; an earlier run of the operation may have failed.
 */
async function order({ sql, ledger }: Evidence) {
  const rows = await sql<{ marker: string; job_id: number; lane: string; at_ms: number }[]>`
    SELECT job_steps.detail ->> 'marker' AS marker, jobs.id AS job_id,
           concat_ws(' ', jobs.organization_id, jobs.lane, jobs.account_id) AS lane,
           extract(epoch FROM job_steps.at)::float8 * 1000 AS at_ms
      FROM job_steps JOIN jobs ON jobs.id = job_steps.job_id WHERE job_steps.kind = 'intent' ORDER BY job_steps.n`;
  const intents = new Map<string, (typeof rows)[number][]>();
  for (const row of rows) intents.set(row.marker, [...(intents.get(row.marker) ?? []), row]);
  const latest = new Map<string, number>();
  const inversions: string[] = [];
  const applied = appliedEntries(ledger);
  for (const { marker, at } of applied) {
    const own = intents.get(marker) ?? [];
    // Larkspur's times have no microseconds.
    const intent = own.findLast(({ at_ms }) => at_ms < Date.parse(at) + 1) ?? own[0];
    if (!intent) continue;
    if (intent.job_id < (latest.get(intent.lane) ?? 0)) inversions.push(marker);
    else latest.set(intent.lane, intent.job_id);
  }
  return { checked: applied.length, violations: inversions };
}

async function missingDeliveries({ sql }: Evidence) {
  const rows = await sql<{ id: string; missing: boolean }[]>`
    SELECT events.id::text, NOT EXISTS (
             SELECT FROM deliveries WHERE event_id = events.id AND endpoint_id = endpoint.id) AS missing
      FROM events JOIN webhook_endpoints AS endpoint ON endpoint.client_id = events.client_id
     WHERE events.created_at > endpoint.created_at
       AND (endpoint.event_types IS NULL OR events.type = ANY (endpoint.event_types))`;
  return { checked: rows.length, violations: rows.filter(({ missing }) => missing).map(({ id }) => id) };
}

async function undelivered({ sql, received }: Evidence) {
  const got = new Set(received.filter(isAccepted).map(({ url, webhook_id }) => `${url} ${bare(webhook_id)}`));
  const rows = await sql<{ id: string; url: string; event_id: string }[]>`
    SELECT deliveries.id::text, webhook_endpoints.url, ${hex(sql, 'event_id')} AS event_id
      FROM deliveries JOIN webhook_endpoints ON webhook_endpoints.id = deliveries.endpoint_id
     WHERE deliveries.status = 'success'`;
  const missing = rows.filter(({ url, event_id }) => !got.has(`${url} ${event_id}`));
  return { checked: rows.length, violations: missing.map(({ id }) => id) };
}

function isAccepted({ status }: { status: number | null }): boolean {
  return status !== null && status >= 200 && status < 300;
}

async function unknownWebhooks({ sql, received }: Evidence) {
  const rows = await sql<{ id: string; hash: string }[]>`
    SELECT ${hex(sql, 'id')} AS id, encode(sha256(convert_to(body, 'UTF8')), 'hex') AS hash FROM events`;
  const hashes = new Map(rows.map(({ id, hash }) => [id, hash]));
  const unknown = received.filter(({ webhook_id, body_sha256 }) => hashes.get(bare(webhook_id)) !== body_sha256);
  return { checked: received.length, violations: unknown.map(({ webhook_id }) => webhook_id) };
}

async function signatures({ received }: Evidence) {
  const invalid = received.filter(({ valid }) => !valid);
  return { checked: received.length, violations: invalid.map(({ webhook_id }) => webhook_id) };
}

/** How long a response may take to arrive and to be stored. Slow receivers respond after 3 s. */
const stored_within_ms = 8_000;
/** PostgreSQL ends an idle transaction of the service after this time. */
const locks_held_ms = 10_000;

async function repeatedWebhooks({ received, interruptions }: Evidence) {
  const interrupted = new Map<string, { at: number; until: number }[]>();
  for (const each of interruptions) {
    if (each.kind !== 'process') continue;
    for (const { url, webhook_id } of each.deliveries) {
      const key = `${url} ${webhook_id}`;
      interrupted.set(key, [...(interrupted.get(key) ?? []), { at: each.at, until: each.frozen_until ?? each.at }]);
    }
  }
  const databases = interruptions.filter((each) => each.kind === 'database');
  const frozen_at = interruptions.flatMap((each) =>
    each.kind === 'process' && each.frozen_until !== null ? each.at : [],
  );
  const accepted = new Map<string, number>();
  const repeated: string[] = [];
  for (const { url, webhook_id, at, status } of received) {
    const key = `${url} ${bare(webhook_id)}`;
    const accepted_at = accepted.get(key);
    if (accepted_at !== undefined) {
      // What a frozen process has locked, others store only after its transaction was ended.
      const blocked = frozen_at.filter(
        (each) => each > accepted_at - locks_held_ms && each < accepted_at + stored_within_ms,
      );
      const stored_by = Math.max(accepted_at, ...blocked.map((each) => each + locks_held_ms)) + stored_within_ms;
      const from = accepted_at - in_transit_ms;
      const was_interrupted =
        interrupted.get(key)?.some((each) => each.until > from && each.at < Math.min(at, stored_by)) ?? false;
      const was_down = databases.some((outage) => outage.at < stored_by && outage.until > accepted_at);
      if (!was_interrupted && !was_down) repeated.push(key);
    }
    if (isAccepted({ status })) accepted.set(key, at);
  }
  return { checked: accepted.size, violations: repeated };
}

/** PostgreSQL notes them with `log_lock_waits`, which the run turns on. */
async function deadlocks({ sql, database_log }: Evidence) {
  const { checked } = await count(sql, 'deliveries', 'false');
  return { checked, violations: database_log.filter((line) => line.includes('detected deadlock')) };
}

/** The states of a record follow each other in the order in which their jobs ended. */
async function cachedReads({ sql, reads }: Evidence) {
  const rows = await sql<{ job_id: string; token: string | null; ended_at: Date | null }[]>`
    SELECT jobs.id::text AS job_id, substring(input::text FROM ${token_pattern}) AS token, finished_at AS ended_at
      FROM jobs JOIN operations ON operations.id = operation_id
     WHERE jobs.type IN ('patient.create', 'patient.update', 'appointment.create') AND jobs.state = 'succeeded'`;
  const ends = new Map(rows.map(({ job_id, ended_at }) => [job_id, ended_at?.getTime() ?? Number.POSITIVE_INFINITY]));
  const jobs_by_token = new Map(rows.map(({ token, job_id }) => [token, job_id]));
  const older = reads.filter(({ job_id, seen }) => {
    const returned = jobs_by_token.get(seen);
    return returned === undefined || (ends.get(returned) ?? 0) < (ends.get(job_id) ?? 0);
  });
  return { checked: reads.length, violations: older.map(({ job_id, seen }) => `${job_id} ${seen}`) };
}

async function masterKeys({ sql }: Evidence) {
  const rows = await sql<{ id: string; n: number }[]>`
    SELECT master_key_id AS id, count(*) AS n FROM (
      SELECT master_key_id FROM data_keys UNION ALL SELECT master_key_id FROM system_keys) AS wrapped GROUP BY 1 ORDER BY n DESC`;
  const checked = rows.reduce((sum, { n }) => sum + n, 0);
  return { checked, violations: rows.slice(1).map(({ id }) => id) };
}

function appliedEntries(ledger: readonly LedgerEntry[]): (LedgerEntry & { marker: string })[] {
  return ledger.flatMap((entry) =>
    entry.applied && entry.marker !== null ? [{ ...entry, marker: entry.marker }] : [],
  );
}

/** A marker is `<operation id>-<step>`. */
function readOperationId(marker: string): string {
  return bare(marker.slice(0, marker.lastIndexOf('-')));
}

function bare(id: string): string {
  return id.replaceAll('-', '');
}

/** An id without hyphens, as in the API. */
function hex(sql: Sql, column: string): Fragment {
  return sql`replace(${sql(column)}::text, '-', '')`;
}
