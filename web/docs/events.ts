import { codeBlock } from './code.ts';
import { credentials } from './credentials.ts';

const pause_ms = 1000;
const patience_ms = 120_000;

type Body = Record<string, unknown>;

/** Asks once a second for the event in which an accepted request ends, and shows it. */
export async function awaitEvent(accepted: Body, state: HTMLElement, place: HTMLElement): Promise<void> {
  const began = Date.now();
  state.textContent = 'Waiting for the event …';
  while (Date.now() - began < patience_ms && state.isConnected) {
    const event = await askForEvent(accepted);
    if (event) {
      state.textContent = `Event ${String(event.event_type)} after ${((Date.now() - began) / 1000).toFixed(1)} s`;
      place.append(codeBlock(`Event: ${String(event.event_type)}`, JSON.stringify(event, null, 2), true));
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, pause_ms));
  }
  state.textContent = 'No event yet. The job goes on; ask again with GET /v1/webhook-events.';
}

async function askForEvent(accepted: Body): Promise<Body | undefined> {
  const headers = credentials(['client_id', 'client_secret', 'access_token']);
  const query = accepted.job_id === undefined ? 'page_size=20' : `job_id=${String(accepted.job_id)}`;
  const answer = await fetch(`/v1/webhook-events?${query}`, { headers }).catch(() => undefined);
  const events = answer?.ok ? (((await answer.json()) as { webhook_events?: Body[] }).webhook_events ?? []) : [];
  return accepted.job_id === undefined ? events.find((event) => isOf(event, accepted)) : events[0];
}

/** An event without a job is told by the id that the answer gave. */
function isOf(event: Body, accepted: Body): boolean {
  const data = (event.data ?? {}) as Body;
  return Object.entries(accepted).some(([name, value]) => name.endsWith('_id') && data[name] === value);
}
