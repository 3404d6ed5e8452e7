import { createHmac } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { ChartwireError, ConnectionError, errorFor, TimeoutError } from '../../../../sdk/src/errors.ts';
import { parseUrl } from '../../../catalog/parseUrl.ts';
import { type Environment, isLoopback } from '../../../catalog/settings/settingValues.ts';
import { signWebhook } from '../../../platform/security/signatures.ts';
import { CommandFailure, printJson, printLine, printProgress, utc_option } from '../output.ts';
import { formatTime, styleStatus, type Text, zoneName } from '../terminal.ts';
import { type Credentials, type ServiceOptions, serviceCommand, withService } from './service.ts';

type ListenOptions = ServiceOptions & { forwardTo?: string; events?: string };

/** As the service waits for its webhook endpoints. */
const forward_timeout_ms = 15_000;

export function addListen(program: Command, env: Environment): void {
  serviceCommand(program, 'listen', 'stream events live and forward them as signed webhooks')
    .option('--forward-to <url>', 'send each event to this URL; http only on this machine')
    .option('--events <types>', 'only these types, comma-separated')
    .option(...utc_option)
    .addHelpText('after', help)
    .action((options: ListenOptions) => withService(env, options, ({ credentials }) => listen(credentials, options)));
}

const help = `
Forwarded events are signed like the service’s webhooks (Standard Webhooks), with a separate secret that is printed at
startup. It stays the same for a client.

Examples:
  $ chartwire listen --forward-to http://localhost:3000/webhooks
  $ chartwire listen --events patient.created,patient.failed --json
`;

async function listen(credentials: Credentials, options: ListenOptions): Promise<void> {
  const { forwardTo, json } = options;
  if (forwardTo !== undefined) checkTarget(forwardTo);
  const secret = listenSecret(credentials);
  const stopped = stopSignal();
  const stream = streamEvents(credentials, {
    events: options.events,
    signal: stopped,
    onConnect: () =>
      printProgress(`Listening for events from ${credentials.base_url}. Times are in ${zoneName()}. Stop with Ctrl-C.`),
    onLost: () => printProgress('The connection was lost. Reconnecting …'),
  });
  if (forwardTo !== undefined) {
    if (json) printJson({ forward_to: forwardTo, secret }, { line: true });
    else printLine(`Signing secret: ${secret}`);
  }
  for await (const event of stream) {
    const forwarded = forwardTo === undefined ? undefined : await forward(event, forwardTo, { secret, stopped });
    if (json) printJson({ event_id: event.id, type: event.type, ...forwarded }, { line: true });
    else printLine(...formatLine(event, forwarded));
  }
}

/**
 * The secret that signs forwarded events. Derived, so that it is the same at the next start and nothing needs to be
 * stored; the client secret cannot be computed from it.
 */
export function listenSecret({ client_id, client_secret }: Credentials): string {
  const key = createHmac('sha256', client_secret).update(`chartwire listen ${client_id}`).digest('base64');
  return `whsec_${key}`;
}

/** Events contain health data, which must not cross a network in plain text. */
function checkTarget(text: string): void {
  const url = parseUrl(text);
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new CommandFailure('--forward-to must be a URL, such as http://localhost:3000/webhooks.', 'usage');
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw new CommandFailure(
      '--forward-to must use https, except on this machine: events contain health data.',
      'usage',
    );
  }
}

/** Aborts when the person or the system ends the command. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => controller.abort());
  return controller.signal;
}

type Forwarded = { status: number | null; duration_ms: number; error?: string };

async function forward(
  { id, body }: StreamedEvent,
  url: string,
  { secret, stopped }: { secret: string; stopped: AbortSignal },
): Promise<Forwarded> {
  const started = performance.now();
  const duration = () => Math.round(performance.now() - started);
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...signWebhook({ id, timestamp_s: Math.floor(Date.now() / 1000), body, secrets: [secret] }),
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([stopped, AbortSignal.timeout(forward_timeout_ms)]),
    });
    await response.body?.cancel();
    return { status: response.status, duration_ms: duration() };
  } catch (error) {
    const timed_out = (error as Error).name === 'TimeoutError';
    return { status: null, duration_ms: duration(), error: timed_out ? 'no response in time' : 'not reachable' };
  }
}

function formatLine({ id, type }: StreamedEvent, forwarded: Forwarded | undefined): Text[] {
  const event: Text[] = [{ text: formatTime(new Date()).slice(11), style: 'dim' }, `  ${type}  ${id}`];
  if (!forwarded) return event;
  const { status, error = '', duration_ms } = forwarded;
  const response: Text =
    status === null
      ? { text: error, style: 'red' }
      : status < 300
        ? { text: String(status), style: 'green' }
        : styleStatus(status);
  return [...event, '  → ', response, ` (${duration_ms} ms)`];
}

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
  const job_id = await job;
  throw new TimeoutError('The event did not arrive in time.', { ...(job_id !== undefined && { jobId: job_id }) });
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
