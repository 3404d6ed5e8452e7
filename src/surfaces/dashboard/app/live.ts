import { PassThrough, type Readable } from 'node:stream';
import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { readSessionCookie } from '../../../http/auth/authenticateOperator.ts';
import { type Endpoint, endpoint, WithHeaders } from '../../../http/endpoint.ts';
import type { ClientScope } from '../../../platform/db/fragments.ts';
import type { Context } from '../../../product/context.ts';
import { findCheckedSession } from '../../../product/operators/checkedSessions.ts';
import { clientsWith } from '../../../product/operators/operatorAccess.ts';

const live_topics = ['jobs', 'events', 'accounts'] as const;
type LiveTopic = (typeof live_topics)[number];

/** Tells open dashboard pages which topic has changed; they fetch the data themselves. */
export type Live = {
  /**
   * Opens a stream of server-sent events for a session, about changes at the clients in its scope. Returns undefined if
   * the session has too many streams.
   */
  open(viewer: Viewer): Readable | undefined;
};

/** `readScope` is called when the operator's access has changed, and every 25 s; undefined ends the stream. */
export type Viewer = {
  session: string;
  operator_id: string;
  scope: ClientScope;
  readScope: () => Promise<ClientScope | undefined>;
};

/** A change at a client; undefined: at any client, because a notification may have been missed. */
type Change = { topic: LiveTopic; client_id: string | undefined };

/** One per open tab. */
const streams_per_session_max = 20;

/** About 2,000 changes. A page that has not read this much is gone, or hostile. */
const unread_bytes_max = 65_536;

/** Proxies close a stream that is silent for a minute. The session is checked at the same interval. */
const heartbeat_ms = 25_000;

/** Listens to the notifications between processes, so that a page sees changes made by any process. */
export async function startLive(ctx: Pick<Context, 'notifications'>): Promise<Live> {
  const streams = new Map<PassThrough, LiveStream>();
  const announce = (change: Change) => {
    for (const stream of streams.values()) stream.announce(change);
  };
  await ctx.notifications.listen('chartwire_live', (payload) => {
    const [changed, client_id] = payload?.split(' ') ?? [];
    for (const topic of live_topics) if (payload === undefined || changed === topic) announce({ topic, client_id });
  });
  await ctx.notifications.listen('chartwire_jobs', (client_id) => announce({ topic: 'jobs', client_id }));
  await ctx.notifications.listen('chartwire_deliveries', (client_id) => announce({ topic: 'events', client_id }));
  await ctx.notifications.listen('chartwire_access', (client_id) => announce({ topic: 'accounts', client_id }));
  await ctx.notifications.listen('chartwire_operators', (operator_id) => {
    for (const stream of streams.values()) {
      if (operator_id === undefined || stream.viewer.operator_id === operator_id) void stream.check();
    }
  });
  return {
    open: (viewer) => {
      const open = [...streams.values()].filter((each) => each.viewer.session === viewer.session).length;
      if (open >= streams_per_session_max) return undefined;
      const stream = new PassThrough();
      const live_stream = openStream(stream, viewer);
      streams.set(stream, live_stream);
      const heartbeat = setInterval(async () => {
        if (await live_stream.check()) stream.write(': heartbeat\n\n');
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

type LiveStream = {
  viewer: Viewer;
  announce(change: Change): void;
  /** Reads the operator's access again. Returns false if the stream has ended. */
  check(): Promise<boolean>;
};

/** Changes that arrive during a check are announced after it, to the scope that it found. */
function openStream(stream: PassThrough, viewer: Viewer): LiveStream {
  let { scope } = viewer;
  let checks = 0;
  const delayed: Change[] = [];
  const announce = (change: Change) => {
    const { topic, client_id } = change;
    if (checks > 0) {
      // The same change twice says no more than once.
      if (!delayed.some((each) => each.topic === topic && each.client_id === client_id)) delayed.push(change);
    } else if (client_id === undefined || scope === 'all' || scope.includes(client_id)) {
      if (stream.readableLength + stream.writableLength > unread_bytes_max) stream.destroy();
      else stream.write(`event: changed\ndata: ${topic}\n\n`);
    }
  };
  const check = async () => {
    checks += 1;
    const current = await viewer.readScope().catch(() => undefined);
    checks -= 1;
    if (stream.writableEnded || stream.destroyed) return false;
    if (current === undefined) {
      stream.end('event: over\ndata: session\n\n');
      return false;
    }
    scope = current;
    if (checks === 0) for (const change of delayed.splice(0)) announce(change);
    return true;
  };
  return { viewer, announce: (change) => (stream.writableEnded ? undefined : announce(change)), check };
}

export const liveGet = (live: Live): Endpoint =>
  endpoint({
    id: 'dashboard.live.get',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/live',
    head: false,
    auth: 'operator',
    // It says what has changed, not how, and only for the operator's clients.
    reach: 'own',
    // A browser reopens the stream by itself and cannot send the x-background header.
    background: true,
    audited: false,
    summary: 'Stream change notifications',
    response: Type.String(),
    errors: ['live_streams_exceeded'],
    handle: async ({ ctx, headers, operator, scope }) => {
      const token = readSessionCookie(ctx, headers) ?? '';
      const readScope = async () => {
        const operator = await findCheckedSession(ctx, token, { active: false });
        return operator && clientsWith(operator, 'support');
      };
      const stream = live.open({ session: token, operator_id: operator.id, scope, readScope });
      if (!stream) throw apiError('live_streams_exceeded', undefined, { retry_after_s: 60 });
      return new WithHeaders(stream, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
    },
  });
