import { ChartwireError, JobFailedError, TimeoutError } from './errors.ts';
import type { Job, StoredEvent, WebhookEvent } from './generated/types.gen.ts';
import { type RequestOptions, sleep, type Transport } from './transport.ts';

/** `timeoutMs` is for the request and the wait together. Default: two minutes. */
export type WaitOptions = RequestOptions;

const default_timeout_ms = 120_000;

/**
 * Waits until a job has finished and returns its event. Throws `JobFailedError` if it failed. The job continues in the
 * service if the wait ends early, and can be waited for again.
 */
export async function waitForJob<Event>(
  transport: Transport,
  job_id: number,
  { timeoutMs = default_timeout_ms, signal }: WaitOptions = {},
): Promise<Event> {
  const job = await poll(`Job ${job_id}`, { timeoutMs, signal, jobId: job_id }, async (options) => {
    const { job } = await transport.request<{ job: Job }>(
      { method: 'GET', path: `/v1/jobs/${job_id}`, route: '/v1/jobs/{job_id}' },
      options,
    );
    return job.finished_at === null ? undefined : job;
  });
  const events = { method: 'GET', path: '/v1/webhook-events', query: { job_id } } as const;
  const { webhook_events } = await transport.request<{ webhook_events: StoredEvent[] }>(events, { signal });
  const [event] = webhook_events;
  if (!event) throw new ChartwireError(`Job ${job_id} has finished, but its event is older than 30 days.`);
  if (job.status === 'failed' || job.status === 'needs_review' || job.status === 'cancelled') {
    throw failure(event, { jobId: job_id, outcome: job.status, ...(job.error && { code: job.error.code }) });
  }
  return event as Event;
}

/** Sends a write and waits for its outcome. Undefined if the service queued no job. */
export async function requestAndWait<Event, Accepted extends { job_id?: number }>(
  transport: Transport,
  send: (options: RequestOptions) => Promise<Accepted>,
  options: WaitOptions = {},
): Promise<Event | undefined> {
  const { timeoutMs = default_timeout_ms, signal } = options;
  const deadline = Date.now() + timeoutMs;
  const { job_id } = await send({ ...options, timeoutMs });
  if (job_id === undefined) return undefined;
  return waitForJob<Event>(transport, job_id, { timeoutMs: Math.max(deadline - Date.now(), 1), signal });
}

/** The same for a write whose response has no job ID. `field` is in the response and in the event. */
export async function requestAndWaitForEvent<Event, Field extends string, Accepted extends Record<Field, string>>(
  transport: Transport,
  send: (options: RequestOptions) => Promise<Accepted>,
  { field, types }: { field: Field; types: readonly string[] },
  options: WaitOptions = {},
): Promise<Event> {
  const { timeoutMs = default_timeout_ms, signal } = options;
  const deadline = Date.now() + timeoutMs;
  const id = (await send({ ...options, timeoutMs }))[field];
  const limits = { timeoutMs: Math.max(deadline - Date.now(), 1), signal };
  const event = await poll(`The event of ${id}`, limits, async (each) => {
    for (const event_type of types) {
      const call = { method: 'GET', path: '/v1/webhook-events', query: { event_type, page_size: 100 } } as const;
      const { webhook_events } = await transport.request<{ webhook_events: StoredEvent[] }>(call, each);
      const match = webhook_events.find(({ data }) => (data as Record<string, unknown>)[field] === id);
      if (match) return match;
    }
    return undefined;
  });
  if (event.type.endsWith('failed')) throw failure(event, { outcome: 'failed' });
  return event as Event;
}

/** Looks after 0.2 s, then in growing intervals of up to 5 s. */
async function poll<T>(
  what: string,
  { timeoutMs, signal, jobId }: { timeoutMs: number; signal: AbortSignal | undefined; jobId?: number },
  look: (options: RequestOptions) => Promise<T | undefined>,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (let pause_ms = 200; ; pause_ms = Math.min(pause_ms * 1.5, 5000)) {
    const left_ms = deadline - Date.now();
    if (left_ms <= 0) {
      throw new TimeoutError(
        `${what} has not finished in time. It continues in the service: wait again, or use webhooks.`,
        jobId === undefined ? {} : { jobId },
      );
    }
    const result = await look({ timeoutMs: left_ms, signal });
    if (result !== undefined) return result;
    await sleep(Math.max(Math.min(pause_ms * (0.75 + Math.random() / 2), deadline - Date.now()), 0), signal);
  }
}

function failure(
  event: StoredEvent,
  { outcome, code, jobId }: { outcome: JobFailedError['outcome']; code?: string; jobId?: number },
): JobFailedError {
  const { failure_reason, error } = event.data as { failure_reason?: string; error?: string };
  const advice = outcome === 'needs_review' ? ' It is unknown whether it was saved: check in the EMR.' : '';
  return new JobFailedError(`${failure_reason ?? error ?? event.type}${advice}`, {
    outcome,
    // A stored event has all fields of the sent one.
    event: event as unknown as WebhookEvent,
    ...(code !== undefined && { code }),
    ...(jobId !== undefined && { jobId }),
  });
}
