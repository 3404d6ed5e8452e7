import { Type } from 'typebox';
import { listRequests } from '../../audit/requests.ts';
import { endpoint } from '../../http/endpoint.ts';
import { request_page, request_search } from '../../model/dashboard/requests.ts';
import { success } from '../../model/fields.ts';

export default endpoint({
  id: 'dashboard.requests.list',
  method: 'GET',
  path: '/dashboard/api/requests',
  auth: 'operator',
  // Neither bodies nor addresses: there is nothing of a patient in it.
  audited: false,
  summary: 'Requests of the last days, newest first',
  query: request_search,
  response: Type.Object({ success, ...request_page }),
  handle: async ({ ctx, query }) => ({ success: true, ...(await listRequests(ctx, query)) }),
});
