import type { Audit } from '../context.ts';
import type { Database } from '../db/database.ts';
import { groupCommit } from '../db/groupCommit.ts';
import type { SystemKeys } from '../security/systemKeys.ts';
import { createHead } from './auditHead.ts';
import { insertRecords, storeRecords } from './auditRecords.ts';
import { type NewAuditRow, openStamp } from './stamp.ts';

/**
 * Opens the audit log. Records are inserted unchained: chaining inside each transaction serialized them and cut the
 * rate of accepted writes to a third. A sealer links them a second later (sealAudit.ts).
 */
export async function openAudit(db: Database, keys: SystemKeys): Promise<Audit & { close(): Promise<void> }> {
  await createHead(db.system, keys.key('audit.chain'));
  const { stamp } = openStamp(keys);
  const group = groupCommit<NewAuditRow>(async (rows) => {
    await storeRecords(db.system.pooled, rows);
    return [];
  });
  return {
    record: async (entry) => {
      await group.add(stamp(entry));
    },
    recordInTransaction: async (tx, ...entries) => {
      await storeRecords(tx, entries.map(stamp));
    },
    recordStatement: (sql, entries, condition) =>
      sql`${insertRecords(sql, entries.map(stamp), condition)} RETURNING id`,
    close: group.flushed,
  };
}
