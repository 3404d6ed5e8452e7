import type { Kind, SourceOf } from '../../model/records/kinds.ts';
import type { Context } from '../context.ts';
import type { Job } from '../jobs/jobs.ts';
import { prepareAnnouncement } from './announceChanges.ts';
import { findErased, type SourceRecord, storePage } from './storeRecords.ts';
import { readRunningSync } from './syncPasses.ts';

/** A record of the cache. `shown` is without what its list withholds unless it is requested. */
export type RefreshedRecord = { ehr_id: string; shown: Record<string, unknown> };

type RefreshContext = Pick<Context, 'db' | 'system_keys' | 'telemetry' | 'notifications'>;

/**
 * Reads records outside of a sync, stores them, and returns them as the cache has them now: those that a sync would leave
 * out (of inactive providers and erased patients) are left out. What staff changed is announced as a sync would, because
 * the next sync no longer sees a difference. A record that was stored after the EMR was asked is newer than what was read
 * and stays.
 */
export async function refreshRecords<K extends Kind>(
  ctx: RefreshContext,
  { client_id, organization_id, account_id }: Pick<Job, 'client_id' | 'organization_id' | 'account_id'>,
  kind: K,
  read: () => Promise<readonly (SourceOf<K> & SourceRecord)[]>,
): Promise<RefreshedRecord[]> {
  const snapshot = await takeSnapshot(ctx, client_id);
  const sources = await read();
  let announces = false;
  for (let n = 0; n < sources.length; n += page_size) {
    const page = sources.slice(n, n + page_size);
    await ctx.db.repeatable(client_id, async (tx) => {
      const stored = { client_id, organization_id, kind };
      const list = { ...stored, run: await readRunningSync(tx, stored) };
      const isErased = await findErased(ctx, tx, list, page);
      const announcement = await prepareAnnouncement(ctx, tx, list, account_id);
      announces ||= announcement !== undefined;
      await storePage(tx, list, page, { isErased, announce: announcement?.changed, snapshot });
    });
  }
  if (announces) ctx.notifications.notify('chartwire_deliveries', client_id);
  const withheld = kind.list?.returns === 'pages' ? kind.list.withheld?.column : undefined;
  return ctx.db.read<RefreshedRecord>(
    client_id,
    (sql) => sql`SELECT ehr_id, ${withheld ? sql`coalesce(${sql(withheld)}, doc)` : sql`doc`} AS shown
      FROM ${sql(kind.name)} WHERE client_id = ${client_id} AND organization_id = ${organization_id}
        AND ehr_id = ANY (${sources.map(({ ehr_id }) => ehr_id)}) ORDER BY id`,
  );
}

const page_size = 200;

/** What is committed now. */
async function takeSnapshot({ db }: Pick<Context, 'db'>, client_id: string): Promise<string> {
  const [row] = await db.read<{ snapshot: string }>(
    client_id,
    (sql) => sql`SELECT pg_current_snapshot()::text AS snapshot`,
  );
  if (!row) throw new Error('The database returned no snapshot.');
  return row.snapshot;
}
