import { codeBlock } from './code.ts';
import { credential_names, credentials } from './credentials.ts';

const poll_ms = 1000;
const timeout_ms = 120_000;

export type Body = Record<string, unknown>;

/** Polls for the event of an accepted request and shows it. */
export async function waitForEvent(accepted: Body, state: HTMLElement, result: HTMLElement): Promise<void> {
  const started = Date.now();
  state.textContent = 'Waiting for the event…';
  const event = await findEvent(accepted, state);
  if (!event) {
    state.textContent = 'No event yet. The job is still running. Check again with GET /v1/webhook-events.';
    return;
  }
  state.textContent = `Event ${String(event.event_type)} after ${((Date.now() - started) / 1000).toFixed(1)} s`;
  result.append(codeBlock(`Event: ${String(event.event_type)}`, JSON.stringify(event, null, 2), true));
}

/** Polls until there is an event, or `shown` is no longer part of the page. */
export async function findEvent(accepted: Body, shown: HTMLElement): Promise<Body | undefined> {
  const started = Date.now();
  while (Date.now() - started < timeout_ms && shown.isConnected) {
    const event = await fetchEvent(accepted);
    if (event) return event;
    await new Promise((resolve) => setTimeout(resolve, poll_ms));
  }
  return undefined;
}

async function fetchEvent(accepted: Body): Promise<Body | undefined> {
  const headers = credentials(credential_names);
  const query = accepted.job_id === undefined ? 'page_size=20' : `job_id=${String(accepted.job_id)}`;
  const response = await fetch(`/v1/webhook-events?${query}`, { headers }).catch(() => undefined);
  const events = response?.ok ? (((await response.json()) as { webhook_events?: Body[] }).webhook_events ?? []) : [];
  return accepted.job_id === undefined ? events.find((event) => belongsTo(event, accepted)) : events[0];
}

/** An event without a job is recognized by the id in the response. */
function belongsTo(event: Body, accepted: Body): boolean {
  const data = (event.data ?? {}) as Body;
  return Object.entries(accepted).some(([name, value]) => name.endsWith('_id') && data[name] === value);
}
