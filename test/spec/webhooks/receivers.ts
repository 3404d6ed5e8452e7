import { expect, onTestFinished } from 'vitest';
import type { Api, ApiResponse } from '../../harness/api.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { type Receiver, type Responder, startReceiver } from '../../harness/servers/receiver.ts';
import { until } from '../../journeys/support.ts';

export type Registered = { receiver: Receiver; id: string; secret: string; response: ApiResponse };
type Options = { event_types?: string[]; respond?: Responder; api?: Api };

/** Starts a receiver and registers it as a webhook until the test finishes. */
export async function register(fixture: TestSandbox, options: Options = {}): Promise<Registered> {
  const receiver = await startReceiver(options.respond);
  onTestFinished(receiver.close);
  const registered = await registerUrl(options.api ?? fixture.api, receiver.url, options.event_types);
  onTestFinished(async () => void (await removeWebhook(options.api ?? fixture.api, registered.id)));
  return { receiver, ...registered };
}

export async function registerUrl(api: Api, webhook_url: string, event_types?: string[]) {
  const body = { webhook_url, ...(event_types && { event_types }) };
  const response = await api.call('POST', '/v1/webhook', { body, headers: { access_token: null } });
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  return { id: String(response.body.webhook_id), secret: String(response.body.webhook_secret), response };
}

export function removeWebhook(api: Api, id: string): Promise<ApiResponse> {
  return api.call('DELETE', `/v1/webhook/${id}`, { headers: { access_token: null } });
}

export function untilReceived(receiver: Receiver, count: number): Promise<boolean> {
  return until(`${count} webhook calls`, async () => receiver.received.length >= count);
}

/** Waits until polling shows this delivery status for an event. */
export function untilStatus(fixture: TestSandbox, event_id: string, status: string): Promise<ApiResponse['body']> {
  return until(`event ${event_id} to be ${status}`, async () => {
    const { body } = await fixture.api.call('GET', `/v1/webhook-events?delivery_status=${status}&page_size=100`);
    return body.webhook_events.find((event: { id: string }) => event.id === event_id);
  });
}

/** The headers of the n-th webhook call, in the form that verifiers expect. */
export function readHeaders(receiver: Receiver, n: number): Record<string, string> {
  const headers = receiver.received[n]?.headers ?? {};
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
