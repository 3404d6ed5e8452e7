import { firstIdAt } from '../../catalog/ids.ts';
import type { Fragment, Query, Tx } from '../../platform/db/database.ts';
import type { Context } from '../context.ts';

/** How data about a patient was disclosed. */
export const disclosure_kinds = ['read', 'agent', 'stream', 'event', 'view', 'reveal', 'export', 'emr'] as const;
export type DisclosureKind = (typeof disclosure_kinds)[number];

/** Actions by which an operator takes data out of the service as a file. */
export const export_actions = [
  'dashboard.jobs.export',
  'dashboard.audit.export',
  'dashboard.audit.export-search',
  'dashboard.disclosures.export',
  // Without patients.
  'dashboard.access.export',
  'dashboard.access-reviews.export',
  'dashboard.disposals.export',
  'audit.export',
  'audit.disclosures',
];

/**
 * The last parts of actions that take data in, or start something, and return only ids and states. All others that name
 * patients count as disclosures, so that a new action is counted until someone decides otherwise.
 */
export const accepting_verbs = [
  ...['create', 'update', 'fetch', 'cancel', 'run-again', 'resend', 'review', 'erase', 'first-write'],
];

/** In place of the practice of a record that names no account. */
export const no_organization = '0'.repeat(32);

/** How many addresses of a day are kept with a disclosure. The audit log has all. */
const addresses_max = 5;
/** How many of the smallest marks are kept per hour: up to as many patients are counted exactly, more within a few percent. */
const marks_max = 1_024;
/** Only the current hour and the one before are of interest. */
const read_hours = 2;
/** Bounds how long a collection holds its lock: a record of a list has up to 200 patients. */
const batch_max = 500;

/** Up to which record the audit log was collected. `complete`: all records from before a moment are among them. */
export type Progress = { position: number; until: string | null; complete: boolean };

/**
 * Collects the disclosures of the records that have joined the audit chain since, in batches, each in a transaction with
 * the position that it reached, so that no record is counted twice or left out. One process at a time. Starts no further
 * batch after `for_ms`, so that the service can stop. Returns how many records were collected.
 */
export async function collectDisclosures(
  { db: { system } }: Pick<Context, 'db'>,
  { batch = batch_max, for_ms = 10_000 }: { batch?: number; for_ms?: number } = {},
): Promise<number> {
  let total = 0;
  const end_at = performance.now() + for_ms;
  for (let collected = batch; collected === batch && performance.now() < end_at; total += collected) {
    // The usual case, no new record, needs neither a transaction nor a lock.
    if (!(await isBehind(system.pooled))) break;
    collected = await system.begin((tx) => collectBatch(tx, batch));
  }
  return total;
}

/** Whether the last record of the chain is another one than was collected last. */
async function isBehind(sql: Query): Promise<boolean> {
  const [row] = await sql<{ behind: boolean }[]>`
    SELECT id IS DISTINCT FROM (SELECT id FROM audit_records WHERE position > 0 ORDER BY position DESC LIMIT 1) AS behind
      FROM disclosure_progress`;
  return row?.behind !== false;
}

