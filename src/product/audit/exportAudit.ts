import type { Context } from '../context.ts';
import { csvLine } from '../../platform/csv.ts';
import type { ClientScope } from '../../platform/db/clientScope.ts';
import type { AuditRecord, AuditSearch } from '../../model/dashboard/audit.ts';
import { listAudit } from './listAudit.ts';

const columns = [
  'at',
  'client_id',
  'client_name',
  'actor_kind',
  'actor',
  'account',
  'action',
  'outcome',
  'request_id',
  'job_id',
  'subject',
  'patients',
  'detail',
  'address',
  'position',
  'id',
] as const satisfies (keyof AuditRecord)[];

/** Yields the records of a search as CSV text, newest first, page by page. */
export async function* exportAudit(
  ctx: Pick<Context, 'db' | 'system_keys'>,
  scope: ClientScope,
  search: Omit<AuditSearch, 'before' | 'page_size'>,
  page_size = 1_000,
): AsyncGenerator<string> {
  yield csvLine(columns);
  for (let before: string | null | undefined; before !== null; ) {
    const page = await listAudit(ctx, scope, { ...search, page_size, ...(before && { before }) });
    yield page.rows.map((record) => csvLine(columns.map((name) => recordText(record[name])))).join('');
    before = page.next;
  }
}

function recordText(value: AuditRecord[keyof AuditRecord]): string {
  if (value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
