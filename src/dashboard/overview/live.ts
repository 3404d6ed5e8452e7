import { PassThrough, type Readable } from 'node:stream';
import type { Context } from '../../context.ts';

/** What a page that looks on may want to fetch anew. */
const live_topics = ['jobs', 'events', 'accounts'] as const;
type LiveTopic = (typeof live_topics)[number];

/** Tells pages that something they show has changed: what, they fetch themselves. */
export type Live = {
  /** A stream of server-sent events; it ends when `still` says no, which is asked every half minute. */
  open(still: () => Promise<boolean>): Readable;
  close(): void;
};

/** Proxies cut a stream on which nothing comes for a minute; the session is looked at as often. */
const beat_ms = 25_000;

/** Changes are told by the bells that processes ring for each other, so every process's pages see all of them. */
export async function openLive(ctx: Context): Promise<Live> {
  const streams = new Set<PassThrough>();
  const tell = (topic: LiveTopic) => {
    for (const stream of streams) stream.write(`event: changed\ndata: ${topic}\n\n`);
  };
  await ctx.notifications.listen('chartwire_live', (word) => {
    for (const topic of live_topics) if (word === undefined || word === topic) tell(topic);
  });
  await ctx.notifications.listen('chartwire_jobs', () => tell('jobs'));
  await ctx.notifications.listen('chartwire_deliveries', () => tell('events'));
  await ctx.notifications.listen('chartwire_access', () => tell('accounts'));
  return {
    open: (still) => {
      const stream = new PassThrough();
      streams.add(stream);
      const beat = setInterval(async () => {
        if (await still().catch(() => false)) stream.write(': still here\n\n');
        else stream.end('event: over\ndata: session\n\n');
      }, beat_ms);
      stream.on('close', () => {
        clearInterval(beat);
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
