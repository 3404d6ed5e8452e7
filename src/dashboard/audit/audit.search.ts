import { Type } from 'typebox';
import { listAudit } from '../../audit/listAudit.ts';
import { endpoint } from '../../http/endpoint.ts';
import { audit_filters, audit_page, audit_paging, patient_filter } from '../../model/dashboard/audit.ts';
import { success } from '../../model/fields.ts';

/** As the list, with a patient: an MRN stands in a body, never in an address. */
export default endpoint({
  id: 'dashboard.audit.search',
  method: 'POST',
  path: '/dashboard/api/audit/search',
  auth: 'operator',
  role: 'read_only',
  summary: 'Who read or changed what of a patient, newest first',
  body: Type.Object({ ...audit_filters, ...patient_filter, ...audit_paging }),
  response: Type.Object({ success, ...audit_page }),
  handle: async ({ ctx, body, auditSubject }) => {
    auditSubject({ detail: { filters: Object.keys(body) } });
    return { success: true, ...(await listAudit(ctx, body)) };
  },
});
