import type { Config } from '../../catalog/settings/config.ts';
import { record_kinds } from '../../model/records/kinds.ts';
import type { Fragment, Tx } from '../../platform/db/database.ts';
import { limitTo } from '../../platform/db/fragments.ts';
import { resetSync } from '../accounts/organizations.ts';
import { countExpiredRequests, deleteRequests, prepareRequestDays, rotateRequests } from '../audit/requests.ts';
import { setInputsDeletedThrough } from '../clients/clients.ts';
import type { Context } from '../context.ts';
import { deleteSteps } from '../jobs/jobSteps.ts';
import { clearInputs, clearJobTexts } from '../jobs/jobs.ts';
import { deleteFailedBookings } from '../records/appointments.ts';
import { deleteExport } from '../records/bulkExports.ts';
import { deleteFailedPatients } from '../records/patients.ts';
import { deleteRecords } from '../records/storeRecords.ts';
import { deletePasses } from '../records/syncPasses.ts';
import { deleteExpiredEvents } from '../webhooks/events.ts';
import { recordDisposals } from './disposals.ts';
import { type ActiveHolds, heldRows, readActiveHolds, readHoldsAcross } from './holds.ts';
import { type RetainedData, readOwnDays } from './periods.ts';

const batch = 1_000;

/** Deletes what is older than its period, except what a legal hold covers. Every deletion is part of the disposal report. */
export async function purgeExpired(ctx: Pick<Context, 'db' | 'config'>): Promise<void> {
  const { event_days, job_input_days, unlinked_days, requests_days } = ctx.config;
  await Promise.all([
    purgeEvents(ctx, event_days),
    purgeJobInputs(ctx, job_input_days),
    purgeUnlinkedCaches(ctx, unlinked_days),
    purgeRequests(ctx, requests_days),
  ]);
}

/** Deletes events that are older than the client's period, or than `days`, with their deliveries. Returns how many. */
export function purgeEvents(ctx: Pick<Context, 'db'>, days: number, batch_size = batch): Promise<number> {
  return forEachClient(ctx, 'events', days, async (tx, { id, holds, period_days }) => {
    const rows = heldRows(tx, 'events', holds);
    const deleted = await deleteExpiredEvents(tx, id, { days: period_days, batch: batch_size, kept: rows });
    return { deleted, more: deleted === batch_size };
  });
}

/**
 * Deletes the requests and timelines of jobs that finished before the client's period, or `days` ago: their input, their
 * reference, their steps and the text of their errors. The jobs themselves stay, with their type, state and times. A
 * patient or an appointment whose creation failed is deleted with its request. Jobs that wait for a review keep theirs
 * until they are reviewed. Syncs have no health data.
 */
export function purgeJobInputs(ctx: Pick<Context, 'db'>, days: number): Promise<number> {
  return forEachClient(ctx, 'job_inputs', days, purgeBatch);
}

/** A client with the period that applies to it, in a transaction in which no hold can be placed. */
type Purged = { id: string; holds: ActiveHolds | undefined; period_days: number };
type PurgeBatch = (tx: Tx, client: Purged) => Promise<{ deleted: number; more: boolean }>;

/** Deletes in batches, each in a transaction with its part of the report. Returns how many were deleted. */
async function forEachClient(
  { db }: Pick<Context, 'db'>,
  data: RetainedData,
  days: number,
  purge: PurgeBatch,
): Promise<number> {
  const clients = await db.system.pooled<{ id: string; public_id: string }[]>`SELECT id, public_id FROM clients`;
  let total = 0;
  for (const client of clients) {
    for (let more = true; more; ) {
      const result = await db.tenant(client.id, async (tx) => {
        const holds = await readActiveHolds(tx, client.id);
        if (holds?.everything) return { deleted: 0, more: false };
        const own_days = (await readOwnDays(tx, client.id)).get(data);
        const period_days = own_days ?? days;
        const { deleted, more } = await purge(tx, { id: client.id, holds, period_days });
        const rule = own_days === undefined ? 'setting' : 'client_period';
        await recordDisposals(tx, client, [{ data, rule, days: period_days, rows: deleted }]);
        return { deleted, more };
      });
      total += result.deleted;
      more = result.more;
    }
  }
  return total;
}

type FinishedJob = { operation_id: string; finished_at: string; ready: boolean };

/**
 * Jobs are taken in the order in which they finished; the client's row says how far this got. The days are a sub-select
 * for the reason given at `deleteExpiredEvents`.
 */
async function purgeBatch(tx: Tx, { id: client_id, holds, period_days }: Purged): ReturnType<PurgeBatch> {
  const ready = isReady(tx, holds);
  const jobs = await tx<FinishedJob[]>`
    SELECT operation_id, finished_at::text, ${ready} AS ready FROM jobs AS job
     WHERE client_id = ${client_id} AND finished_at < now() - make_interval(days => (SELECT ${period_days}::int))
       AND finished_at > coalesce((SELECT inputs_deleted_through FROM clients WHERE id = ${client_id}), '-infinity')
     ORDER BY job.finished_at ${limitTo(tx, batch)}`;
  // Reviewed only after their turn: few, and found by the index of reviews.
  const reviewed = await tx<{ operation_id: string }[]>`
    SELECT operation_id FROM jobs AS job JOIN operations ON operations.id = operation_id
     WHERE job.client_id = ${client_id} AND state = 'needs_review' AND review_outcome IS NOT NULL
       AND input_deleted_at IS NULL AND finished_at < now() - make_interval(days => (SELECT ${period_days}::int))
       AND ${ready}
     ${limitTo(tx, batch)}`;
  const ids = [...jobs.filter((job) => job.ready), ...reviewed].map(({ operation_id }) => operation_id);
  const cleared = ids.length > 0 ? await clearInputs(tx, ids) : [];
  if (cleared.length > 0) {
    await deleteSteps(tx, cleared);
    await clearJobTexts(tx, cleared);
    await deleteFailedPatients(tx, cleared);
    await deleteFailedBookings(tx, cleared);
  }
  const last = jobs.at(-1);
  if (last) await setInputsDeletedThrough(tx, client_id, last.finished_at);
  return { deleted: cleared.length, more: Math.max(jobs.length, reviewed.length) === batch };
}

