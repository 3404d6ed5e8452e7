import { getHeapStatistics } from 'node:v8';
import { apiError } from '../../catalog/errors.ts';
import { type Batch, batch_wait, isRefusedBatch } from '../../platform/db/batches.ts';
import type { Database, Fragment, Query, Tx } from '../../platform/db/database.ts';
import type { Audit, AuditEntry, Context } from '../context.ts';
import { editedCopy } from './editedCopies.ts';
import { type IdempotencyKey, insertOperationKeys, key_wait } from './idempotencyKeys.ts';
import { type EditedCopy, insertJobs, insertOperations, type Operation, updateOperation } from './jobs.ts';
import { insertLanes, lockLanes } from './lanes.ts';

/**
 * A larger job is stored on its own, so that others do not wait while it is sent. Few requests reach a tenth of this
 * size.
 */
const text_max = 32_768;

const without_check = createBatch(undefined);
const batches = new WeakMap<ReferenceCheck, Batch<DescribedJob, Queued>>();

/** The batch of the jobs with this check: it is a part of their statement. */
function batchFor(check: ReferenceCheck | undefined): Batch<DescribedJob, Queued> {
  if (!check) return without_check;
  const batch = batches.get(check) ?? createBatch(check);
  batches.set(check, batch);
  return batch;
}

function createBatch(check: ReferenceCheck | undefined): Batch<DescribedJob, Queued> {
  return {
    max: 100,
    kind: 'write',
    run: (sql, client_id, jobs) => enqueueAll(sql, client_id, jobs, { wait: batch_wait, check }),
  };
}

/**
 * Like `enqueue`, but the client's jobs that arrive at the same time share one statement and one commit. If the
 * statement fails because of one job, each job is stored on its own, so that a job that waits for its key, or cannot be
 * stored, neither fails nor delays the others.
 */
export async function acceptJob({ db }: Pick<Context, 'db'>, new_job: NewJob, check?: ReferenceCheck): Promise<Queued> {
  const alone = () => db.tenant(new_job.client_id, (tx) => enqueueChecked(tx, new_job, check));
  if (new_job.uploads?.length) return alone();
  const described = describe(new_job);
  if (described.text.length > text_max) return alone();
  try {
    return await db.batched(new_job.client_id, batchFor(check), described);
  } catch (error) {
    if (!isRefusedBatch(error)) throw error;
    return alone();
  }
}

export type NewJob = {
  client_id: string;
  organization_id: string;
  account_id: string;
  operation: Operation;
  /** Jobs in the same lane run one at a time, in the order they were accepted. */
  lane: string;
  /** A lane in which earlier jobs of the same patient may still be waiting. If it exists, the job goes there. */
  earlier_lane?: string | undefined;
  parallel_max: number;
  /** The job of the same operation that an operator is running again. */
  run_again_of?: number;
  /** The span that queues the job, for a link from its attempts. */
  traceparent?: string | null;
  /** The files sent with the request. */
  uploads?: readonly Buffer[] | undefined;
  idempotency?: IdempotencyKey | undefined;
  auditStatement?: AuditStatement | undefined;
};

/** An audit record that is stored by the same statement as the job, and only if the job is stored. */
export type AuditStatement = {
  entry(operation_id: string): AuditEntry;
  insert: Audit['recordStatement'];
  /** To be called after the commit. */
  committed(): void;
};

/**
 * A query that checks what a job refers to, within the statement that stores it. It returns one row for the job `sent`
 * (its columns, with the `input`): `complete`, whether everything was found, and `patient_id`, or null for a patient who
 * was not synced yet. A known patient's job goes into the patient's lane, and `lane` becomes the earlier one.
 */
export type ReferenceCheck = (sql: Query) => Fragment;

/** The result for a job that was not stored because its reference check did not find everything. */
export const unknown_reference = 'unknown_reference';

/** A job's id, or undefined if its key is in use. */
export type Queued = number | undefined | typeof unknown_reference;

/**
 * Stores the idempotency key, the operation, its first file, the job, its lane and the audit record in one statement, which
 * is one transaction with one synced commit. Returns the job's id, or undefined if the key is in use.
 *
 * A concurrent request with the same key waits on the key's unique index until the first one has committed.
 */
export async function enqueue(sql: Query, new_job: NewJob): Promise<number | undefined> {
  const queued = await enqueueChecked(sql, new_job, undefined);
  // There is no check.
  return queued === unknown_reference ? undefined : queued;
}

export async function enqueueChecked(sql: Query, new_job: NewJob, check: ReferenceCheck | undefined): Promise<Queued> {
  const { client_id, operation, uploads: [upload, ...others] = [] } = new_job;
  const [queued] = await enqueueAll(sql, client_id, [describe(new_job)], { wait: key_wait, upload, check });
  // In statements of their own, because the driver sends bytes as hexadecimal text.
  for (const [n, content] of typeof queued === 'number' ? others.entries() : []) {
    await sql`INSERT INTO uploads (operation_id, client_id, position, content)
      VALUES (${operation.id}, ${client_id}, ${n + 1}, ${content})`;
  }
  return queued;
}

