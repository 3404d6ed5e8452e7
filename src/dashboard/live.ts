import { PassThrough, type Readable } from 'node:stream';
import { Type } from 'typebox';
import type { Context } from '../context.ts';
import type { ClientScope } from '../db/clientScope.ts';
import { apiError } from '../errors.ts';
import { readSessionCookie } from '../http/authenticateOperator.ts';
import { type Endpoint, endpoint, WithHeaders } from '../http/endpoint.ts';
import { clientsWith } from '../operators/operatorAccess.ts';
import { findSession } from '../operators/operatorSessions.ts';

const live_topics = ['jobs', 'events', 'accounts'] as const;
type LiveTopic = (typeof live_topics)[number];

/** Tells open dashboard pages which topic has changed; they fetch the data themselves. */
export type Live = {
  /**
   * Opens a stream of server-sent events for a session, about changes at the clients in its scope. `readScope` is called
   * every 25 s; the stream ends when it returns undefined. Returns undefined if the session has too many streams.
   */
  open(session: string, scope: ClientScope, readScope: () => Promise<ClientScope | undefined>): Readable | undefined;
};

/** One per open tab. */
const streams_per_session_max = 20;

/** About 2,000 changes. A page that has not read this much is gone, or hostile. */
const unread_bytes_max = 65_536;

/** Proxies close a stream that is silent for a minute. The session is checked at the same interval. */
const heartbeat_ms = 25_000;

/** Listens to the notifications between processes, so that a page sees changes made by any process. */
export async function openLive(ctx: Pick<Context, 'notifications'>): Promise<Live> {
  const streams = new Map<PassThrough, { session: string; scope: ClientScope }>();
  // Undefined: notifications of any client may have been missed.
  const announce = (topic: LiveTopic, client_id: string | undefined) => {
    for (const [stream, { scope }] of streams) {
      if (client_id !== undefined && scope !== 'all' && !scope.includes(client_id)) continue;
      if (stream.readableLength + stream.writableLength > unread_bytes_max) stream.destroy();
      else stream.write(`event: changed\ndata: ${topic}\n\n`);
    }
  };
  await ctx.notifications.listen('chartwire_live', (payload) => {
    const [changed, client_id] = payload?.split(' ') ?? [];
    for (const topic of live_topics) if (payload === undefined || changed === topic) announce(topic, client_id);
  });
  await ctx.notifications.listen('chartwire_jobs', (client_id) => announce('jobs', client_id));
  await ctx.notifications.listen('chartwire_deliveries', (client_id) => announce('events', client_id));
  await ctx.notifications.listen('chartwire_access', (client_id) => announce('accounts', client_id));
  return {
    open: (session, scope, readScope) => {
      const open = [...streams.values()].filter((each) => each.session === session).length;
      if (open >= streams_per_session_max) return undefined;
      const stream = new PassThrough();
      streams.set(stream, { session, scope });
      const heartbeat = setInterval(async () => {
        const scope = await readScope().catch(() => undefined);
        if (scope === undefined) stream.end('event: over\ndata: session\n\n');
        else if (streams.has(stream)) {
          streams.set(stream, { session, scope });
          stream.write(': heartbeat\n\n');
        }
      }, heartbeat_ms);
      stream.on('close', () => {
        clearInterval(heartbeat);
        streams.delete(stream);
      });
      stream.write('retry: 2000\n\n');
      return stream;
    },
  };
}

export const liveGet = (live: Live): Endpoint =>
  endpoint({
    id: 'dashboard.live.get',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/live',
    auth: 'operator',
    // It says what has changed, not how, and only for the operator's clients.
    reach: 'own',
    // A browser reopens the stream by itself and cannot send the x-background header.
    background: true,
    audited: false,
    summary: 'Stream change notifications',
    response: Type.String(),
    errors: ['live_streams_exceeded'],
    handle: async ({ ctx, headers, scope }) => {
      const token = readSessionCookie(ctx, headers) ?? '';
      const readScope = async () => {
        const operator = await findSession(ctx, token, { active: false });
        return operator && clientsWith(operator, 'support');
      };
      const stream = live.open(token, scope, readScope);
      if (!stream) throw apiError('live_streams_exceeded', undefined, { retry_after_s: 60 });
      return new WithHeaders(stream, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
    },
  });
