import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/platform/db/database.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { createNotifications } from '../../src/platform/db/notifications.ts';
import { freshDatabase } from '../harness/postgres.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
let here: Database;
let elsewhere: Database;
beforeAll(async () => {
  database = await freshDatabase('notifications');
  const roles = await migrate(database.address);
  here = openDatabase(roles, 2);
  elsewhere = openDatabase(roles, 2);
});
afterAll(async () => {
  await Promise.all([here?.close(), elsewhere?.close()]);
  await database?.drop();
});

/** The payloads that a listener gets, without the one for its connection. */
async function listenTo(db: Database, channel: 'chartwire_jobs' | 'chartwire_deliveries') {
  const received: string[] = [];
  const notifications = createNotifications(db, () => {});
  await notifications.listen(channel, (payload) => {
    if (payload !== undefined) received.push(payload);
  });
  return { notifications, received };
}

test('a client that sends one write after the other wakes other processes a few times, and once at the end', async () => {
  const { notifications } = await listenTo(here, 'chartwire_jobs');
  const other = await listenTo(elsewhere, 'chartwire_jobs');
  let seen = 0;
  for (let n = 0; n < 100; n++) {
    notifications.notify('chartwire_jobs', 'client');
    seen = other.received.length;
    await pause(2);
  }
  expect(other.received.length).toBeLessThan(30);
  await expect.poll(() => other.received.length > seen).toBe(true);
  // Another client does not wait for this one.
  notifications.notify('chartwire_jobs', 'client');
  notifications.notify('chartwire_jobs', 'another');
  await expect.poll(() => other.received.includes('another')).toBe(true);
});

test('a notification within the process does not reach others', async () => {
  const own = await listenTo(here, 'chartwire_deliveries');
  const other = await listenTo(elsewhere, 'chartwire_deliveries');
  own.notifications.notifyHere('chartwire_deliveries', 'taken here');
  await expect.poll(() => own.received.includes('taken here')).toBe(true);
  own.notifications.notify('chartwire_deliveries', 'for all');
  await expect.poll(() => other.received.includes('for all')).toBe(true);
  expect(other.received).toStrictEqual(['for all']);
});
