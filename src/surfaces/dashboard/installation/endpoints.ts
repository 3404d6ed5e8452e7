import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { type Endpoint, endpoint } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import { alert_days } from '../../../product/alerts/alerts.ts';
import { sendTest } from '../../../product/alerts/channels.ts';
import { describeAlerts, describeUnwraps } from './queries.ts';
import { alert_overview, alert_test, encryption, retention, sign_in_policy } from './schema.ts';
import { describeSignInPolicy } from './signInPolicy.ts';

export const installation_endpoints: readonly Endpoint[] = [
  endpoint({
    id: 'dashboard.encryption.get',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/encryption',
    auth: 'operator',
    role: 'owner',
    audited: false,
    summary: 'Retrieve the master keys, how many keys each one wraps, and how many were unwrapped',
    response: Type.Object({ success, encryption }),
    handle: async ({ ctx: { key_ring, db } }) => ({
      success: true,
      encryption: {
        source: key_ring.source,
        ...(await key_ring.describe()),
        unwraps: await describeUnwraps(db.system),
      },
    }),
  }),
  endpoint({
    id: 'dashboard.encryption.rotate',
    fresh_sign_in: true,
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/encryption/rotate',
    auth: 'operator',
    role: 'owner',
    summary: 'Rotate the master key',
    body: Type.Object({}),
    response: Type.Object({ success, rewrapped: Type.Integer() }),
    errors: ['master_key_in_settings'],
    handle: async ({ ctx, auditSubject }) => {
      const rewrapped = await ctx.key_ring.rotate();
      if (rewrapped === undefined) throw apiError('master_key_in_settings');
      ctx.notifications.notify('chartwire_access', 'keys');
      auditSubject({ detail: { rewrapped } });
      return { success: true, rewrapped };
    },
  }),
  endpoint({
    id: 'dashboard.sign-in-policy.get',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/sign-in-policy',
    auth: 'operator',
    role: 'owner',
    audited: false,
    summary: 'Retrieve the settings of the operators’ sign-in',
    response: Type.Object({ success, policy: sign_in_policy }),
    handle: async ({ ctx: { config } }) => ({ success: true, policy: describeSignInPolicy(config) }),
  }),
  endpoint({
    id: 'dashboard.retention.get',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/retention',
    auth: 'operator',
    role: 'owner',
    audited: false,
    summary: 'Retrieve the retention periods',
    response: Type.Object({ success, retention }),
    handle: async ({ ctx: { config } }) => ({
      success: true,
      retention: [
        { what: 'Events, payloads and delivery attempts', days: config.event_days, setting: 'EVENT_DAYS' },
        { what: 'Requests and timelines of finished jobs', days: config.job_input_days, setting: 'JOB_INPUT_DAYS' },
        {
          what: 'Cached records of a practice without linked accounts',
          days: config.unlinked_days,
          setting: 'UNLINKED_DAYS',
        },
        { what: 'Request log', days: config.requests_days, setting: 'REQUESTS_DAYS' },
        { what: 'Alerts, after they were resolved', days: alert_days, setting: null },
        { what: 'Idempotency keys', days: 1, setting: null },
        { what: 'Uploaded documents, after their job has finished', days: 0, setting: null },
        { what: 'Jobs (type, state and times)', days: null, setting: null },
        { what: 'Audit log', days: null, setting: null },
      ],
    }),
  }),
  endpoint({
    id: 'dashboard.alerts.list',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/alerts',
    auth: 'operator',
    role: 'owner',
    // Alerts contain ids and counts, no health data.
    audited: false,
    summary: 'List open and recent alerts, and where they are sent',
    response: Type.Object({ success, alerts: alert_overview }),
    handle: async ({ ctx }) => ({ success: true, alerts: await describeAlerts(ctx) }),
  }),
  endpoint({
    id: 'dashboard.alerts.test',
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/alerts/test',
    auth: 'operator',
    role: 'owner',
    summary: 'Send a test message through every channel for alerts',
    body: Type.Object({}),
    response: Type.Object({ success, results: Type.Array(alert_test) }),
    handle: async ({ ctx, auditSubject }) => {
      const results = await sendTest(ctx);
      auditSubject({ detail: { channels: results.map(({ channel, sent }) => ({ channel, sent })) } });
      return { success: true, results };
    },
  }),
];
