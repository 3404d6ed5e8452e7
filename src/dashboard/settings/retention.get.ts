import { Type } from 'typebox';
import { endpoint } from '../../http/endpoint.ts';
import { retention } from '../../model/dashboard/encryption.ts';
import { success } from '../../model/fields.ts';
import { event_days_max } from '../../webhooks/events.ts';

export default endpoint({
  id: 'dashboard.retention.get',
  method: 'GET',
  path: '/dashboard/api/retention',
  auth: 'operator',
  audited: false,
  summary: 'What is deleted by itself, and when',
  response: Type.Object({ success, retention }),
  handle: async ({ ctx: { config } }) => ({
    success: true,
    retention: [
      { what: 'Events, their payloads and delivery tries', days: event_days_max, setting: null },
      { what: 'The log of requests', days: config.requests_days, setting: 'REQUESTS_DAYS' },
      { what: 'Idempotency keys', days: 1, setting: null },
      { what: 'Uploaded documents, once their job has ended', days: 0, setting: null },
      { what: 'Jobs and their timelines', days: null, setting: null },
      { what: 'The audit trail', days: null, setting: null },
    ],
  }),
});
