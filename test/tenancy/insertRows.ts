import { expect } from 'vitest';
import type { Api } from '../harness/api.ts';
import { startReceiver } from '../harness/servers/receiver.ts';
import { until } from '../journeys/support.ts';

export type InsertedRows = { job_id: number; event_id: string; webhook_id: string; webhook_secret: string };

/** Inserts rows of every kind as a client: a webhook with a delivery, a write with its key and steps, its event. */
export async function insertRows(
  api: Api,
  headers: Record<string, string> = {},
  fields: Record<string, unknown> = {},
): Promise<InsertedRows> {
  const receiver = await startReceiver();
  try {
    // The write refers to records of the first sync; claims are the last kind that it reads.
    await until('the first sync', async () => {
      const { body } = await api.call('GET', '/v1/claims?page_size=1', { headers });
      return body.pagination?.total_count > 0;
    });
    const hook = { body: { webhook_url: receiver.url }, headers: { access_token: null } };
    const { webhook_id, webhook_secret } = (await api.call('POST', '/v1/webhook', hook)).body;
    const accepted = await api.callIn(fields, { ...headers, 'idempotency-key': 'insert-rows' });
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
