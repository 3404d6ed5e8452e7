import { Type } from 'typebox';
import { endpoint } from '../../http/endpoint.ts';
import { alert_overview, alert_test } from '../../model/dashboard/alerts.ts';
import { success } from '../../model/fields.ts';
import { describeAlerts } from '../../product/alerts/describeAlerts.ts';
import { sendTest } from '../../product/alerts/sendMessages.ts';

export const alertsList = endpoint({
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
});

export const alertsTest = endpoint({
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
});
