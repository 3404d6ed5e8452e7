import { groupCommit } from '../../platform/db/batches.ts';
import { type Database, onCommit, type Sql } from '../../platform/db/database.ts';
import type { RotationEntry } from '../../platform/security/keys.ts';
import type { SystemKeys } from '../../platform/security/masterKeys.ts';
import type { Audit, AuditEntry } from '../context.ts';
import { createStamp, findStates, insertRecords, type NewAuditRow, readNewest, storeRecords } from './auditRecords.ts';
import { createFollowedRecords, createHead } from './seals.ts';

/** How often the process checks whether records that name others still exist. */
const settle_ms = 2_000;
/** How many records outside of the chain a starting process names: those of the last second, unless sealing stalled. */
const newest_max = 1_000;

/**
 * Opens the audit log. Records are inserted unchained: chaining inside each transaction serialized them and cut the
 * rate of accepted writes to a third. A sealer links them a second later (sealAudit.ts).
 */
export async function openAudit(
  db: Database,
  keys: SystemKeys,
): Promise<Audit & { settle(): Promise<void>; close(): Promise<void> }> {
  await createHead(db.system, keys.key('audit.chain'));
  const { stamp, isGenuine } = createStamp(keys);
  const followed = createFollowedRecords();
  // The last records of a process that was killed are named by no other.
  const newest = await readNewest(db.system.pooled, newest_max);
  for (const row of newest.reverse()) if (isGenuine(row)) followed.confirm(row.id);
  /** The ids of records whose commit only the caller knows. */
  const unconfirmed = new WeakMap<AuditEntry, string>();
  const stampNext = (entry: AuditEntry) => stamp(entry, followed.follow);
  const confirmAll = (rows: readonly NewAuditRow[]) => {
    for (const { id } of rows) followed.confirm(id);
  };
  const group = groupCommit<NewAuditRow>(async (rows) => {
    await storeRecords(db.system.pooled, rows);
    confirmAll(rows);
    return [];
  });
  const settle = () => followed.settle((ids) => findStates(db.system.pooled, ids));
  // A failed attempt is repeated; the requests of this process report that the database is unavailable.
  const timer = setInterval(() => settle().catch(() => {}), settle_ms).unref();
  return {
    record: async (entry) => {
      await group.add(stampNext(entry));
    },
    recordInTransaction: async (tx, ...entries) => {
      const rows = entries.map(stampNext);
      onCommit(tx, () => confirmAll(rows));
      await storeRecords(tx, rows);
    },
    recordStatement: (sql, entries, condition) => {
      const rows = entries.map(stampNext);
      if (condition === undefined) onCommit(sql, () => confirmAll(rows));
      for (const [n, { id }] of rows.entries()) unconfirmed.set(entries[n] as AuditEntry, id);
      return sql`${insertRecords(sql, rows, condition)} RETURNING id`;
    },
    confirm: (entry) => {
      const id = unconfirmed.get(entry);
      if (id !== undefined && unconfirmed.delete(entry)) followed.confirm(id);
    },
    settle,
    close: async () => {
      clearInterval(timer);
      await group.flushed();
    },
  };
}

/** Records a rotation of the master key. It may run at a start, before the audit log is open. */
export async function recordRotation(
  system: Sql,
  keys: SystemKeys,
  { outcome, ...detail }: RotationEntry,
): Promise<void> {
  const entry = { client_id: null, actor_kind: 'system', actor: 'service', action: 'master_key.rotate' } as const;
  await storeRecords(system.pooled, [createStamp(keys).stamp({ ...entry, outcome, detail })]);
}
