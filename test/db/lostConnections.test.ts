import { once } from 'node:events';
import { createServer, connect as openSocket } from 'node:net';
import postgres from 'postgres';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { connect, reconnectPause, type Sql } from '../../src/db/database.ts';
import { startDatabaseProxy } from '../api/databaseProxy.ts';
import { type FreshDatabase, freshDatabase } from '../harness/postgres.ts';

// The driver as it is mended (src/db/driverFaults.ts), on a way to the server that is cut and mended.
let database: FreshDatabase;
let owner: Sql;
beforeAll(async () => {
  database = await freshDatabase('lost');
  owner = connect({ ...database.options, ssl: false }, { max: 1 });
});
afterAll(async () => {
  await owner.end();
  await database.drop();
});

async function openPool(max: number) {
  const proxy = await startDatabaseProxy();
  const { user, password, database: name } = database.options;
  const address = { host: '127.0.0.1', port: proxy.port, user, password, database: name, ssl: false as const };
  const sql = connect(address, { max });
  onTestFinished(async () => {
    await sql.end({ timeout: 1 });
    await proxy.cut();
  });
  return { sql, proxy };
}

/** Asks until there is an answer: a connection is opened again a moment after it was refused. */
async function untilAnswered(sql: Sql): Promise<void> {
  const ask = () =>
    sql`SELECT 1`.then(
      () => true,
      () => false,
    );
  while (!(await ask()));
}

const atWork = () => owner<{ pid: number }[]>`SELECT pid FROM pg_stat_activity
  WHERE state = 'active' AND query LIKE 'SELECT pg_sleep(20)%'`;

/** They sleep on, not knowing that nobody waits for them. */
async function endSleepers(): Promise<void> {
  for (const { pid } of await atWork()) await owner`SELECT pg_terminate_backend(${pid}, 20000)`;
}

test('when the way is cut every question is answered, and afterwards every connection serves again', async () => {
  const size = 4;
  const { sql, proxy } = await openPool(size);
  for (let round = 0; round < 2; round++) {
    const plain = Array.from({ length: 3 * size }, (_, n) => sql`SELECT pg_sleep(20), ${n}::int`);
    const inside = Array.from({ length: size }, (_, n) =>
      // The second waits for its turn within the transaction.
      sql.begin((tx) => Promise.all([tx`SELECT pg_sleep(20), ${n}::int`, tx`SELECT ${n}::int`])),
    );
    const asked = Promise.allSettled([...plain, ...inside]);
    while ((await atWork()).length < size);
    await proxy.cut();
    // They sleep on, not knowing that nobody waits for them.
    for (const { pid } of await atWork()) await owner`SELECT pg_terminate_backend(${pid}, 20000)`;
    // More failures than the pool has connections: the driver's own pause would be at its 20 s.
    const refused = Promise.allSettled(Array.from({ length: 3 * size }, () => sql`SELECT 1`));
    for (const end of [...(await asked), ...(await refused)]) expect(end.status).toBe('rejected');
    await proxy.mend();
    await untilAnswered(sql);
    // Each waits for all the others to have begun: with one connection lost, none of them would end.
    let begun = 0;
    let allBegun = () => {};
    const all = new Promise<void>((resolve) => {
      allBegun = resolve;
    });
    const answers = await Promise.all(
      Array.from({ length: size }, (_, n) =>
        sql.begin(async (tx) => {
          if (++begun === size) allBegun();
          await all;
          const [row] = await tx<{ n: number }[]>`SELECT ${n}::int AS n`;
          return row?.n;
        }),
      ),
    );
    expect(answers).toStrictEqual([0, 1, 2, 3]);
  }
  // Without a timeout: nothing is left that it would have to wait for.
  await sql.end();
});

test('a write asked between the error of a connection and its close is refused, never told as done', async () => {
  const proxy = await startDatabaseProxy();
  const { user, password, database: name } = database.options;
  let ask = (_told: string) => {};
  const told = new Promise<string>((resolve) => {
    ask = resolve;
  });
  const socket = async () => {
    const opened = openSocket(proxy.port, '127.0.0.1');
    await once(opened, 'connect');
    opened.once('error', () => {
      sql`INSERT INTO written VALUES (1)`.then(
        () => ask('done'),
        (error) => ask(error.code),
      );
    });
    return opened;
  };
  // The option is not in the driver's types; the driver asks it for every socket it opens.
  const options = { user, password, database: name, max: 1, backoff: reconnectPause, socket };
  const sql = postgres(options as postgres.Options<Record<string, never>>) as unknown as Sql;
  await sql`CREATE TABLE written (n int)`;
  proxy.reset();
  // The greeting of the next session was once taken for the answer: it takes a second question to open one.
  await untilAnswered(sql);
  expect(await told).toBe('CONNECTION_CLOSED');
  expect([...(await sql`SELECT n FROM written`)]).toStrictEqual([]);
  await sql.end();
  await proxy.cut();
});

