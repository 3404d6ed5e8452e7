import { afterAll, beforeAll, expect, test } from 'vitest';
import { followed_kinds } from '../../src/model/changes.ts';
import { connect, type Sql, type Tx } from '../../src/platform/db/database.ts';
import { parseDatabaseUrl } from '../../src/platform/db/openServer.ts';
import { figure, timeoutFor } from '../harness/figure.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

/** How many changes several connections make, each of which PostgreSQL serves in its own process: 2.5 per transaction. */
const changes = figure('FEED_CHANGES', 1_000);
const writers = 6;

let fixture: TestSandbox;
const connections: Sql[] = [];
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  await fixture.api.sync();
  for (let n = 0; n < writers; n++) {
    connections.push(connect(parseDatabaseUrl('DATABASE_URL', fixture.env.DATABASE_URL ?? ''), { max: 1 }));
  }
});
afterAll(async () => {
  await Promise.all(connections.map((each) => each.end()));
  await fixture.close();
});

type Change = { kind: string; id: string; op: string; record: unknown };

/** A client that keeps a copy. What it learned since it last stored its cursor is lost when it stops. */
function createReader(limit: number, stops: number) {
  let stored = { cursor: '', copy: new Map<string, unknown>() };
  const readPage = async () => {
    const path = `/v1/changes?limit=${limit}&cursor=${stored.cursor}`;
    const { status, body } = await fixture.api.call('GET', path);
    expect(status, JSON.stringify(body)).toBe(200);
    if (Math.random() < stops) return true;
    const copy = new Map(stored.copy);
    for (const { id, op, record } of body.changes as Change[]) {
      if (op === 'delete') copy.delete(id);
      else copy.set(id, record);
    }
    stored = { cursor: body.next_cursor, copy };
    return body.has_more;
  };
  return { readPage, copy: () => stored.copy };
}

async function readDatabase(): Promise<Map<string, unknown>> {
  const all = new Map<string, unknown>();
  for (const { name } of followed_kinds) {
    const rows = await fixture.owner<{ id: string; doc: unknown }[]>`SELECT id, doc FROM ${fixture.owner(name)}`;
    for (const { id, doc } of rows) all.set(id, doc);
  }
  return all;
}

/** One transaction with up to four random changes, which stays open for a while and may be rolled back. */
async function changeSomething(sql: Sql): Promise<void> {
  const pause = (tx: Tx) => tx`SELECT pg_sleep(${Math.random() < 0.1 ? 0.2 : Math.random() * 0.02})`;
  try {
    await sql.begin(async (tx) => {
      for (let n = Math.ceil(Math.random() * 4); n > 0; n--) {
        const kind = followed_kinds[Math.floor(Math.random() * followed_kinds.length)]?.name ?? 'claims';
        const some = tx`SELECT id FROM ${tx(kind)} ORDER BY random() LIMIT 2 FOR UPDATE SKIP LOCKED`;
        const choice = Math.random();
        if (choice < 0.7) {
          await tx`UPDATE ${tx(kind)} SET doc = (doc::jsonb || jsonb_build_object('note', random()))::json
            WHERE id IN (${some})`;
        } else if (choice < 0.8) await tx`DELETE FROM ${tx(kind)} WHERE id IN (${some})`;
        else {
          await tx`INSERT INTO ${tx(kind)} SELECT (json_populate_record(record, json_build_object(
              'id', uuidv7(), 'ehr_id', random()::text))).* FROM ${tx(kind)} AS record ORDER BY random() LIMIT 1`;
        }
        await pause(tx);
      }
      if (Math.random() < 0.1) throw new Error('rolled back');
    });
  } catch (error) {
    // A conflict between the writers, or the rollback above.
    if (!(error instanceof Error) || !/rolled back|deadlock/.test(error.message)) throw error;
  }
}

test(
  'readers that stop anywhere end with exactly what the database has, while transactions commit out of order',
  async () => {
    const readers = [createReader(7, 0.3), createReader(50, 0.1), createReader(1000, 0)];
    let left = Math.ceil(changes / 2.5);
    const writing = Promise.all(
      connections.map(async (sql) => {
        for (; left > 0; left--) await changeSomething(sql);
      }),
    );
    let written = false;
    const done = writing.then(() => {
      written = true;
    });
    await Promise.all([
      done,
      ...readers.map(async ({ readPage }) => {
        while (!written) await readPage();
      }),
    ]);
    const expected = await readDatabase();
    expect(expected.size).toBeGreaterThan(200);
    for (const { readPage, copy } of readers) {
      // Other transactions of the service may still be in progress.
      await expect
        .poll(
          async () => {
            while (await readPage());
            return [...expected].filter(([id, doc]) => JSON.stringify(copy().get(id)) !== JSON.stringify(doc)).length;
          },
          { timeout: 30_000 },
        )
        .toBe(0);
      expect([...copy().keys()].filter((id) => !expected.has(id))).toStrictEqual([]);
    }
    // A reader that starts now has the same.
    const fresh = createReader(100, 0);
    while (await fresh.readPage());
    expect(new Set(fresh.copy().keys())).toStrictEqual(new Set(expected.keys()));
  },
  timeoutFor(changes, 500),
);
