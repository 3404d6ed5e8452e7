import { createHmac } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Sql, Tx } from '../../platform/db/database.ts';
import type { Context } from '../context.ts';
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
        head = computeLink(key, head, mac);
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

/**
 * The records that this process stored, until a later record of it names them and is part of the chain itself. Only
 * records whose commit is known are named: a number per record would have a gap for every transaction that was rolled
 * back.
 */
export type FollowedRecords = {
  /** The records that the new record `id` names. */
  follow(id: string): string[];
  /** To be called after the commit of a record. */
  confirm(id: string): void;
  /**
   * Looks after the records that name others. If one is gone, because it was rolled back or deleted, another one will
   * name them: of several records that were deleted, each is missed. `find` returns those that exist.
   */
  settle(find: (ids: readonly string[]) => Promise<{ id: string; sealed: boolean }[]>): Promise<void>;
};

/** Bounds the size of a record. Under load, each names about one. */
const ids_max = 100;
/** How many records are looked after, if they do not become part of the chain. */
const naming_max = 10_000;
/** How many are looked up at once. */
const lookup_max = 1_000;
/** After this long, a record is usually part of the chain. */
const seal_ms = 2_000;

export function createFollowedRecords(now: () => number = () => performance.now()): FollowedRecords {
  const committed: string[] = [];
  /** By the record that names them, in the order of time. */
  const named = new Map<string, { ids: string[]; at: number }>();
  return {
    follow: (id) => {
      const ids = committed.splice(0, ids_max);
      if (ids.length > 0) named.set(id, { ids, at: now() });
      const [oldest] = named.keys();
      if (named.size > naming_max && oldest !== undefined) named.delete(oldest);
      return ids;
    },
    confirm: (id) => {
      committed.push(id);
    },
    settle: async (find) => {
      const due = [...named].filter(([, { at }]) => now() - at >= seal_ms).slice(0, lookup_max);
      if (due.length === 0) return;
      const sealed_by_id = new Map((await find(due.map(([id]) => id))).map(({ id, sealed }) => [id, sealed]));
      for (const [id, { ids }] of due) {
        const sealed = sealed_by_id.get(id);
        if (sealed === false || !named.delete(id)) continue;
        if (sealed === undefined) committed.push(...ids);
      }
    },
  };
}

/** The end of the chain: position and link of the newest sealed record. */
export type Head = { position: number; chain: Buffer };

/** The head is missing or was changed without the key: the chain cannot be continued from it. */
export class HeadBroken extends Error {
  constructor(what: string) {
    super(`The head of the audit log ${what}. Verify it.`);
    this.name = 'HeadBroken';
  }
}

/** Starts the chain in a database that has none yet. Owns the table `audit_head`. */
export async function createHead(system: Sql, key: Buffer): Promise<void> {
  const head = { position: 0, chain: Buffer.alloc(0) };
  await system`INSERT INTO audit_head (position, chain, mac)
    SELECT ${head.position}, ${head.chain}, ${headMac(key, head)}
     WHERE NOT EXISTS (SELECT FROM audit_records WHERE position IS NOT NULL)
    ON CONFLICT DO NOTHING`;
}

export async function readHead(sql: Sql | Tx, key: Buffer): Promise<Head> {
  const [row] = await sql<(Head & { mac: Buffer })[]>`SELECT position, chain, mac FROM audit_head`;
  if (!row) throw new HeadBroken('is missing');
  if (!headMac(key, row).equals(row.mac)) throw new HeadBroken('was changed');
  return { position: row.position, chain: row.chain };
}

export async function moveHead(tx: Tx, key: Buffer, head: Head): Promise<void> {
  await tx`UPDATE audit_head SET position = ${head.position}, chain = ${head.chain}, mac = ${headMac(key, head)}`;
}

/** The link of a record: a MAC over the previous link, the position and the record's own MAC. */
export function computeLink(key: Buffer, before: Head, mac: Buffer): Head {
  const position = before.position + 1;
  const chain = createHmac('sha256', key).update(before.chain).update(`|${position}|`).update(mac).digest();
  return { position, chain };
}

function headMac(key: Buffer, head: Head): Buffer {
  return createHmac('sha256', key).update(`head|${head.position}|`).update(head.chain).digest();
}