test('a transaction that asks for its end between the error of its connection and the close leaves nothing behind', async () => {
  const { sql, proxy } = await openPool(1);
  for (let round = 0; round < 2; round++) {
    const asked = sql.begin((tx) => tx`SELECT pg_sleep(20)`);
    while ((await atWork()).length < 1);
    proxy.reset();
    await expect(asked).rejects.toThrow();
    await endSleepers();
    for (let n = 0; n < 3; n++) expect([...(await sql`SELECT ${n}::int AS n`)]).toStrictEqual([{ n }]);
  }
  await sql.end();
});

test('a transaction that lost its connection writes nothing more, though the connection is open again', async () => {
  const { sql, proxy } = await openPool(1);
  await sql`CREATE TABLE kept (n int)`;
  let late: Promise<unknown> | undefined;
  const work = async (tx: Parameters<Parameters<typeof sql.begin>[1]>[0]) => {
    await tx`INSERT INTO kept VALUES (${1})`;
    await proxy.cut();
    await proxy.mend();
    await untilAnswered(sql);
    late = tx`INSERT INTO kept VALUES (${2})`.then(() => 'written');
    await late;
  };
  let worked: Promise<void> | undefined;
  const transaction = sql.begin((tx) => {
    worked = work(tx);
    return worked;
  });
  await expect(transaction).rejects.toThrow();
  await expect(worked).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  await expect(late).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  expect([...(await sql`SELECT n FROM kept`)]).toStrictEqual([]);
});

test('a pool is ended while the server is away, and whoever waits is told', async () => {
  const { sql, proxy } = await openPool(2);
  await sql`SELECT 1`;
  await proxy.cut();
  const asked = Promise.allSettled(Array.from({ length: 6 }, () => sql`SELECT 1`));
  // A question is handed to the pool a moment after it is asked.
  await new Promise((resolve) => setImmediate(resolve));
  await sql.end();
  for (const end of await asked) expect(end.status).toBe('rejected');
});

test('a pool that is ended opens no connection again for whoever still waits', async () => {
  const { sql } = await openPool(1);
  let begun = () => {};
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const free = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const holder = sql.begin(async () => {
    begun();
    await free;
  });
  await held;
  const waiting = expect(sql`SELECT 1`).rejects.toMatchObject({ code: 'CONNECTION_ENDED' });
  await new Promise((resolve) => setImmediate(resolve));
  const ended = sql.end();
  letGo();
  await Promise.all([holder, ended, waiting]);
});

test('every channel is listened to again once, however often that failed', async () => {
  const { sql, proxy } = await openPool(1);
  const channels = ['one', 'two', 'three'];
  const listened = new Map<string, number>();
  const heard = new Set<string>();
  for (const channel of channels) {
    await sql.listen(
      channel,
      () => heard.add(channel),
      () => listened.set(channel, (listened.get(channel) ?? 0) + 1),
    );
  }
  await proxy.cut();
  // A server that hangs up on everybody, as a proxy without a server behind it.
  let refused = 0;
  const surly = createServer((socket) => {
    refused += 1;
    socket.destroy();
  }).listen(proxy.port, '127.0.0.1');
  await expect.poll(() => refused).toBeGreaterThan(6);
  surly.close();
  await once(surly, 'close');
  await proxy.mend();
  await untilAnswered(sql);
  await expect.poll(() => [...listened.values()]).toStrictEqual([2, 2, 2]);
  for (const channel of channels) await sql`SELECT pg_notify(${channel}, '')`;
  await expect.poll(() => heard.size).toBe(3);
  expect([...listened.values()]).toStrictEqual([2, 2, 2]);
});

test('the pause before a connection is opened again does not grow', () => {
  for (let n = 0; n < 100; n++) expect(reconnectPause()).toBeLessThanOrEqual(0.3);
});
