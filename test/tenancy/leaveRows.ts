import { expect } from 'vitest';
import type { Api } from '../harness/api.ts';
import { startReceiver } from '../harness/receiver.ts';
import { until } from '../journeys/journey.ts';

export type Left = { job_id: number; event_id: string; webhook_id: string; webhook_secret: string };

/** Leaves a row of every kind as a client: a webhook with a delivery, a keyed write with its steps, its event. */
export async function leaveRows(
  api: Api,
  headers: Record<string, string> = {},
  fields: Record<string, unknown> = {},
): Promise<Left> {
  const receiver = await startReceiver();
  try {
    // The first sync of the organization, of which the references of the write come.
    await until('the first sync', async () => {
      const { body } = await api.call('GET', '/v1/patients', { headers });
      // The last kind that a sync brings.
      const claims = await api.call('GET', '/v1/claims?page_size=1', { headers });
      return body.pagination?.total_count >= 200 && claims.body.pagination?.total_count >= 1000;
    });
    const hook = { body: { webhook_url: receiver.url }, headers: { access_token: null } };
    const { webhook_id, webhook_secret } = (await api.call('POST', '/v1/webhook', hook)).body;
    const accepted = await api.callIn(fields, { ...headers, 'idempotency-key': 'left behind' });
    expect(accepted.status, JSON.stringify(accepted.body)).toBe(200);
    const { job_id } = accepted.body;
    const event_id = await until('the event to be delivered', async () => {
      const { body } = await api.call('GET', `/v1/webhook-events?job_id=${job_id}`, { headers });
      const [event] = body.webhook_events;
      return event?.delivery_status === 'success' && (event.id as string);
    });
    return { job_id, event_id, webhook_id, webhook_secret };
  } finally {
    await receiver.close();
  }
}
