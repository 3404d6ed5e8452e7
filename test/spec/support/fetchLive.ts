import { expect } from 'vitest';
import type { Answer, Api } from '../../harness/api.ts';
import { until } from '../../journeys/journey.ts';

/** Asks for patients to be read from the EMR, and waits for the event that tells what was found. */
export async function fetchLive(
  api: Api,
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<Answer['body']> {
  const answer = await api.call('POST', '/v1/patients/fetch', { body, headers });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  const path = `/v1/webhook-events?job_id=${answer.body.job_id}`;
  return until('the fetch to end', async () => (await api.call('GET', path, { headers })).body.webhook_events[0]);
}
