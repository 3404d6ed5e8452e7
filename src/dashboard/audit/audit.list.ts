import { Type } from 'typebox';
import { listAudit } from '../../audit/listAudit.ts';
import { endpoint } from '../../http/endpoint.ts';
import { audit_filters, audit_page, audit_paging } from '../../model/dashboard/audit.ts';
import { success } from '../../model/fields.ts';

export default endpoint({
  id: 'dashboard.audit.list',
  method: 'GET',
  path: '/dashboard/api/audit',
  auth: 'operator',
  summary: 'Who read or changed what, newest first',
  query: Type.Object({ ...audit_filters, ...audit_paging }),
  response: Type.Object({ success, ...audit_page }),
  handle: async ({ ctx, query, auditSubject }) => {
    auditSubject({ detail: { filters: Object.keys(query) } });
    return { success: true, ...(await listAudit(ctx, query)) };
  },
});
