import { PassThrough, type Readable } from 'node:stream';
import { Type } from 'typebox';
import { findSession } from '../clients/operatorSessions.ts';
import type { Context } from '../context.ts';
import { readSessionCookie } from '../http/authenticateOperator.ts';
import { type Endpoint, endpoint, WithHeaders } from '../http/endpoint.ts';

const live_topics = ['jobs', 'events', 'accounts'] as const;
type LiveTopic = (typeof live_topics)[number];

/** Tells open dashboard pages which topic has changed; they fetch the data themselves. */
export type Live = {
  /** Opens a stream of server-sent events. It ends when `isAllowed`, called every 25 s, returns false. */
  open(isAllowed: () => Promise<boolean>): Readable;
  close(): void;
};

/** Proxies close a stream that is silent for a minute. The session is checked at the same interval. */
const heartbeat_ms = 25_000;

/** Listens to the notifications between processes, so that a page sees changes made by any process. */
export async function openLive(ctx: Context): Promise<Live> {
  const streams = new Set<PassThrough>();
  const announce = (topic: LiveTopic) => {
    for (const stream of streams) stream.write(`event: changed\ndata: ${topic}\n\n`);
  };
  await ctx.notifications.listen('chartwire_live', (payload) => {
    for (const topic of live_topics) if (payload === undefined || payload === topic) announce(topic);
  });
  await ctx.notifications.listen('chartwire_jobs', () => announce('jobs'));
  await ctx.notifications.listen('chartwire_deliveries', () => announce('events'));
  await ctx.notifications.listen('chartwire_access', () => announce('accounts'));
  return {
    open: (isAllowed) => {
      const stream = new PassThrough();
      streams.add(stream);
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
    close: () => {
      for (const stream of streams) stream.end();
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
    // A browser reopens the stream by itself and cannot send the x-background header.
    background: true,
    // The stream says that something has changed, not what.
    audited: false,
    summary: 'Stream change notifications',
    response: Type.String(),
    handle: async ({ ctx, headers }) => {
      const token = readSessionCookie(headers) ?? '';
      const stream = live.open(async () => (await findSession(ctx, token, { active: false })) !== undefined);
      return new WithHeaders(stream, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
    },
  });
