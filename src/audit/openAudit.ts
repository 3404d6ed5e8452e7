import type { Audit } from '../context.ts';
import type { Database } from '../db/database.ts';
import type { SystemKeys } from '../security/systemKeys.ts';
import { layHead } from './auditHead.ts';
import { insertRecords } from './auditRecords.ts';
import { groupCommit } from './groupCommit.ts';
import { type AuditRow, openStamp } from './stamp.ts';

/**
 * Opens the audit trail. A record is inserted without its place in the chain: chaining inside each transaction made
 * them wait for one another and cut accepted writes to a third. One sealer links them a second later (sealAudit.ts).
 */
export async function openAudit(db: Database, keys: SystemKeys): Promise<Audit & { close(): Promise<void> }> {
  await layHead(db.system, keys.key('audit.chain'));
  const { stamp } = openStamp(keys);
  const group = groupCommit<AuditRow>((rows) => insertRecords(db.system.pooled, rows));
  return {
    record: (entry) => group.add(stamp(entry)),
    recordIn: async (tx, entry) => {
      await insertRecords(tx, [stamp(entry)]);
    },
    recordBeside: (sql, entry, condition) => insertRecords(sql, [stamp(entry)], condition),
    close: group.settled,
  };
}
