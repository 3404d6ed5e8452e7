import { PassThrough, Readable } from 'node:stream';
import { Type } from 'typebox';
import { type Endpoint, endpoint, WithHeaders } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import type { ClientScope } from '../../../platform/db/fragments.ts';
import { collectAnchors, verifyAudit } from '../../../product/audit/verification.ts';
import type { Context } from '../../../product/context.ts';
import type { Operator } from '../../../product/operators/operators.ts';
import { exportAudit, findActorNames, listAudit } from './queries.ts';
import {
  type AuditRow,
  type AuditSearch,
  type AuditVerifyLine,
  audit_filters,
  audit_page,
  audit_paging,
  audit_verify_line,
  patient_filter,
} from './schema.ts';
import { recordReader } from './sentences.ts';

/**
 * The Audit page. Actions are called after endpoints: `listEndpoints` returns them all, whose declarations say what a
 * record means.
 */
export function auditEndpoints(listEndpoints: () => readonly Endpoint[]): readonly Endpoint[] {
  let reader: ReturnType<typeof recordReader> | undefined;
  const readPage = async (ctx: Context, { scope, operator }: Caller, { own_reading, ...search }: AuditSearch) => {
    const not_read_by = own_reading === 'hide' ? operator.email : undefined;
    const { rows, next } = await listAudit(ctx, scope, { ...search, not_read_by });
    const names = await findActorNames(ctx, rows);
    reader ??= recordReader(listEndpoints());
    const describe = reader;
    const described = rows.map((record): AuditRow => {
      const actor_name = record.actor_kind === 'client' ? record.client_name : (names.get(record.actor) ?? null);
      return { ...record, actor_name, ...describe(record) };
    });
    return { success: true, rows: described, next };
  };
  return [
    endpoint({
      id: 'dashboard.audit.list',
      surface: 'dashboard',
      method: 'GET',
      path: '/dashboard/api/audit',
      auth: 'operator',
      reach: 'clients',
      role: 'read_only',
      summary: 'List audit records, newest first',
      query: Type.Object({ ...audit_filters, ...audit_paging }),
      response: Type.Object({ success, ...audit_page }),
      handle: async ({ ctx, query, scope, operator, auditSubject }) => {
        auditSubject({ detail: { filters: Object.keys(query) } });
        return readPage(ctx, { scope, operator }, query);
      },
    }),
    // A POST, because an MRN must not appear in a URL.
    endpoint({
      id: 'dashboard.audit.search',
      surface: 'dashboard',
      method: 'POST',
      reads: true,
      path: '/dashboard/api/audit/search',
      auth: 'operator',
      reach: 'clients',
      role: 'read_only',
      summary: 'Search audit records by patient, newest first',
      body_filters: true,
      body: Type.Object({ ...audit_filters, ...patient_filter, ...audit_paging }),
      response: Type.Object({ success, ...audit_page }),
      handle: async ({ ctx, body, scope, operator, auditSubject }) => {
        auditSubject({ detail: { filters: Object.keys(body) } });
        return readPage(ctx, { scope, operator }, body);
      },
    }),
    endpoint({
      id: 'dashboard.audit.export',
      surface: 'dashboard',
      method: 'GET',
      path: '/dashboard/api/audit.csv',
      auth: 'operator',
      reach: 'clients',
      role: 'read_only',
      summary: 'Export audit records as CSV',
      query: Type.Object(audit_filters),
      response: Type.String(),
      handle: async ({ ctx, query, scope, auditSubject }) => {
        auditSubject({ detail: { filters: Object.keys(query) } });
        return streamCsv(ctx, scope, query);
      },
    }),
    // A POST, because an MRN must not appear in a URL.
    endpoint({
      id: 'dashboard.audit.export-search',
      surface: 'dashboard',
      method: 'POST',
      path: '/dashboard/api/audit/search.csv',
      auth: 'operator',
      reach: 'clients',
      role: 'read_only',
      summary: 'Export the audit records of a patient as CSV',
      body_filters: true,
      body: Type.Object({ ...audit_filters, ...patient_filter }),
      response: Type.String(),
      handle: async ({ ctx, body, scope, auditSubject }) => {
        auditSubject({ detail: { filters: Object.keys(body) } });
        return streamCsv(ctx, scope, body);
      },
    }),
    // Streams progress, one JSON object per line, because a long trail takes minutes. The last line is the verdict.
    endpoint({
      id: 'dashboard.audit.verify',
      surface: 'dashboard',
      method: 'POST',
      path: '/dashboard/api/audit/verify',
      auth: 'operator',
      reach: 'installation',
      role: 'read_only',
      summary: 'Verify the audit log',
      body: Type.Object({}),
      response: audit_verify_line,
      handle: async ({ ctx }) => {
        const stream = new PassThrough();
        const write = (line: AuditVerifyLine) => {
          // Stops the verification when the caller has disconnected.
          if (stream.destroyed) throw new Error('The caller has disconnected.');
          stream.write(`${JSON.stringify(line)}\n`);
        };
        collectAnchors(ctx)
          .then((anchors) => verifyAudit(ctx, { anchors, onProgress: write }))
          .then((verdict) => write({ verdict }))
          .then(() => stream.end())
          .catch((error: unknown) => {
            if (!stream.destroyed) ctx.log.error({ err: error }, 'audit verification failed');
            stream.destroy();
          });
        return new WithHeaders(stream, { 'content-type': 'application/x-ndjson' });
      },
    }),
  ];
}

type Caller = { scope: ClientScope; operator: Operator };

function streamCsv(ctx: Context, scope: ClientScope, search: Omit<AuditSearch, 'before' | 'page_size'>): WithHeaders {
  return new WithHeaders(Readable.from(exportAudit(ctx, scope, search)), {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': 'attachment; filename="audit.csv"',
  });
}
