import { expect, onTestFinished } from 'vitest';
import type { Answer, Api } from '../../harness/api.ts';
import { type Answer as Answering, type Receiver, startReceiver } from '../../harness/receiver.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { until } from '../../journeys/journey.ts';

export type Registered = { receiver: Receiver; id: string; secret: string; answer: Answer };
type Wanted = { event_types?: string[]; answering?: Answering; api?: Api };

/** Registers an address of a receiver of its own, for as long as the test lasts. */
export async function register(world: TestSandbox, wanted: Wanted = {}): Promise<Registered> {
  const receiver = await startReceiver(wanted.answering);
  onTestFinished(receiver.close);
  const registered = await registerUrl(wanted.api ?? world.api, receiver.url, wanted.event_types);
  onTestFinished(async () => void (await removeWebhook(wanted.api ?? world.api, registered.id)));
  return { receiver, ...registered };
}

export async function registerUrl(api: Api, webhook_url: string, event_types?: string[]) {
  const body = { webhook_url, ...(event_types && { event_types }) };
  const answer = await api.call('POST', '/v1/webhook', { body, headers: { access_token: null } });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return { id: String(answer.body.webhook_id), secret: String(answer.body.webhook_secret), answer };
}

export function removeWebhook(api: Api, id: string): Promise<Answer> {
  return api.call('DELETE', `/v1/webhook/${id}`, { headers: { access_token: null } });
}

export function untilReceived(receiver: Receiver, count: number): Promise<boolean> {
  return until(`${count} webhook calls`, async () => receiver.received.length >= count);
}

/** Waits until polling shows that the deliveries of an event came to this. */
export function untilStatus(world: TestSandbox, event_id: string, status: string): Promise<Answer['body']> {
  return until(`event ${event_id} to be ${status}`, async () => {
    const { body } = await world.api.call('GET', `/v1/webhook-events?delivery_status=${status}&page_size=100`);
    return body.webhook_events.find((event: { id: string }) => event.id === event_id);
  });
}

/** The headers of a call as a verifier takes them. */
export function headersOf(receiver: Receiver, n: number): Record<string, string> {
  const headers = receiver.received[n]?.headers ?? {};
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
