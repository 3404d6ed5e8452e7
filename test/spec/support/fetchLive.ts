import { expect } from 'vitest';
import type { Api, ApiResponse } from '../../harness/api.ts';
import { until } from '../../journeys/support.ts';

/** Requests a live fetch of patients and waits for its event. */
export async function fetchLive(
  api: Api,
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<ApiResponse['body']> {
  const response = await api.call('POST', '/v1/patients/fetch', { body, headers });
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  const path = `/v1/webhook-events?job_id=${response.body.job_id}`;
  return until('the fetch to finish', async () => (await api.call('GET', path, { headers })).body.webhook_events[0]);
}
