import { once } from 'node:events';
import { createServer, connect as openSocket } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { connect } from '../../sql/connect.ts';
import { openListener } from '../../sql/listen.ts';
import { freshDatabase, onDatabase } from '../harness/postgres.ts';

const pools = [
  ['the pool', 0],
  ['pipelined connections', 1],
] as const;

async function openFresh() {
  const database = await freshDatabase('standby');
  onTestFinished(() => database.drop());
  return database;
}

test.each(pools)('%s: a connection that turned read-only is replaced', async (_name, pipelined) => {
  const { address, name } = await openFresh();
  await onDatabase(address, (sql) => sql`CREATE TABLE written (n int)`);
  // As a demoted primary does: it accepts connections and reads, and refuses writes.
  await onDatabase(address, (sql) => sql.unsafe(`ALTER DATABASE ${name} SET default_transaction_read_only = on`));
  const sql = connect(address, { max: 1, pipelined });
  onTestFinished(() => sql.end({ timeout_ms: 1_000 }));
  const write = () => sql`INSERT INTO written VALUES (1)`;
  const writeInTransaction = () => sql.begin((tx) => tx`INSERT INTO written VALUES (2)`);
  for (const attempt of [write, writeInTransaction]) {
    await expect(attempt()).rejects.toMatchObject({ code: '25006' });
  }
  await onDatabase({ ...address, database: 'postgres' }, (owner) =>
    owner.unsafe(`ALTER DATABASE ${name} RESET default_transaction_read_only`),
  );
  for (const attempt of [write, writeInTransaction]) await attempt();
  expect(await sql`SELECT n FROM written ORDER BY n`).toStrictEqual([{ n: 1 }, { n: 2 }]);
});

/** A proxy whose server reports that it is a standby until `promote` is called. */
async function startStandby(host: string, port: number) {
  let standby = true;
  const server = createServer((client) => {
    const upstream = openSocket(join(host, `.s.PGSQL.${port}`));
    client.pipe(upstream);
    upstream.on('data', (chunk) => client.write(standby ? asStandby(chunk) : chunk));
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => {});
      one.on('close', () => other.destroy());
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.');
  const promote = () => {
    standby = false;
  };
  return { port: address.port, promote };
}

/** Replaces the ParameterStatus message `in_hot_standby = off` by `on`. */
function asStandby(chunk: Buffer): Buffer {
  const message = (value: string) => {
    const body = `in_hot_standby\0${value}\0`;
    const head = Buffer.from('S\0\0\0\0');
    head.writeInt32BE(4 + body.length, 1);
    return Buffer.concat([head, Buffer.from(body)]);
  };
  const at = chunk.indexOf(message('off'));
  if (at < 0) return chunk;
  return Buffer.concat([chunk.subarray(0, at), message('on'), chunk.subarray(at + message('off').length)]);
}

test.each(pools)('%s: a server that reports to be a standby is not used', async (_name, pipelined) => {
  const { address } = await openFresh();
  const standby = await startStandby(address.host, address.port);
  const there = { ...address, host: '127.0.0.1', port: standby.port };
  const sql = connect(there, { max: 1, pipelined });
  onTestFinished(() => sql.end({ timeout_ms: 1_000 }));
  await expect(sql`SELECT 1 AS n`).rejects.toMatchObject({ code: 'CONNECTION_TO_STANDBY' });
  await expect(sql.begin((tx) => tx`SELECT 1`)).rejects.toMatchObject({ code: 'CONNECTION_TO_STANDBY' });
  const listener = openListener(there, 'test');
  onTestFinished(() => listener.end());
  await expect(listener.listen('any', () => {})).rejects.toMatchObject({ code: 'CONNECTION_TO_STANDBY' });
  standby.promote();
  await expect.poll(() => sql`SELECT 1 AS n`.catch(() => [])).toStrictEqual([{ n: 1 }]);
  expect(await sql.begin((tx) => tx`SELECT 2 AS n`)).toStrictEqual([{ n: 2 }]);
});
