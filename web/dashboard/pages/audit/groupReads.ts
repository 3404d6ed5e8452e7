import type { RowOf } from '../../service/api.ts';

export type AuditRecord = RowOf<'audit.list'>;
/** Records that are shown as one. The first is the newest. */
export type RecordGroup = { first: AuditRecord; records: readonly AuditRecord[] };

/**
 * Puts a person's reads of the same thing in the same minute together: a page that is open reads again and again. What
 * changed something, or failed, is never grouped.
 */
export function groupReads(records: readonly AuditRecord[]): RecordGroup[] {
  const groups: { first: AuditRecord; records: AuditRecord[] }[] = [];
  const reads = new Map<string, { first: AuditRecord; records: AuditRecord[] }>();
  for (const record of records) {
    const key = record.reads && !record.failed ? readKey(record) : record.id;
    const group = reads.get(key);
    if (group) {
      group.records.push(record);
      continue;
    }
    const created = { first: record, records: [record] };
    reads.set(key, created);
    groups.push(created);
  }
  return groups;
}

function readKey(record: AuditRecord): string {
  const { at, actor_kind, actor, client_id, action, subject, job_id, account, address, patients } = record;
  const minute = at.slice(0, 'YYYY-MM-DDTHH:MM'.length);
  // The sentence of a group says how many patients each of its reads was about.
  return JSON.stringify([minute, actor_kind, actor, client_id, action, subject, job_id, account, address, patients]);
}
