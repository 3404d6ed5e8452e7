import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { connect, type Sql, type Tx } from '../../sql/connect.ts';
import { openListener } from '../../sql/listen.ts';
import { reconnectPause } from '../../sql/pipelines.ts';
import { startDatabaseProxy } from '../api/databaseProxy.ts';
import { type FreshDatabase, freshDatabase } from '../harness/postgres.ts';

let database: FreshDatabase;
let owner: Sql;
beforeAll(async () => {
  database = await freshDatabase('lost');
  owner = connect(database.address, { max: 1 });
});
afterAll(async () => {
  await owner.end();
  await database.drop();
});

async function openProxy() {
  const proxy = await startDatabaseProxy();
  onTestFinished(() => proxy.cut());
  return { proxy, address: { ...database.address, host: '127.0.0.1', port: proxy.port } };
}

async function openPool(max: number, pipelined = 0) {
  const { proxy, address } = await openProxy();
  const sql = connect(address, { max, pipelined });
  onTestFinished(() => sql.end({ timeout_ms: 1_000 }).catch(() => {}));
  return { sql, proxy };
}

/** Repeats until a statement succeeds: a refused connection is opened again after a pause. */
async function untilAvailable(sql: Sql): Promise<void> {
  const attempt = () =>
    sql`SELECT 1`.then(
      () => true,
      () => false,
    );
  while (!(await attempt()));
}

const sleepers = () => owner<{ pid: number }[]>`SELECT pid FROM pg_stat_activity
  WHERE state = 'active' AND query LIKE 'SELECT pg_sleep(20)%'`;

/** The server does not notice that their client is gone. */
async function endSleepers(): Promise<void> {
  for (const { pid } of await sleepers()) await owner`SELECT pg_terminate_backend(${pid}, 20000)`;
}

const lost = expect.stringMatching(/^(CONNECTION_CLOSED|ECONNRESET|ECONNREFUSED|EPIPE)$/);

test.each([0, 2])(
  'a cut fails every statement, and afterwards every connection works again (%i pipelined)',
  async (n) => {
    const size = 4;
    const { sql, proxy } = await openPool(size, n);
    for (let round = 0; round < 2; round++) {
      const single = Array.from({ length: 3 * size }, (_, n) => sql`SELECT pg_sleep(20), ${n}::int`);
      const inside = Array.from({ length: size }, (_, n) =>
        // The second waits for its turn within the transaction.
        sql.begin((tx) => Promise.all([tx`SELECT pg_sleep(20), ${n}::int`, tx`SELECT ${n}::int`])),
      );
      const running = Promise.allSettled([...single, ...inside]);
      while ((await sleepers()).length < size);
      await proxy.cut();
      await endSleepers();
      const refused = Promise.allSettled(Array.from({ length: 3 * size }, () => sql`SELECT 1`));
      for (const result of [...(await running), ...(await refused)]) {
        expect(result).toMatchObject({ status: 'rejected', reason: { code: lost } });
      }
      await proxy.restore();
      await untilAvailable(sql);
      // Each waits until all have started: with one connection lost, none of them would finish.
      let started = 0;
      let allStarted = () => {};
      const all = new Promise<void>((resolve) => {
        allStarted = resolve;
      });
      const results = await Promise.all(
        Array.from({ length: size }, (_, n) =>
          sql.begin(async (tx) => {
            if (++started === size) allStarted();
            await all;
            const [row] = await tx<{ n: number }[]>`SELECT ${n}::int AS n`;
            return row?.n;
          }),
        ),
      );
      expect(results).toStrictEqual([0, 1, 2, 3]);
    }
    // Without a timeout: nothing is left to wait for.
    await sql.end();
  },
);

test.each([0, 1])(
  'a write sent while its connection breaks fails or is stored, never both (%i pipelined)',
  async (n) => {
    const { sql, proxy } = await openPool(1, n);
    const table = `written_${n}`;
    await sql`CREATE TABLE ${sql(table)} (n int)`;
    const stored: number[] = [];
    for (let round = 0; round < 20; round++) {
      proxy.reset();
      const written = sql`INSERT INTO ${sql(table)} VALUES (${round})`.then(
        () => stored.push(round),
        (error) => expect(error).toMatchObject({ code: lost }),
      );
      await written;
      await untilAvailable(sql);
    }
    const rows = await sql<{ n: number }[]>`SELECT n FROM ${sql(table)} ORDER BY n`;
    const present = rows.map((row) => row.n);
    expect(present.filter((row) => stored.includes(row))).toStrictEqual(stored);
  },
);

test('a transaction that fails with its connection leaves nothing behind on the next one', async () => {
  const { sql, proxy } = await openPool(1);
  for (let round = 0; round < 2; round++) {
    const running = sql.begin((tx) => tx`SELECT pg_sleep(20)`);
    const failed = expect(running).rejects.toMatchObject({ code: lost });
    while ((await sleepers()).length < 1);
    proxy.reset();
    await failed;
    await endSleepers();
    for (let n = 0; n < 3; n++) expect(await sql`SELECT ${n}::int AS n`).toStrictEqual([{ n }]);
  }
  await sql.end();
});

