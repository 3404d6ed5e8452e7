import { Type } from 'typebox';
import { type Endpoint, endpoint } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import { listRequests } from '../../../product/audit/requests.ts';
import { request_page, request_search } from './schema.ts';

export const requestsList = endpoint({
  id: 'dashboard.requests.list',
  surface: 'dashboard',
  method: 'GET',
  path: '/dashboard/api/requests',
  auth: 'operator',
  reach: 'clients',
  // Logged requests contain neither bodies nor URLs, so no health data.
  audited: false,
  summary: 'List logged API requests, newest first',
  query: request_search,
  response: Type.Object({ success, ...request_page }),
  handle: async ({ ctx, query, scope }) => ({ success: true, ...(await listRequests(ctx, { ...query, scope })) }),
});

export const requests_endpoints: readonly Endpoint[] = [requestsList];
