import { Readable } from 'node:stream';
import { Type } from 'typebox';
import { exportAudit } from '../../audit/exportAudit.ts';
import type { Context } from '../../context.ts';
import { endpoint, WithHeaders } from '../../http/endpoint.ts';
import { type AuditSearch, audit_filters, patient_filter } from '../../model/dashboard/audit.ts';

export const exportList = endpoint({
  id: 'dashboard.audit.export',
  method: 'GET',
  path: '/dashboard/api/audit.csv',
  auth: 'operator',
  summary: 'The audit trail as a file',
  query: Type.Object(audit_filters),
  response: Type.String(),
  handle: async ({ ctx, query, auditSubject }) => {
    auditSubject({ detail: { filters: Object.keys(query) } });
    return fileOf(ctx, query);
  },
});

/** The same with a patient, whose MRN stands in the body. */
export const exportSearch = endpoint({
  id: 'dashboard.audit.export-search',
  method: 'POST',
  path: '/dashboard/api/audit/search.csv',
  auth: 'operator',
  role: 'read_only',
  summary: 'What the audit trail holds of a patient, as a file',
  body: Type.Object({ ...audit_filters, ...patient_filter }),
  response: Type.String(),
  handle: async ({ ctx, body, auditSubject }) => {
    auditSubject({ detail: { filters: Object.keys(body) } });
    return fileOf(ctx, body);
  },
});

function fileOf(ctx: Context, search: Omit<AuditSearch, 'before' | 'page_size'>): WithHeaders {
  return new WithHeaders(Readable.from(exportAudit(ctx, search)), {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': 'attachment; filename="audit.csv"',
    'cache-control': 'no-store',
  });
}
