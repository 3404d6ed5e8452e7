import { Type } from 'typebox';
import { type Endpoint, endpoint } from '../../../http/endpoint.ts';
import { seesPatients } from '../../../http/hidePatients.ts';
import { describeLogged } from '../../../http/loggedError.ts';
import { success } from '../../../model/fields.ts';
import { listRequests } from '../../../product/audit/requests.ts';
import { endpoints as api_endpoints } from '../../api/endpoints.ts';
import { link_endpoints } from '../../linkpage/endpoints.ts';
import { request_page, request_search } from './schema.ts';

export const requestsList = endpoint({
  id: 'dashboard.requests.list',
  surface: 'dashboard',
  method: 'GET',
  path: '/dashboard/api/requests',
  auth: 'operator',
  reach: 'clients',
  // Logged requests contain neither bodies nor URLs, so no health data. Paths are logged in the sandbox only.
  audited: false,
  summary: 'List logged API requests, newest first',
  query: request_search,
  response: Type.Object({ success, ...request_page }),
  handle: async ({ ctx, query: { search, ...query }, scope, operator }) => {
    const text = search?.trim();
    // A role that cannot see sent paths cannot search them either.
    const searched = text && { text, endpoints: endpointsAt(text), sent_paths: seesPatients(operator) };
    const { rows, next } = await listRequests(ctx, { ...query, search: searched || undefined, scope });
    return {
      success: true,
      rows: rows.map(({ message_values, ...row }) => ({ ...row, ...describeLogged({ ...row, message_values }) })),
      next,
    };
  },
});

export const requests_endpoints: readonly Endpoint[] = [requestsList];

/** The logged endpoints whose path contains this text. */
function endpointsAt(text: string): string[] {
  const searched = text.toLowerCase();
  return [...api_endpoints, ...link_endpoints]
    .filter(({ path }) => path.toLowerCase().includes(searched))
    .map(({ id }) => id);
}
