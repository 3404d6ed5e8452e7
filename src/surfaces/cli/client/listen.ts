import { createHmac } from 'node:crypto';
import type { Command } from 'commander';
import { parseUrl } from '../../../catalog/parseUrl.ts';
import { type Environment, isLoopback } from '../../../catalog/settings/settingValues.ts';
import { signWebhook } from '../../../platform/security/signatures.ts';
import { CommandFailure } from '../exits.ts';
import { printJson, printLine, printProgress } from '../output.ts';
import type { Credentials } from './credentials.ts';
import { type StreamedEvent, streamEvents } from './eventStream.ts';
import { type ServiceOptions, serviceCommand, withService } from './service.ts';

type ListenOptions = ServiceOptions & { forwardTo?: string; events?: string };

/** As the service waits for its webhook endpoints. */
const forward_timeout_ms = 15_000;

export function addListen(program: Command, env: Environment): void {
  serviceCommand(program, 'listen', 'stream events live and forward them as signed webhooks')
    .option('--forward-to <url>', 'send each event to this URL; http only on this machine')
    .option('--events <types>', 'only these types, comma-separated')
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
    onConnect: () => printProgress(`Listening for events from ${credentials.base_url}. Stop with Ctrl-C.`),
    onLost: () => printProgress('The connection was lost. Reconnecting …'),
  });
  if (forwardTo !== undefined) {
    if (json) printJson({ forward_to: forwardTo, secret }, { line: true });
    else printLine(`Signing secret: ${secret}`);
  }
  for await (const event of stream) {
    const forwarded = forwardTo === undefined ? undefined : await forward(event, forwardTo, { secret, stopped });
    if (json) printJson({ event_id: event.id, type: event.type, ...forwarded }, { line: true });
    else printLine(lineOf(event, forwarded));
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

function stopSignal(): AbortSignal {
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

function lineOf({ id, type }: StreamedEvent, forwarded: Forwarded | undefined): string {
  const event = `${new Date().toISOString().slice(11, 19)}  ${type}  ${id}`;
  if (!forwarded) return event;
  return `${event}  → ${forwarded.status ?? forwarded.error} (${forwarded.duration_ms} ms)`;
}
