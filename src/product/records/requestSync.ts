import { newId } from '../../catalog/ids.ts';
import type { Sql, Tx } from '../../platform/db/database.ts';
import { connectorOf } from '../accounts/openAccount.ts';
import { claimDueForSync } from '../accounts/organizations.ts';
import type { Context } from '../context.ts';
import { enqueue, type NewJob } from '../jobs/enqueue.ts';

/** `announce`: whether an event is sent when the sync finishes. Only requested syncs send one. */
export type SyncInput = { announce: boolean; org_id: string };

export const sync_type = 'sync';

/** Jobs of one lane run one after the other, so two syncs of an organization never overlap. */
export const sync_lane = 'sync';

export type SyncTarget = {
  client_id: string;
  organization_id: string;
  account_id: string;
  org_id: string;
  connector: string;
};

/** Queues a sync of an organization through one of its accounts. No job id if the idempotency key exists already. */
export async function requestSync(
  ctx: Context,
  sql: Sql | Tx,
  target: SyncTarget,
  options: { announce: boolean } & Pick<NewJob, 'idempotency' | 'auditStatement'>,
): Promise<{ id: string; job_id: number | undefined }> {
  const id = newId();
  const input: SyncInput = { announce: options.announce, org_id: target.org_id };
  const job_id = await enqueue(sql, {
    client_id: target.client_id,
    organization_id: target.organization_id,
    account_id: target.account_id,
    operation: { id, type: sync_type, input },
    lane: sync_lane,
    parallel_max: connectorOf(ctx, target.connector).limits.parallel_max,
    traceparent: ctx.telemetry.traceparent(),
    idempotency: options.idempotency,
    auditStatement: options.auditStatement,
  });
  return { id, job_id };
}

/**
 * Queues a sync after an account was linked, unless one of this account is waiting, which then runs with the new link.
 * An EMR that keeps ending its sessions would otherwise add a full sync with every re-link. Syncs from before the
 * account was unlinked do not count, because they fail; those of other accounts neither, because their links may have
 * expired.
 */
export async function requestSyncAfterLink(ctx: Context, tx: Tx, target: SyncTarget): Promise<void> {
  const [waiting] = await tx`
    SELECT FROM jobs JOIN accounts ON accounts.id = jobs.account_id
     WHERE jobs.account_id = ${target.account_id} AND jobs.type = ${sync_type} AND jobs.state = 'queued'
       AND NOT jobs.parked AND jobs.created_at > coalesce(accounts.unlinked_at, '-infinity')`;
  if (!waiting) await requestSync(ctx, tx, target, { announce: false });
}

/**
 * Queues a sync of each organization whose rule for MRNs changed: with the rule of its own, or with that of its app. It
 * reads the records again in full. Organizations without a usable account are synced when one is linked again.
 */
export async function requestSyncForRule(
  ctx: Context,
  tx: Tx,
  client_id: string,
  changed: { organization_id: string } | { emr_app_id: string },
): Promise<void> {
  const affected =
    'emr_app_id' in changed
      ? tx`accounts.emr_app_id = ${changed.emr_app_id}`
      : tx`organizations.id = ${changed.organization_id}`;
  const targets = await tx<Omit<SyncTarget, 'client_id'>[]>`
    SELECT DISTINCT ON (organizations.id) organizations.id AS organization_id, organizations.org_id,
           organizations.connector, accounts.id AS account_id
      FROM accounts JOIN organizations ON organizations.id = accounts.organization_id
     WHERE accounts.status = 'active' AND ${affected} ORDER BY organizations.id, accounts.linked_at DESC`;
  for (const target of targets) await requestSync(ctx, tx, { client_id, ...target }, { announce: false });
}

/**
 * Queues a sync of every organization that is due. Organizations without a usable account, or with a sync still queued,
 * are skipped this time.
 */
export async function requestDueSyncs(ctx: Context): Promise<number> {
  const due = await claimDueForSync(ctx.db.system, ctx.config.sync_minutes);
  let queued = 0;
  for (const organization of due) {
    const added = await ctx.db.tenant(organization.client_id, async (tx) => {
      const [waiting] = await tx`SELECT FROM lanes WHERE organization_id = ${organization.id} AND key = ${sync_lane}`;
      const [account] = await tx<{ id: string }[]>`SELECT id FROM accounts
        WHERE organization_id = ${organization.id} AND status = 'active' ORDER BY linked_at DESC LIMIT 1`;
      if (waiting || !account) return 0;
      const target = { ...organization, organization_id: organization.id, account_id: account.id };
      await requestSync(ctx, tx, target, { announce: false });
      return 1;
    });
    if (added > 0) ctx.notifications.notify('chartwire_jobs', organization.client_id);
    queued += added;
  }
  return queued;
}
