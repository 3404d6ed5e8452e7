import { PassThrough, type Readable } from 'node:stream';
import { Type } from 'typebox';
import type { Context } from '../context.ts';
import { apiError } from '../errors.ts';
import { readSessionCookie } from '../http/authenticateOperator.ts';
import { type Endpoint, endpoint, WithHeaders } from '../http/endpoint.ts';
import { findSession } from '../operators/operatorSessions.ts';

const live_topics = ['jobs', 'events', 'accounts'] as const;
type LiveTopic = (typeof live_topics)[number];

/** Tells open dashboard pages which topic has changed; they fetch the data themselves. */
export type Live = {
  /**
   * Opens a stream of server-sent events for a session. It ends when `isAllowed`, called every 25 s, returns false.
   * Returns undefined if the session has too many.
   */
  open(session: string, isAllowed: () => Promise<boolean>): Readable | undefined;
};

/** One per open tab. */
const streams_per_session_max = 20;

/** A page that reads nothing for so long is gone, or means harm. About 2,000 changes. */
const unread_bytes_max = 65_536;

/** Proxies close a stream that is silent for a minute. The session is checked at the same interval. */
const heartbeat_ms = 25_000;

/** Listens to the notifications between processes, so that a page sees changes made by any process. */
export async function openLive(ctx: Pick<Context, 'notifications'>): Promise<Live> {
  const streams = new Map<PassThrough, string>();
  const announce = (topic: LiveTopic) => {
    for (const stream of streams.keys()) {
      if (stream.readableLength + stream.writableLength > unread_bytes_max) stream.destroy();
      else stream.write(`event: changed\ndata: ${topic}\n\n`);
    }
  };
  await ctx.notifications.listen('chartwire_live', (payload) => {
    for (const topic of live_topics) if (payload === undefined || payload === topic) announce(topic);
  });
  await ctx.notifications.listen('chartwire_jobs', () => announce('jobs'));
  await ctx.notifications.listen('chartwire_deliveries', () => announce('events'));
  await ctx.notifications.listen('chartwire_access', () => announce('accounts'));
  return {
    open: (session, isAllowed) => {
      if ([...streams.values()].filter((each) => each === session).length >= streams_per_session_max) return undefined;
      const stream = new PassThrough();
      streams.set(stream, session);
      const heartbeat = setInterval(async () => {
        if (await isAllowed().catch(() => false)) stream.write(': heartbeat\n\n');
        else stream.end('event: over\ndata: session\n\n');
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
    // It says that something has changed, not what or whose.
    reach: 'own',
    // A browser reopens the stream by itself and cannot send the x-background header.
    background: true,
    audited: false,
    summary: 'Stream change notifications',
    response: Type.String(),
    errors: ['live_streams_exceeded'],
    handle: async ({ ctx, headers }) => {
      const token = readSessionCookie(ctx, headers) ?? '';
      const isAllowed = async () => (await findSession(ctx, token, { active: false })) !== undefined;
      const stream = live.open(token, isAllowed);
      if (!stream) throw apiError('live_streams_exceeded', undefined, { retry_after_s: 60 });
      return new WithHeaders(stream, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
    },
  });
