import { Type } from 'typebox';
import { endpoint } from '../../../http/endpoint.ts';
import { cursorPaging, LoggedRequest, next } from '../../../model/activity.ts';
import { choices, id, success, text } from '../../../model/fields.ts';
import { listRequests } from '../../../product/audit/requests.ts';

export default endpoint({
  id: 'requests.list',
  surface: 'api',
  group: 'Jobs',
  method: 'GET',
  path: '/v1/requests',
  auth: 'client',
  account_optional: true,
  // Logged requests contain neither bodies nor URLs, so no health data.
  audited: false,
  summary: 'List your requests',
  agent_tool: true,
  description:
    'Returns the requests that you sent, newest first, without bodies and URLs. A request appears within a second of its response.',
  query: Type.Object({
    request_id: Type.Optional(Type.String({ ...id, description: 'Only the request with this ID' })),
    endpoint: Type.Optional(
      text({ maxLength: 100, description: 'Only requests to this operation', examples: ['patients.create'] }),
    ),
    status: Type.Optional(
      choices(
        { '2xx': 'Successful', '4xx': 'Rejected', '5xx': 'Failed in the service', failed: '4xx or 5xx' },
        { description: 'Only requests with this kind of response', examples: ['failed'] },
      ),
    ),
    ...cursorPaging(text({ pattern: '^[0-9a-f]{32}$', description: 'A `request_id`: returns older requests' })),
  }),
  response: Type.Object({
    success,
    requests: Type.Array(LoggedRequest, { description: 'The requests, newest first' }),
    next,
  }),
  handle: async ({ ctx, client, account, query: { request_id, ...search } }) => {
    const found = await listRequests(ctx, {
      ...search,
      id: request_id,
      account_id: account?.id,
      scope: [client.id],
    });
    return {
      success: true,
      requests: found.rows.map(({ id, at, endpoint, method, status, duration_ms, code, account }) => ({
        request_id: id,
        ...{ at, endpoint, method, status, duration_ms },
        error_code: code,
        access_token_reference_id: account,
      })),
      next: found.next,
    };
  },
});