async function collectBatch(tx: Tx, batch: number): Promise<number> {
  const [lock] = await tx<{ mine: boolean }[]>`
    SELECT pg_try_advisory_xact_lock(hashtextextended('chartwire.disclosures', 0)) AS mine`;
  if (!lock?.mine) return 0;
  const position = await findPosition(tx);
  const [collected] = await tx<{ count: number }[]>`
    WITH record AS MATERIALIZED (
           SELECT * FROM audit_records WHERE position > ${position} ORDER BY position LIMIT ${batch}),
         entry AS MATERIALIZED (${entries(tx, tx`record`)}),
         stored AS (
           INSERT INTO disclosures AS stored (client_id, patient, organization_id, day, key, kind, action, actor_kind, actor,
             account_id, endpoint_id, event_type, destination, confirmed, addresses, count, first_at, last_at)
           SELECT client_id, patient, organization_id, day, key, kind, action, actor_kind, actor, account_id, endpoint_id,
                  event_type, max(destination), confirmed,
                  coalesce((array_agg(DISTINCT address) FILTER (WHERE address IS NOT NULL))[1:${addresses_max}::int], '{}'),
                  count(*), min(at), max(at)
             FROM entry
            GROUP BY client_id, patient, organization_id, day, key, kind, action, actor_kind, actor, account_id,
                     endpoint_id, event_type, confirmed
           -- In the order of the index, which is cheaper.
            ORDER BY client_id, patient, organization_id, day, key
           ON CONFLICT (client_id, patient, organization_id, day, key) DO UPDATE SET
             count = stored.count + excluded.count,
             first_at = least(stored.first_at, excluded.first_at),
             last_at = greatest(stored.last_at, excluded.last_at),
             destination = coalesce(excluded.destination, stored.destination),
             addresses = (ARRAY(SELECT DISTINCT unnest(stored.addresses || excluded.addresses)))[1:${addresses_max}::int]),
         counted AS (
           INSERT INTO patient_reads AS counted (client_id, hour, marks)
           SELECT client_id, date_trunc('hour', at, 'UTC'),
                  (array_agg(DISTINCT patient ORDER BY patient))[1:${marks_max}::int]
             FROM entry
            WHERE actor_kind = 'client' AND at > now() - make_interval(hours => ${read_hours})
            GROUP BY 1, 2
           ON CONFLICT (client_id, hour) DO UPDATE SET marks =
             (ARRAY(SELECT DISTINCT unnest(counted.marks || excluded.marks) AS mark ORDER BY mark))[1:${marks_max}::int]),
         last AS (SELECT position, id, at FROM record ORDER BY position DESC LIMIT 1)
    UPDATE disclosure_progress SET position = last.position, id = last.id, at = last.at FROM last
    RETURNING (SELECT count(*)::int FROM record) AS count`;
  return collected?.count ?? 0;
}

/**
 * The position from which on records are collected. If the log was replaced since, positions have another meaning: then
 * it is that of the newest record that is not newer than the last collected one.
 */
async function findPosition(tx: Tx): Promise<number> {
  const [progress] = await tx<{ position: number; id: string | null; valid: boolean }[]>`
    SELECT position, id, position = 0 OR EXISTS (SELECT FROM audit_records AS record
             WHERE record.position = disclosure_progress.position AND record.id = disclosure_progress.id) AS valid
      FROM disclosure_progress`;
  if (!progress) throw new Error('The table disclosure_progress is empty: restore its row.');
  if (progress.valid) return progress.position;
  const [row] = await tx<{ position: number }[]>`
    SELECT position FROM audit_records WHERE id <= ${progress.id}::uuid AND position IS NOT NULL
     ORDER BY id DESC LIMIT 1`;
  const position = row?.position ?? 0;
  await tx`UPDATE disclosure_progress SET position = ${position}`;
  return position;
}

/** Deletes the counts of hours that are over. */
export async function purgePatientReads({ db: { system } }: Pick<Context, 'db'>): Promise<void> {
  await system`DELETE FROM patient_reads WHERE hour < now() - make_interval(hours => ${read_hours + 1})`;
}

/** How many different patients a client has read in an hour. Exact up to `marks_max`, an estimate beyond it. */
export type PatientReads = { client_id: string; hour: string; patients: number };

/** For each client, the hour with more patients: the current one or the one before. */
export function countPatientReads(sql: Query): Promise<PatientReads[]> {
  // Marks are hashes, evenly spread over 64 bits with a sign: the largest of the smallest ones says how dense they are.
  return sql<PatientReads[]>`
    SELECT DISTINCT ON (client_id) client_id, iso(hour) AS hour, patients::float8 AS patients
      FROM (SELECT client_id, hour, CASE WHEN cardinality(marks) < ${marks_max}::int THEN cardinality(marks)
              ELSE round(${marks_max - 1}::int * 18446744073709551616 / (marks[${marks_max}::int] + 9223372036854775808))
              END AS patients
              FROM patient_reads WHERE hour >= date_trunc('hour', now(), 'UTC') - interval '1 hour') AS counted
     ORDER BY client_id, patients DESC`;
}

export async function readProgress(sql: Query, moment: Date): Promise<Progress> {
  const [row] = await sql<Progress[]>`
    SELECT position, iso(at) AS until,
           NOT EXISTS (SELECT FROM audit_records AS record
                        WHERE record.position > disclosure_progress.position AND record.id < ${firstIdAt(moment)})
             AND NOT EXISTS (SELECT FROM audit_records WHERE position IS NULL AND id < ${firstIdAt(moment)}) AS complete
      FROM disclosure_progress`;
  return row ?? { position: 0, until: null, complete: false };
}

