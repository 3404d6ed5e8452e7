import { setTimeout as pause } from 'node:timers/promises';
import { ChartwireError, ConnectionError, errorFor } from '../../../../sdk/src/errors.ts';
import type { Credentials } from './credentials.ts';

export type StreamedEvent = { id: string; type: string; body: string };

type Options = {
  events?: string | undefined;
  signal: AbortSignal;
  onConnect: () => void;
  onLost: () => void;
};

const path = '/v1/webhook-events/stream';
const reconnect_ms = 2_000;
/** The service sends a heartbeat every 25 seconds. A connection without one is dead. */
const silence_ms = 60_000;
/** A reconnection repeats the events of some seconds. */
const remembered_max = 10_000;

/**
 * Yields the events of a client as they happen, each once, until the signal aborts. A lost connection is opened again
 * after the last event. Fails if the first connection fails, or if the service refuses a later one.
 */
export async function* streamEvents(credentials: Credentials, options: Options): AsyncGenerator<StreamedEvent> {
  const seen = new Set<string>();
  let last: string | undefined;
  let connected = false;
  while (!options.signal.aborted) {
    try {
      for await (const block of connect(credentials, last, options, () => {
        connected = true;
      })) {
        last = block.id ?? last;
        const event = eventIn(block);
        if (!event || seen.has(event.id)) continue;
        seen.add(event.id);
        if (seen.size > remembered_max) seen.delete(seen.values().next().value ?? '');
        yield event;
      }
    } catch (error) {
      if (options.signal.aborted) return;
      if (!connected || !(error instanceof ConnectionError)) throw error;
    }
    if (options.signal.aborted) return;
    options.onLost();
    await pause(reconnect_ms, undefined, { signal: options.signal }).catch(() => {});
  }
}

const event_timeout_ms = 90_000;

/** Connects, runs the work, which returns the ID of a job, and waits for the event of that job. */
export async function eventOfJob(credentials: Credentials, work: () => Promise<number>): Promise<StreamedEvent> {
  const done = new AbortController();
  const timeout = AbortSignal.timeout(event_timeout_ms);
  let job: Promise<number> | undefined;
  const onConnect = () => {
    job ??= work();
    // The loop below waits for events only.
    job.catch(() => done.abort());
  };
  const signal = AbortSignal.any([done.signal, timeout]);
  for await (const event of streamEvents(credentials, { signal, onConnect, onLost: () => {} })) {
    // The body of a webhook, which the service wrote.
    const { job_id } = JSON.parse(event.body) as { job_id?: string | number };
    if (job_id !== undefined && Number(job_id) === (await job)) {
      done.abort();
      return event;
    }
  }
  await job;
  throw new ConnectionError('The event did not arrive in time.');
}

/** One connection. Ends, or throws a `ConnectionError`, when it is lost. */
async function* connect(
  credentials: Credentials,
  last: string | undefined,
  { events, signal, onConnect }: Options,
  onOpen: () => void,
): AsyncGenerator<Block> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), silence_ms);
  try {
    const query = events === undefined ? '' : `?${new URLSearchParams({ event_types: events })}`;
    const response = await fetch(credentials.base_url.replace(/\/+$/, '') + path + query, {
      headers: {
        accept: 'text/event-stream',
        'client-id': credentials.client_id,
        'client-secret': credentials.client_secret,
        ...(last !== undefined && { 'last-event-id': last }),
      },
      // Following a redirect would send the credentials elsewhere.
      redirect: 'manual',
      signal: AbortSignal.any([signal, silence.signal]),
    });
    if (!response.ok || !response.body) {
      const error = errorFor(response, await response.text(), { method: 'GET', path });
      // The service is restarting, or its proxy waits for it, or it has too many streams.
      if (response.status === 429 || response.status >= 500) throw lost(error);
      throw error;
    }
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
      await response.body.cancel();
      throw new ChartwireError(`GET ${path} did not return events.`, { status: response.status });
    }
    onOpen();
    onConnect();
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of response.body) {
      timer.refresh();
      text += decoder.decode(chunk, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      yield* blocks.map(parse);
    }
  } catch (cause) {
    if (cause instanceof TypeError || (cause as Error).name === 'AbortError') throw lost(cause);
    throw cause;
  } finally {
    clearTimeout(timer);
  }
}

function lost(cause: unknown): ConnectionError {
  return new ConnectionError(cause instanceof Error ? cause.message : 'The connection was lost.', { cause });
}

/** A block of the stream: an event, a position in the stream (an id alone), or a heartbeat. */
type Block = { id?: string; event?: string; data?: string };

function parse(text: string): Block {
  return Object.fromEntries(
    text.split('\n').map((line) => {
      const [name = ''] = line.split(':', 1);
      return [name, line.slice(name.length + 1).trimStart()];
    }),
  );
}

function eventIn({ id, event, data }: Block): StreamedEvent | undefined {
  return id && event && data ? { id, type: event, body: data } : undefined;
}