test('a transaction that lost its connection writes nothing more', async () => {
  const { sql, proxy } = await openPool(1);
  await sql`CREATE TABLE kept (n int)`;
  let late: Promise<unknown> | undefined;
  const work = async (tx: Tx) => {
    await tx`INSERT INTO kept VALUES (${1})`;
    await proxy.cut();
    await proxy.restore();
    late = tx`INSERT INTO kept VALUES (${2})`.then(() => 'written');
    await late;
  };
  await expect(sql.begin(work)).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  await expect(late).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  await untilAvailable(sql);
  expect(await sql`SELECT n FROM kept`).toStrictEqual([]);
});

test('a statement of a transaction that has ended is rejected', async () => {
  const { sql } = await openPool(1);
  const { tx } = await sql.begin(async (tx) => ({ tx }));
  await expect(tx`SELECT 1`).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
});

test('a failed statement fails its transaction even if the caller ignores the error', async () => {
  const { sql } = await openPool(1);
  await sql`CREATE TABLE ignored (n int)`;
  const transaction = sql.begin(async (tx) => {
    await tx`INSERT INTO ignored VALUES (1)`;
    await tx`SELECT 1 / 0`.catch(() => {});
  });
  await expect(transaction).rejects.toMatchObject({ code: '22012' });
  expect(await sql`SELECT n FROM ignored`).toStrictEqual([]);
});

test('ending the pool while the server is away rejects waiting statements', async () => {
  const { sql, proxy } = await openPool(2, 1);
  await sql`SELECT 1`;
  await proxy.cut();
  const waiting = Promise.allSettled(Array.from({ length: 6 }, () => sql`SELECT 1`));
  await new Promise((resolve) => setImmediate(resolve));
  await sql.end();
  for (const result of await waiting) expect(result.status).toBe('rejected');
});

test('ending the pool rejects statements that wait for a connection, and lets transactions finish', async () => {
  const { sql } = await openPool(1);
  let started = () => {};
  let finish = () => {};
  const running = new Promise<void>((resolve) => {
    started = resolve;
  });
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const transaction = sql.begin(async (tx) => {
    started();
    await finished;
    return tx`SELECT 1 AS n`;
  });
  await running;
  const waiting = expect(sql`SELECT 1`).rejects.toMatchObject({ code: 'CONNECTION_ENDED' });
  await new Promise((resolve) => setImmediate(resolve));
  const end_result = sql.end();
  finish();
  await Promise.all([end_result, waiting]);
  expect(await transaction).toStrictEqual([{ n: 1 }]);
  await expect(sql`SELECT 1`).rejects.toMatchObject({ code: 'CONNECTION_ENDED' });
});

test('a slow statement on a pipelined connection holds up no later ones', async () => {
  const { sql } = await openPool(2, 1);
  await sql`SELECT 1`;
  let slow_is_running = true;
  const slow = sql`SELECT pg_sleep(20)`
    .catch(() => 'ended')
    .finally(() => {
      slow_is_running = false;
    });
  while ((await sleepers()).length < 1);
  // A connection counts as held up after 20 ms.
  await owner`SELECT pg_sleep(0.05)`;
  await sql`SELECT 1`;
  expect(slow_is_running).toBe(true);
  await endSleepers();
  expect(await slow).toBe('ended');
});

test('a lost listener listens to every channel again, once, and reports that notifications may have been missed', async () => {
  const { proxy, address } = await openProxy();
  const listener = openListener(address, 'test');
  onTestFinished(() => listener.end());
  const channels = ['one', 'two', 'three'];
  const missed = new Map<string, number>();
  const received: string[] = [];
  for (const channel of channels) {
    await listener.listen(channel, (payload) => {
      if (payload === undefined) missed.set(channel, (missed.get(channel) ?? 0) + 1);
      else received.push(`${channel} ${payload}`);
    });
  }
  expect([...missed.values()]).toStrictEqual([1, 1, 1]);
  await proxy.cut();
  // A server that closes every connection, as a proxy without a server behind it does.
  let refused = 0;
  const broken = createServer((socket) => {
    refused += 1;
    socket.destroy();
  }).listen(proxy.port, '127.0.0.1');
  await expect.poll(() => refused).toBeGreaterThan(3);
  broken.close();
  await once(broken, 'close');
  await proxy.restore();
  await expect.poll(() => [...missed.values()]).toStrictEqual([2, 2, 2]);
  for (const channel of channels) await owner`SELECT pg_notify(${channel}, 'again')`;
  await expect.poll(() => received.sort()).toStrictEqual(['one again', 'three again', 'two again']);
  expect([...missed.values()]).toStrictEqual([2, 2, 2]);
});

test('the pause before a connection is opened again does not grow', () => {
  for (let n = 0; n < 100; n++) expect(reconnectPause()).toBeLessThanOrEqual(300);
});