/** A client's patient: the marks of all charts, and the practice, if it is known. */
export type MarkedPatient = { client_id: string; marks: readonly string[]; organization_id: string | undefined };

export type DisclosureFilters = {
  kind?: DisclosureKind | undefined;
  /** Only what this linked account received. */
  account_id?: string | undefined;
  /** Days in UTC, both inclusive. */
  from: string;
  to: string;
};

/** The place of a row in the list. */
export type DisclosurePlace = { day: string; key: string; patient: string; organization_id: string };

export type DisclosureRow = DisclosurePlace & {
  kind: DisclosureKind;
  action: string;
  actor_kind: string;
  actor: string;
  account_id: string | null;
  endpoint_id: string | null;
  event_type: string | null;
  destination: string | null;
  confirmed: boolean;
  addresses: string[];
  count: number;
  first_at: string;
  last_at: string;
};

/**
 * Disclosures of a patient, newest day first. Reads a page from the index for each chart and practice, so that it costs
 * the same however many rows there are before and after it.
 */
export async function findDisclosures(
  sql: Query,
  { client_id, marks, organization_id }: MarkedPatient,
  { kind, account_id, from, to }: DisclosureFilters,
  { after, limit }: { after?: DisclosurePlace | undefined; limit: number },
): Promise<DisclosureRow[]> {
  const conditions = [
    after === undefined
      ? undefined
      : sql`(day, key) <= (${after.day}::date, ${after.key}::uuid)
      AND (day, key, patient, organization_id) < (${after.day}::date, ${after.key}::uuid, ${after.patient}::bigint,
        ${after.organization_id}::uuid)`,
    kind === undefined ? undefined : sql`kind = ${kind}`,
    account_id === undefined ? undefined : sql`account_id = ${account_id}`,
  ].filter((each) => each !== undefined);
  const practices = organization_id === undefined ? undefined : [organization_id, no_organization];
  return sql<DisclosureRow[]>`
    ${
      practices === undefined
        ? sql`WITH RECURSIVE ${listPractices(sql, client_id, marks)}`
        : sql`WITH chart AS (SELECT patient, organization_id FROM unnest(${[...marks]}::bigint[]) AS patient
                CROSS JOIN unnest(${practices}::uuid[]) AS organization_id)`
    }
    SELECT to_char(day, 'YYYY-MM-DD') AS day, replace(key::text, '-', '') AS key, found.patient::text AS patient,
           replace(found.organization_id::text, '-', '') AS organization_id, kind, action, actor_kind, actor, account_id,
           endpoint_id, event_type, destination, confirmed, addresses, count, iso(first_at) AS first_at,
           iso(last_at) AS last_at
      FROM chart CROSS JOIN LATERAL (
        SELECT * FROM disclosures
         WHERE client_id = ${client_id} AND patient = chart.patient AND organization_id = chart.organization_id
           AND day >= ${from}::date AND day <= ${to}::date
           AND ${conditions.reduce((all, each) => sql`${all} AND ${each}`, sql`true`)}
         ORDER BY day DESC, key DESC LIMIT ${limit}) AS found
     ORDER BY found.day DESC, found.key DESC, found.patient DESC, found.organization_id DESC LIMIT ${limit}`;
}

/** The practices in which these charts have disclosures, one look-up in the index for each. */
function listPractices(sql: Query, client_id: string, marks: readonly string[]): Fragment {
  const next = (patient: Fragment, after: Fragment) => sql`
    SELECT organization_id FROM disclosures
     WHERE client_id = ${client_id} AND patient = ${patient} AND ${after} ORDER BY organization_id LIMIT 1`;
  return sql`practice AS (
      SELECT patient, (${next(sql`mark.patient`, sql`true`)}) AS organization_id
        FROM unnest(${[...marks]}::bigint[]) AS mark (patient)
      UNION ALL
      SELECT patient, (${next(sql`practice.patient`, sql`organization_id > practice.organization_id`)})
        FROM practice WHERE organization_id IS NOT NULL
    ), chart AS (SELECT patient, organization_id FROM practice WHERE organization_id IS NOT NULL)`;
}

/** `days`: those with a difference. */
export type Recount = { records: number; days: string[] };

/**
 * Counts a patient's disclosures again from the audit log, whose records cannot be changed unnoticed, and compares them
 * with those collected. Reads all records of the patient.
 */
