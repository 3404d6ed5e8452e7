import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import { type Database, openDatabase } from '../../src/platform/db/database.ts';
import { parseDatabaseUrl } from '../../src/platform/db/openServer.ts';
import { roleAddresses } from '../../src/platform/db/roles.ts';
import { loadKeys } from '../../src/platform/security/keys.ts';
import { evaluateAlerts } from '../../src/product/alerts/evaluateAlerts.ts';
import { spawnSandbox } from '../harness/sandbox.ts';
import { type MailServer, startMailServer } from '../harness/servers/mailServer.ts';
import { channelSettings } from './fixture.ts';

let fixture: Awaited<ReturnType<typeof spawnSandbox>>;
let db: Database;
let mail: MailServer;
beforeAll(async () => {
  mail = await startMailServer();
  fixture = await spawnSandbox({ small: true, env: channelSettings({ smtp_url: mail.url }) });
  db = openDatabase(roleAddresses(parseDatabaseUrl('DATABASE_URL', fixture.env.DATABASE_URL ?? '')), 2);
});
afterAll(async () => {
  await db.close();
  await fixture.close();
  await mail.close();
});

const message = async () =>
  (await fixture.owner`SELECT attempts, sent_at IS NOT NULL AS sent FROM alert_messages ORDER BY created_at`)[0] ?? {};

test('a process that is killed after the email arrived, but before it is recorded, leaves it to another one', async () => {
  await fixture.owner`UPDATE accounts SET status = 'login_required'`;
  const config = loadConfig(fixture.env);
  const { system_keys } = await loadKeys(config, db.system, { print: () => {}, record: async () => {} });
  const ctx = { config, db, system_keys };
  await evaluateAlerts(ctx, new Date(Date.now() - 120_000));
  await evaluateAlerts(ctx);
  expect(await message()).toStrictEqual({ attempts: 0, sent: false });

  mail.behavior = 'hang';
  const killed = await fixture.start('worker');
  await expect.poll(() => mail.received.length, { timeout: 60_000 }).toBe(1);
  await killed.stop('SIGKILL');
  expect(await message()).toStrictEqual({ attempts: 1, sent: false });

  mail.behavior = 'accept';
  // No other process sends it before the time of the killed one is over.
  await fixture.owner`UPDATE alert_messages SET ready_at = now()`;
  await fixture.start('worker');
  await expect.poll(message, { timeout: 60_000 }).toStrictEqual({ attempts: 2, sent: true });
  const ids = mail.received.map(({ headers }) => headers['message-id']);
  expect(ids).toStrictEqual([ids[0], ids[0]]);
  // If the run is slow, there may be alerts about other things.
  expect(await fixture.owner`SELECT FROM alerts WHERE code = 'account_login_required'`).toHaveLength(1);
});