/** A job in the form that the statement takes: its columns as JSON text. */
export type DescribedJob = { operation_id: string; text: string; auditStatement: AuditStatement | undefined };

export function describe(new_job: NewJob): DescribedJob {
  const { operation, idempotency, organization_id, account_id, lane, earlier_lane, parallel_max } = new_job;
  const text = JSON.stringify({
    operation_id: operation.id,
    organization_id,
    account_id,
    type: operation.type,
    lane,
    earlier_lane,
    parallel_max,
    run_again_of: new_job.run_again_of,
    traceparent: new_job.traceparent,
    reference: operation.reference,
    scope_id: idempotency?.scope_id,
    key_hash: idempotency?.key_hash.toString('hex'),
    request_hash: idempotency?.request_hash.toString('hex'),
    input: operation.input,
  });
  return { operation_id: operation.id, text, auditStatement: new_job.auditStatement };
}

/**
 * The same for many jobs of one client, in order; the commit costs no more than that of a single job. A key may also be
 * in use by an earlier job of the batch. `wait` limits how long it waits for a key or a lane. `upload` is the first file
 * of a single job.
 */
export async function enqueueAll(
  sql: Query,
  client_id: string,
  jobs: readonly DescribedJob[],
  { wait, upload, check }: { wait: string; upload?: Buffer | undefined; check?: ReferenceCheck | undefined },
): Promise<Queued[]> {
  const rows = await sql<{ id: number | null; operation_id: string }[]>`
    WITH tenant AS MATERIALIZED (
      SELECT set_config('chartwire.client_id', ${client_id}, true)::uuid AS id,
             set_config('lock_timeout', ${wait}, true)
    ), ${check ? checkedRequests(sql, jobs, check) : requests(sql, jobs)}, accepted AS (
      ${insertOperationKeys(sql)}
    ), operation AS (
      ${insertOperations(sql)}
    ), upload AS (
      ${upload === undefined ? sql`SELECT 1` : insertUpload(sql, upload)}
    ), ${jobsAndLanes(sql)}
    ${auditRecords(sql, jobs)}
    SELECT job.id, request.operation_id FROM request LEFT JOIN job ON job.operation_id = request.operation_id
     WHERE ${auditIsStored(sql, jobs)}`;
  const ids = new Map(rows.map(({ id, operation_id }) => [operation_id, id ?? undefined]));
  return jobs.map(({ operation_id }) => (ids.has(operation_id) ? ids.get(operation_id) : unknown_reference));
}

/**
 * Queues another job for an existing operation. The marker stays the same; the input may have changed. Refused if an
 * operator has sent an edited copy of the operation: what was requested would be written twice.
 */
export async function enqueueAgain(
  tx: Tx,
  new_job: Omit<NewJob, 'uploads' | 'idempotency' | 'auditStatement'>,
): Promise<number> {
  // The caller has locked the record or the job, as whoever sends an edited copy does. Locking the jobs here as well would
  // be a deadlock with an erasure, which locks the operation first.
  const copied = await findLatestCopy(tx, new_job.operation.id);
  if (copied) {
    const next =
      copied.state === 'cancelled'
        ? 'That job was canceled: send a new request.'
        : 'Use what that job creates instead.';
    throw apiError('edited_copy_exists', { job_id: String(copied.job_id), next });
  }
  const [row] = await tx<{ id: number }[]>`
    WITH request AS MATERIALIZED (
      SELECT described.* FROM ${describedRows(tx, [describe(new_job)])}
    ), operation AS (
      ${updateOperation(tx, new_job.operation)}
    ), ${jobsAndLanes(tx)}
    SELECT id FROM job`;
  if (!row) throw new Error('The operation to run again does not exist.');
  return row.id;
}

/** The latest run of the edited copy of an operation, or if that was edited in turn, of the last one. */
async function findLatestCopy(tx: Tx, operation_id: string): Promise<EditedCopy | undefined> {
  const runs = tx`ARRAY(SELECT id FROM jobs WHERE operation_id = ${operation_id})`;
  const [copied] = await tx<{ copy: EditedCopy; operation_id: string }[]>`
    SELECT copy, run.operation_id FROM (${editedCopy(tx, runs)}) AS latest (copy)
      JOIN jobs AS run ON run.id = (copy ->> 'job_id')::bigint`;
  return copied && ((await findLatestCopy(tx, copied.operation_id)) ?? copied.copy);
}

/** The CTE `request`: the jobs to store. */
function requests(sql: Query, jobs: readonly DescribedJob[]): Fragment {
  return sql`request AS MATERIALIZED (
      SELECT tenant.id AS client_id, described.* FROM tenant CROSS JOIN ${describedRows(sql, jobs)}
    )`;
}

