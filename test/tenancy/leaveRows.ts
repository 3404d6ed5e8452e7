import { expect, vi } from 'vitest';
import type { Api } from '../harness/api.ts';
import { startReceiver } from '../harness/receiver.ts';

export type Left = { job_id: number; event_id: string; webhook_id: string; webhook_secret: string };

/** Leaves a row of every kind as a client: a webhook with a delivery, a keyed write with its steps, its event. */
export async function leaveRows(
  api: Api,
  headers: Record<string, string> = {},
  fields: Record<string, unknown> = {},
): Promise<Left> {
  const receiver = await startReceiver();
  const patience = { timeout: 60_000, interval: 25 };
  try {
    // The first sync of the organisation, of which the references of the write come.
    await vi.waitFor(async () => {
      const { body } = await api.call('GET', '/v1/patients', { headers });
      expect(body.pagination.total_count).toBeGreaterThanOrEqual(200);
      // The last kind that a sync brings.
      const claims = await api.call('GET', '/v1/claims?page_size=1', { headers });
      expect(claims.body.pagination.total_count).toBeGreaterThanOrEqual(1000);
    }, patience);
    const hook = { body: { webhook_url: receiver.url }, headers: { access_token: null } };
    const { webhook_id, webhook_secret } = (await api.call('POST', '/v1/webhook', hook)).body;
    const accepted = await api.callIn(fields, { ...headers, 'idempotency-key': 'left behind' });
    expect(accepted.status, JSON.stringify(accepted.body)).toBe(200);
    const { job_id } = accepted.body;
    const event_id = await vi.waitFor(async () => {
      const { body } = await api.call('GET', `/v1/webhook-events?job_id=${job_id}`, { headers });
      expect(body.webhook_events[0]?.delivery_status).toBe('success');
      return body.webhook_events[0].id as string;
    }, patience);
    return { job_id, event_id, webhook_id, webhook_secret };
  } finally {
    await receiver.close();
  }
}
