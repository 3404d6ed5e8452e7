import { record_kinds } from '../../model/records/kinds.ts';
import type { Fragment, Tx } from '../../platform/db/database.ts';
import { limitTo } from '../../platform/db/fragments.ts';
import { resetSync } from '../accounts/organizations.ts';
import { setInputsDeletedThrough } from '../clients/clients.ts';
import type { Context } from '../context.ts';
import { deleteSteps } from '../jobs/jobSteps.ts';
import { clearInputs, clearJobTexts } from '../jobs/jobs.ts';
import { deleteFailedBookings } from '../records/appointments.ts';
import { deleteExport } from '../records/bulkExports.ts';
import { deleteFailedPatients } from '../records/patients.ts';
import { deleteRecords } from '../records/storeRecords.ts';
import { deletePasses } from '../records/syncPasses.ts';

const batch = 1_000;

/**
 * Deletes the requests and timelines of jobs that finished more than `days` ago: their input, their reference, their steps
 * and the text of their errors. The jobs themselves stay, with their type, state and times. A patient or an appointment
 * whose creation failed is deleted with its request. Jobs that wait for a review keep theirs until they are reviewed.
 * Syncs have no health data.
 */
export async function purgeJobInputs(ctx: Pick<Context, 'db'>, days: number): Promise<number> {
  const clients = await ctx.db.system.pooled<{ id: string }[]>`SELECT id FROM clients`;
  let total = 0;
  for (const { id } of clients) {
    for (let cleared = batch; cleared === batch; total += cleared) {
      cleared = await ctx.db.tenant(id, (tx) => purgeBatch(tx, id, days));
    }
  }
  return total;
}

type FinishedJob = { operation_id: string; finished_at: string; ready: boolean };

/**
 * Jobs are taken in the order in which they finished; the client's row says how far this got. The days are a sub-select
 * for the reason given at `purgeEvents`.
 */
async function purgeBatch(tx: Tx, client_id: string, days: number): Promise<number> {
  const jobs = await tx<FinishedJob[]>`
    SELECT operation_id, finished_at::text, ${isDone(tx)} AS ready FROM jobs AS job
     WHERE client_id = ${client_id} AND finished_at < now() - make_interval(days => (SELECT ${days}::int))
       AND finished_at > coalesce((SELECT inputs_deleted_through FROM clients WHERE id = ${client_id}), '-infinity')
     ORDER BY job.finished_at ${limitTo(tx, batch)}`;
  // Reviewed only after their turn: few, and found by the index of reviews.
  const reviewed = await tx<{ operation_id: string }[]>`
    SELECT operation_id FROM jobs AS job JOIN operations ON operations.id = operation_id
     WHERE job.client_id = ${client_id} AND state = 'needs_review' AND review_outcome IS NOT NULL
       AND input_deleted_at IS NULL AND finished_at < now() - make_interval(days => (SELECT ${days}::int)) AND ${isDone(tx)}
     ${limitTo(tx, batch)}`;
  const ready = [...jobs.filter((job) => job.ready), ...reviewed].map(({ operation_id }) => operation_id);
  if (ready.length > 0) {
    const cleared = await clearInputs(tx, ready);
    await deleteSteps(tx, cleared);
    await clearJobTexts(tx, cleared);
    await deleteFailedPatients(tx, cleared);
    await deleteFailedBookings(tx, cleared);
  }
  const last = jobs.at(-1);
  if (last) await setInputsDeletedThrough(tx, client_id, last.finished_at);
  return jobs.length;
}

/** No job of the operation is unfinished or waits for a review. */
function isDone(tx: Tx): Fragment {
  return tx`job.type <> 'sync' AND NOT EXISTS (
    SELECT FROM jobs AS run WHERE run.operation_id = job.operation_id
       AND (run.finished_at IS NULL OR run.state = 'needs_review' AND run.review_outcome IS NULL))`;
}

/** Deletes the cached records of organizations whose last account was unlinked more than `days` ago. */
export async function purgeUnlinkedCaches(ctx: Pick<Context, 'db'>, days: number): Promise<number> {
  const unlinked = await ctx.db.system.pooled<{ id: string; client_id: string }[]>`
    SELECT organizations.id, organizations.client_id FROM organizations WHERE NOT EXISTS (
      SELECT FROM accounts WHERE accounts.organization_id = organizations.id AND (accounts.status <> 'revoked'
         OR coalesce(accounts.unlinked_at, accounts.linked_at) > now() - make_interval(days => ${days})))`;
  let total = 0;
  for (const { id, client_id } of unlinked) {
    total += await ctx.db.tenant(client_id, (tx) => deleteCache(tx, id));
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
