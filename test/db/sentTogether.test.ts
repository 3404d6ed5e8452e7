import { Socket } from 'node:net';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { connect, type Sql } from '../../src/platform/db/database.ts';
import { type FreshDatabase, freshDatabase } from '../harness/postgres.ts';

let database: FreshDatabase;
let sql: Sql;
beforeAll(async () => {
  database = await freshDatabase('sent');
  sql = connect(database.address, { max: 1, pipelined: 1 });
});
afterAll(async () => {
  await sql.end();
  await database.drop();
});

/** The sockets that `work` opens. Others of this process belong to services that earlier files have left running. */
async function openedBy(work: () => Promise<unknown>): Promise<ReadonlySet<unknown>> {
  const connects = vi.spyOn(Socket.prototype, 'connect');
  try {
    await work();
    return new Set(connects.mock.contexts);
  } finally {
    connects.mockRestore();
  }
}

/** How often `work` hands something to one of the sockets: each is a system call. */
async function countWrites(sockets: ReadonlySet<unknown>, work: () => Promise<unknown>): Promise<number> {
  const spies = [vi.spyOn(Socket.prototype, '_write'), vi.spyOn(Socket.prototype, '_writev' as never)];
  try {
    await work();
    return spies.flatMap(({ mock }) => mock.contexts).filter((socket) => sockets.has(socket)).length;
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

const values = [1, 2, 3, 4, 5];

test('statements of one turn leave in one system call, also those of a transaction', async () => {
  const select = async (query: Sql) =>
    Promise.all(values.map(async (value) => (await query<{ n: number }[]>`SELECT ${value}::integer AS n`)[0]?.n));
  const read = async () => expect(await select(sql)).toStrictEqual(values);
  const change = () =>
    sql.begin('BEGIN', async (tx) => {
      await Promise.all(values.map((value) => tx`SELECT ${value}::integer`));
      await Promise.all(values.map((value) => tx`SELECT ${value}::bigint`));
    });
  // Opens the connections and prepares the statements.
  const sockets = await openedBy(async () => {
    await read();
    await change();
  });
  expect(await countWrites(sockets, read)).toBe(1);
  // BEGIN with the first five, the others, COMMIT.
  expect(await countWrites(sockets, change)).toBe(3);
});

test('a statement that fails does not hold back the others of its turn', async () => {
  const results = await Promise.allSettled([sql`SELECT 1`, sql`SELECT 1 / 0`, sql`SELECT 2`]);
  expect(results.map(({ status }) => status)).toStrictEqual(['fulfilled', 'rejected', 'fulfilled']);
});
