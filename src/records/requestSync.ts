import { connectorOf } from '../accounts/openAccount.ts';
import type { Context } from '../context.ts';
import type { Sql, Tx } from '../db/database.ts';
import { newId } from '../ids.ts';
import { enqueue, type NewJob } from '../jobs/enqueue.ts';

/** `announce`: whether the client is told of the end. Only syncs that were asked for are. */
export type SyncInput = { announce: boolean; org_id: string };

export const sync_type = 'sync';

/** The jobs of this lane follow one another, so that two syncs of an organisation never mix. */
export const sync_lane = 'sync';

export type SyncOf = {
  client_id: string;
  organisation_id: string;
  account_id: string;
  org_id: string;
  connector: string;
};

/** Queues a sync of an organisation through one of its accounts. Gives the ids, or no job when the key is taken. */
export async function requestSync(
  ctx: Context,
  sql: Sql | Tx,
  of: SyncOf,
  options: { announce: boolean } & Pick<NewJob, 'idempotency' | 'beside'>,
): Promise<{ id: string; job_id: number | undefined }> {
  const id = newId();
  const input: SyncInput = { announce: options.announce, org_id: of.org_id };
  const job_id = await enqueue(sql, {
    client_id: of.client_id,
    organisation_id: of.organisation_id,
    account_id: of.account_id,
    operation: { id, type: sync_type, input },
    lane: sync_lane,
    parallel_max: connectorOf(ctx, of.connector).limits.parallel_max,
    idempotency: options.idempotency,
    beside: options.beside,
  });
  return { id, job_id };
}

/**
 * Queues a sync of every organisation whose time has come. Moving the time on is the claim: of several processes one
 * gets each row. An organisation without a usable account, or with a sync still waiting, is passed over this time.
 */
export async function requestDueSyncs(ctx: Context): Promise<number> {
  const due = await ctx.db.system.pooled<{ id: string; client_id: string; org_id: string; connector: string }[]>`
    UPDATE organisations SET next_sync_at = now() + make_interval(mins => ${ctx.config.sync_minutes})
     WHERE id IN (SELECT id FROM organisations WHERE next_sync_at <= now()
                   ORDER BY next_sync_at LIMIT 100 FOR UPDATE SKIP LOCKED)
    RETURNING id, client_id, org_id, connector`;
  let queued = 0;
  for (const organisation of due) {
    queued += await ctx.db.tenant(organisation.client_id, async (tx) => {
      const [waiting] = await tx`SELECT FROM lanes WHERE organisation_id = ${organisation.id} AND key = ${sync_lane}`;
      const [account] = await tx<{ id: string }[]>`SELECT id FROM accounts
        WHERE organisation_id = ${organisation.id} AND status = 'active' ORDER BY linked_at DESC LIMIT 1`;
      if (waiting || !account) return 0;
      const of = { ...organisation, organisation_id: organisation.id, account_id: account.id };
      await requestSync(ctx, tx, of, { announce: false });
      return 1;
    });
  }
  if (queued > 0) ctx.notifications.notify('chartwire_jobs');
  return queued;
}

/** Brings an organisation's next sync forward to now. */
export async function hastenSync(tx: Tx, organisation_id: string): Promise<void> {
  await tx`UPDATE organisations SET next_sync_at = now() WHERE id = ${organisation_id}`;
}
