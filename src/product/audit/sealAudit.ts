import { setTimeout as pause } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { type Head, linkOf, moveHead, readHead } from './auditHead.ts';
import { findUnsealed, type Link, linkRecords, readNewest } from './auditRecords.ts';

/**
 * Appends unchained records to the chain, in batches, each in a transaction. One process at a time: two would link to
 * the same head. Returns how many records were linked.
 */
export async function sealAudit(ctx: Pick<Context, 'db' | 'system_keys'>, batch = 2_000): Promise<number> {
  const { system } = ctx.db;
  const key = ctx.system_keys.key('audit.chain');
  let total = 0;
  for (let sealed = batch; sealed === batch; total += sealed) {
    // The usual case, an empty index, needs neither a transaction nor a lock.
    if ((await findUnsealed(system.pooled, 1)).length === 0) break;
    sealed = await system.begin(async (tx) => {
      const [lock] = await tx<{ mine: boolean }[]>`
        SELECT pg_try_advisory_xact_lock(hashtextextended('chartwire.audit', 0)) AS mine`;
      if (!lock?.mine) return 0;
      let head: Head = await readHead(tx, key);
      const links: Link[] = [];
      for (const { id, mac } of await findUnsealed(tx, batch)) {
        head = linkOf(key, head, mac);
        links.push({ id, ...head });
      }
      await linkRecords(tx, links);
      await moveHead(tx, key, head);
      return links.length;
    });
  }
  return total;
}

/**
 * Appends the records that exist now to the chain, before a process ends: no later record of it would name them. Waits
 * for another process that is doing the same, but not for long. Throws if they are not part of the chain by then.
 */
export async function sealLastRecords(ctx: Pick<Context, 'db' | 'system_keys'>, wait_ms = 5_000): Promise<void> {
  const give_up_at = performance.now() + wait_ms;
  const [last] = await readNewest(ctx.db.system.pooled, 1);
  while (last) {
    await sealAudit(ctx);
    const [oldest] = await findUnsealed(ctx.db.system.pooled, 1);
    if (!oldest || oldest.id > last.id) return;
    if (performance.now() > give_up_at) throw new Error('The last audit records are not part of the chain yet.');
    await pause(100);
  }
}