export async function recountDisclosures(
  sql: Query,
  { client_id, marks }: Pick<MarkedPatient, 'client_id' | 'marks'>,
  { position }: Pick<Progress, 'position'>,
): Promise<Recount> {
  const [row] = await sql<Recount[]>`
    WITH record AS MATERIALIZED (
           SELECT * FROM audit_records WHERE patients && ${[...marks]}::bigint[] AND client_id = ${client_id}
              AND position <= ${position}),
         entry AS (${entries(sql, sql`record`)}),
         recounted AS (SELECT patient, day, key, count(*) AS count FROM entry
                        WHERE patient = ANY (${[...marks]}::bigint[]) GROUP BY patient, day, key),
         collected AS (SELECT patient, day, key, sum(count) AS count FROM disclosures
                        WHERE client_id = ${client_id} AND patient = ANY (${[...marks]}::bigint[])
                        GROUP BY patient, day, key)
    SELECT coalesce((SELECT sum(count) FROM recounted), 0)::int AS records,
           ARRAY(SELECT DISTINCT to_char(day, 'YYYY-MM-DD') AS day
                   FROM recounted FULL JOIN collected USING (patient, day, key)
                  WHERE recounted.count IS DISTINCT FROM collected.count ORDER BY day) AS days`;
  return row ?? { records: 0, days: [] };
}

/**
 * The disclosures in audit records: a row for each record and patient. `detail` is read only of events, where all of it
 * is ours: text that someone entered can contain an escape that PostgreSQL cannot represent.
 */
function entries(sql: Query, record: Fragment): Fragment {
  const accepting = `\\.(${accepting_verbs.join('|')})$`;
  return sql`
    SELECT client_id, patient, organization_id, day, kind, action, actor_kind, actor, account_id, endpoint_id, event_type,
           destination, confirmed, address, at,
           md5(json_build_array(kind, action, actor_kind, actor, account_id, endpoint_id, event_type,
             CASE WHEN kind = 'event' THEN destination END, confirmed)::text)::uuid AS key
      FROM (SELECT record.client_id, patient, coalesce(accounts.organization_id, ${no_organization}::uuid) AS organization_id,
                   (at AT TIME ZONE 'UTC')::date AS day, ${chooseKind(sql)} AS kind, action, actor_kind,
                   -- The client is named by its id.
                   CASE WHEN actor_kind = 'client' THEN '' ELSE actor END AS actor, account_id,
                   CASE WHEN action = 'webhook.deliver' THEN subject END AS endpoint_id,
                   CASE WHEN action = 'webhook.deliver' THEN detail ->> 'event_type' END AS event_type,
                   CASE WHEN action = 'webhook.deliver' THEN detail ->> 'host'
                        WHEN action LIKE 'job.%' THEN substring(organizations.emr_address FROM '^[a-z]+://([^/]+)') END
                     AS destination,
                   action <> 'webhook.deliver' OR outcome ~ '^2\\d\\d$' AS confirmed, address, at
              FROM ${record} AS record
                   LEFT JOIN accounts ON accounts.id = record.account_id
                   LEFT JOIN organizations ON organizations.id = accounts.organization_id
                   CROSS JOIN LATERAL unnest(patients) AS patient
             WHERE record.client_id IS NOT NULL AND CASE
               WHEN action = 'webhook.deliver' OR action = 'dashboard.reveals.create' AND outcome = '200' THEN true
               -- What a job reads comes from the EMR.
               WHEN action LIKE 'job.%' THEN outcome IN ('succeeded', 'partial', 'needs_review') AND action !~ '\\.fetch$'
               WHEN action LIKE 'dashboard.disclosures.%' THEN false
               ELSE outcome ~ '^2\\d\\d$' AND action !~ ${accepting} END) AS disclosed`;
}

function chooseKind(sql: Query): Fragment {
  return sql`CASE
    WHEN action = 'webhook.deliver' THEN 'event'
    WHEN action = 'webhook-events.stream' THEN 'stream'
    WHEN action LIKE 'job.%' THEN 'emr'
    WHEN action = 'dashboard.reveals.create' THEN 'reveal'
    WHEN action = ANY (${export_actions}::text[]) THEN 'export'
    WHEN actor_kind = 'operator' THEN 'view'
    WHEN left(detail::text, 13) = '{"agent":true' THEN 'agent'
    ELSE 'read' END`;
}
