import { Type } from 'typebox';
import { event_types, events } from '../../events.ts';
import { endpoint } from '../../http/endpoint.ts';
import { event_type_row } from '../../model/dashboard/webhooks.ts';
import { success } from '../../model/fields.ts';

export default endpoint({
  id: 'dashboard.eventTypes.list',
  method: 'GET',
  path: '/dashboard/api/event-types',
  auth: 'operator',
  audited: false,
  summary: 'The types of events that the service sends',
  response: Type.Object({ success, event_types: Type.Array(event_type_row) }),
  handle: async () => ({
    success: true,
    event_types: event_types.map((type) => ({ type, summary: events[type].summary })),
  }),
});
