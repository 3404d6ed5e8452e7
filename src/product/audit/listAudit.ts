import type { AuditRecord, AuditSearch } from '../../model/dashboard/audit.ts';
import type { ClientScope } from '../../platform/db/fragments.ts';
import type { Context } from '../context.ts';
import { findRecords, openStamp } from './auditRecords.ts';

/** A page of the audit log of these clients, newest first. */
export async function listAudit(
  ctx: Pick<Context, 'db' | 'system_keys'>,
  scope: ClientScope,
  { client_id, patient_mrn, page_size = 50, ...search }: AuditSearch,
): Promise<{ rows: AuditRecord[]; next: string | null }> {
  const clients = await ctx.db.system<{ id: string }[]>`SELECT id FROM clients
    ${client_id === undefined ? ctx.db.system`` : ctx.db.system`WHERE public_id = ${client_id}`}`;
  const [only] = clients;
  if (client_id !== undefined && !only) return { rows: [], next: null };
  const found = await findRecords(ctx.db.system.pooled, {
    ...search,
    client_id: client_id === undefined ? undefined : only?.id,
    patients: patient_mrn === undefined ? undefined : marksOf(ctx, clients, patient_mrn),
    scope,
    limit: page_size + 1,
  });
  const rows = found.slice(0, page_size);
  return { rows, next: found.length > page_size ? (rows.at(-1)?.id ?? null) : null };
}

/** A mark is derived from client and MRN, so a search by MRN alone needs one mark per client. */
function marksOf(ctx: Pick<Context, 'system_keys'>, clients: readonly { id: string }[], mrn: string): string[] {
  const { mark } = openStamp(ctx.system_keys);
  return clients.map(({ id }) => mark(id, mrn));
}