/** No job of the operation is unfinished or waits for a review, and no hold covers it. */
function isReady(tx: Tx, holds: ActiveHolds | undefined): Fragment {
  const operations = heldRows(tx, 'operations', holds);
  const is_held =
    operations && tx`EXISTS (SELECT FROM operations WHERE operations.id = job.operation_id AND (${operations}))`;
  return tx`job.type <> 'sync' AND NOT EXISTS (
    SELECT FROM jobs AS run WHERE run.operation_id = job.operation_id
       AND (run.finished_at IS NULL OR run.state = 'needs_review' AND run.review_outcome IS NULL))
    ${is_held ? tx`AND NOT ${is_held}` : tx``}`;
}

/**
 * Deletes the cached records of organizations whose last account was unlinked before the client's period, or `days` ago.
 * While a hold covers one of its patients, the whole organization is kept.
 */
export async function purgeUnlinkedCaches(ctx: Pick<Context, 'db'>, days: number): Promise<number> {
  const unlinked = await ctx.db.system.pooled<
    { id: string; client_id: string; public_id: string; own: number | null }[]
  >`
    SELECT organizations.id, organizations.client_id, clients.public_id, period.days AS own
      FROM organizations JOIN clients ON clients.id = organizations.client_id
           LEFT JOIN retention_periods AS period
             ON period.client_id = organizations.client_id AND period.data = 'unlinked_records'
     WHERE NOT EXISTS (
      SELECT FROM accounts WHERE accounts.organization_id = organizations.id AND (accounts.status <> 'revoked'
         OR coalesce(accounts.unlinked_at, accounts.linked_at)
            > now() - make_interval(days => coalesce(period.days, ${days}::int))))`;
  let total = 0;
  for (const { id, client_id, public_id, own } of unlinked) {
    total += await ctx.db.tenant(client_id, async (tx) => {
      const holds = await readActiveHolds(tx, client_id);
      if (holds?.everything || holds?.scopes.some(({ organization_id }) => organization_id === id)) return 0;
      const rows = await deleteCache(tx, id);
      const rule = own === null ? 'setting' : 'client_period';
      await recordDisposals(tx, { id: client_id, public_id }, [
        { data: 'unlinked_records', rule, days: own ?? days, rows },
      ]);
      return rows;
    });
  }
  return total;
}

/** Linking locks the organization first: an account that was linked meanwhile keeps the cache. */
async function deleteCache(tx: Tx, organization_id: string): Promise<number> {
  await tx`SELECT FROM organizations WHERE id = ${organization_id} FOR UPDATE`;
  const [linked] = await tx`SELECT FROM accounts WHERE organization_id = ${organization_id} AND status <> 'revoked'`;
  if (linked) return 0;
  let total = 0;
  for (const kind of record_kinds) total += await deleteRecords(tx, kind, organization_id);
  await deletePasses(tx, organization_id);
  await deleteExport(tx, organization_id);
  await resetSync(tx, organization_id);
  return total;
}

/**
 * Deletes requests of the log that are older than `days`, by whole days, or than the shorter period of a client. The log
 * has one table per day for all clients: while a hold covers a client or an organization, rows are deleted instead of
 * tables. Holds of patients do not concern it, because it names none.
 */
export async function purgeRequests(
  { db: { system } }: Pick<Context, 'db'>,
  days: Config['requests_days'],
): Promise<void> {
  const clients = await system.pooled<{ id: string; public_id: string; own: number | null }[]>`
    SELECT id, public_id, (SELECT days FROM retention_periods
       WHERE client_id = clients.id AND data = 'requests' AND days < ${days}) AS own FROM clients ORDER BY id`;
  await system.begin(async (tx) => {
    // One process at a time: two would count the same rows.
    const [lock] = await tx<{ mine: boolean }[]>`
      SELECT pg_try_advisory_xact_lock(hashtextextended('chartwire.requests_purge', 0)) AS mine`;
    if (!lock?.mine) return;
    const holds = await readHoldsAcross(tx);
    const is_free = tx`coalesce(client_id <> ALL (${holds.clients}::uuid[]), true)
      AND (account_id IS NULL OR account_id NOT IN (
        SELECT id FROM accounts WHERE organization_id = ANY (${holds.organizations}::uuid[])))`;
    const counts = new Map<string, number>();
    if (holds.clients.length + holds.organizations.length === 0) {
      for (const { client_id, rows } of await countExpiredRequests(tx, days)) counts.set(client_id, rows);
      await rotateRequests(tx, days);
    } else {
      await prepareRequestDays(tx);
      for (const { id } of clients)
        counts.set(id, await deleteRequests(tx, days, tx`client_id = ${id} AND ${is_free}`));
      await deleteRequests(tx, days, tx`client_id IS NULL`);
    }
    for (const { id, public_id, own } of clients) {
      const rows = own === null ? 0 : await deleteRequests(tx, own, tx`client_id = ${id} AND ${is_free}`);
      await recordDisposals(tx, { id, public_id }, [
        { data: 'requests', rule: 'setting', days, rows: counts.get(id) ?? 0 },
        { data: 'requests', rule: 'client_period', days: own ?? 0, rows },
      ]);
    }
  });
}
