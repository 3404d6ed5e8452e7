import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { openLive } from '../../src/dashboard/live.ts';

async function openStreams() {
  const listeners: ((payload: string | undefined) => void)[] = [];
  const listen = async (_channel: string, onNotification: (payload: string | undefined) => void) => {
    listeners.push(onNotification);
  };
  const live = await openLive({ notifications: { listen, notify: () => {} } });
  const opened: (Readable | undefined)[] = [];
  onTestFinished(() => {
    for (const stream of opened) stream?.destroy();
  });
  const open = (session: string) => {
    const stream = live.open(session, async () => true);
    opened.push(stream);
    return stream;
  };
  return { open, announce: () => listeners.map((each) => each(undefined)) };
}

test('a session can have 20 streams, and another one after one has ended', async () => {
  const { open } = await openStreams();
  const streams = Array.from({ length: 20 }, () => open('a'));
  expect(streams.every((stream) => stream !== undefined)).toBe(true);
  expect(open('a')).toBeUndefined();
  expect(open('b')).toBeDefined();
  streams[0]?.destroy();
  await once(streams[0] ?? process, 'close');
  expect(open('a')).toBeDefined();
  expect(open('a')).toBeUndefined();
});

test('a stream that nobody reads is closed before it takes much memory', async () => {
  const { open, announce } = await openStreams();
  const [unread, read] = [open('a'), open('a')];
  read?.resume();
  for (let n = 0; n < 3000 && !unread?.destroyed; n++) {
    announce();
    await new Promise(setImmediate);
  }
  expect([unread?.destroyed, read?.destroyed]).toStrictEqual([true, false]);
});
