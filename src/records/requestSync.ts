import { connectorOf } from '../accounts/openAccount.ts';
import type { Context } from '../context.ts';
import type { Sql, Tx } from '../db/database.ts';
import { newId } from '../ids.ts';
import { enqueue, type NewJob } from '../jobs/enqueue.ts';

/** `announce`: whether the client is told of the end. Only syncs that were asked for are. */
export type SyncInput = { announce: boolean; org_id: string };

export const sync_type = 'sync';

/** The jobs of this lane follow one another, so that two syncs of an organization never mix. */
export const sync_lane = 'sync';

export type SyncOf = {
  client_id: string;
  organization_id: string;
  account_id: string;
  org_id: string;
  connector: string;
};

/** Queues a sync of an organization through one of its accounts. Gives the ids, or no job when the key is taken. */
export async function requestSync(
  ctx: Context,
  sql: Sql | Tx,
  of: SyncOf,
  options: { announce: boolean } & Pick<NewJob, 'idempotency' | 'auditStatement'>,
): Promise<{ id: string; job_id: number | undefined }> {
  const id = newId();
  const input: SyncInput = { announce: options.announce, org_id: of.org_id };
  const job_id = await enqueue(sql, {
    client_id: of.client_id,
    organization_id: of.organization_id,
    account_id: of.account_id,
    operation: { id, type: sync_type, input },
    lane: sync_lane,
    parallel_max: connectorOf(ctx, of.connector).limits.parallel_max,
    idempotency: options.idempotency,
    auditStatement: options.auditStatement,
  });
  return { id, job_id };
}

/**
 * Queues a sync of every organization whose time has come. Moving the time on is the claim: of several processes one
 * gets each row. An organization without a usable account, or with a sync still waiting, is passed over this time.
 */
export async function requestDueSyncs(ctx: Context): Promise<number> {
  const due = await ctx.db.system.pooled<{ id: string; client_id: string; org_id: string; connector: string }[]>`
    UPDATE organizations SET next_sync_at = now() + make_interval(mins => ${ctx.config.sync_minutes})
     WHERE id IN (SELECT id FROM organizations WHERE next_sync_at <= now()
                   ORDER BY next_sync_at LIMIT 100 FOR UPDATE SKIP LOCKED)
    RETURNING id, client_id, org_id, connector`;
  let queued = 0;
  for (const organization of due) {
    queued += await ctx.db.tenant(organization.client_id, async (tx) => {
      const [waiting] = await tx`SELECT FROM lanes WHERE organization_id = ${organization.id} AND key = ${sync_lane}`;
      const [account] = await tx<{ id: string }[]>`SELECT id FROM accounts
        WHERE organization_id = ${organization.id} AND status = 'active' ORDER BY linked_at DESC LIMIT 1`;
      if (waiting || !account) return 0;
      const of = { ...organization, organization_id: organization.id, account_id: account.id };
      await requestSync(ctx, tx, of, { announce: false });
      return 1;
    });
  }
  if (queued > 0) ctx.notifications.notify('chartwire_jobs');
  return queued;
}

/** Brings an organization's next sync forward to now. */
export async function hastenSync(tx: Tx, organization_id: string): Promise<void> {
  await tx`UPDATE organizations SET next_sync_at = now() WHERE id = ${organization_id}`;
}