/** The same without those whose references are not known. */
function checkedRequests(sql: Query, jobs: readonly DescribedJob[], check: ReferenceCheck): Fragment {
  return sql`sent AS MATERIALIZED (
      SELECT tenant.id AS client_id, described.* FROM tenant CROSS JOIN ${describedRows(sql, jobs)}
    ), request AS MATERIALIZED (
      SELECT sent.client_id, operation_id, organization_id, account_id, type, parallel_max, run_again_of, traceparent,
             reference, scope_id, key_hash, request_hash, input, position,
             CASE WHEN found.patient_id IS NULL THEN lane
               ELSE 'patient:' || replace(found.patient_id::text, '-', '') END AS lane,
             CASE WHEN found.patient_id IS NOT NULL THEN lane END AS earlier_lane
        FROM sent CROSS JOIN LATERAL (${check(sql)} OFFSET 0) AS found WHERE found.complete
    )`;
}

function describedRows(sql: Query, jobs: readonly DescribedJob[]): Fragment {
  const texts = jobs.map(({ text }) => text);
  return sql`ROWS FROM (json_to_recordset(${`[${texts.join(',')}]`}::text::json) AS (
      operation_id uuid, organization_id uuid, account_id uuid, type text, lane text, earlier_lane text,
      parallel_max integer, run_again_of bigint, traceparent text, reference text, scope_id uuid, key_hash text,
      request_hash text, input json
    )) WITH ORDINALITY AS described (operation_id, organization_id, account_id, type, lane, earlier_lane,
      parallel_max, run_again_of, traceparent, reference, scope_id, key_hash, request_hash, input, position)`;
}

function jobsAndLanes(sql: Query): Fragment {
  return sql`job AS (
      ${insertJobs(sql)}
    ), existing AS MATERIALIZED (
      ${lockLanes(sql)}
    ), lane AS (
      ${insertLanes(sql)}
    )`;
}

/** Fails the statement if the record of a stored job was dropped. */
function auditIsStored(sql: Query, jobs: readonly DescribedJob[]): Fragment {
  const audited = jobs.filter(({ auditStatement }) => auditStatement).map(({ operation_id }) => operation_id);
  if (audited.length === 0) return sql`true`;
  return sql`require_audit_records((SELECT count(*) FROM audit_record),
    (SELECT count(*) FROM operation WHERE id = ANY (${audited}::uuid[])))`;
}

/** The audit records of the jobs that are stored. A record's subject is the operation. */
function auditRecords(sql: Query, jobs: readonly DescribedJob[]): Fragment {
  const entries = jobs.flatMap(({ operation_id, auditStatement }) => auditStatement?.entry(operation_id) ?? []);
  const insert = jobs.find(({ auditStatement }) => auditStatement)?.auditStatement?.insert;
  if (!insert) return sql``;
  return sql`, audit_record AS (
      ${insert(sql, entries, sql`entry.subject::uuid IN (SELECT id FROM operation)`)}
    )`;
}

/** The heap that a document of 5 MB takes at most while it is sent to an EMR: as base64, in JSON, and as bytes. */
const document_heap_bytes = 16_777_216;

/** How many documents a process may have in memory: as configured, but at most a quarter of its heap. */
export function documentsMax(configured: number, heap_bytes = getHeapStatistics().heap_size_limit): number {
  return Math.max(1, Math.min(configured, Math.floor(heap_bytes / 4 / document_heap_bytes)));
}

/** Stores the file of the operation in the CTE `operation`. */
export function insertUpload(sql: Query, content: Buffer): Fragment {
  return sql`INSERT INTO uploads (operation_id, client_id, content) SELECT id, client_id, ${content} FROM operation`;
}

/** The driver receives bytes as hexadecimal text, so they are read in parts: 1 MB of text at a time. */
const part_bytes = 524_288;

/** A file that was sent with an operation, while it is stored. */
export async function readUpload(
  db: Database,
  client_id: string,
  operation_id: string,
  position: number,
): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  for (let from = 1; ; from += part_bytes) {
    const [row] = await db.read<{ part: Buffer; bytes: number }>(
      client_id,
      (sql) => sql`SELECT substring(content FROM ${from}::int FOR ${part_bytes}::int) AS part, length(content) AS bytes
        FROM uploads WHERE client_id = ${client_id} AND operation_id = ${operation_id} AND position = ${position}`,
    );
    if (!row) return undefined;
    parts.push(row.part);
    if (from + row.part.length > row.bytes) return Buffer.concat(parts);
  }
}

export async function deleteUploads(tx: Tx, operation_id: string): Promise<void> {
  await tx`DELETE FROM uploads WHERE operation_id = ${operation_id}`;
}
