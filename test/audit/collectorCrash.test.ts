import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../scripts/freePort.ts';
import { runCommand, spawnSandbox } from '../harness/sandbox.ts';
import { test_authority } from '../harness/servers/certificates.ts';
import { type SyslogServer, startSyslogServer } from '../harness/servers/syslogServer.ts';
import { until } from '../journeys/support.ts';

let fixture: Awaited<ReturnType<typeof spawnSandbox>>;
let env: Record<string, string>;
let port: number;
const servers: SyslogServer[] = [];
beforeAll(async () => {
  fixture = await spawnSandbox({ small: true });
  port = await freePort();
  const ca_file = join(fixture.env.DATA_DIR ?? '', 'collector-ca.pem');
  await writeFile(ca_file, test_authority);
  env = { AUDIT_COLLECTOR_URL: `syslog+tls://localhost:${port}`, AUDIT_COLLECTOR_CA_FILE: ca_file, LEASE_SECONDS: '2' };
});
afterAll(async () => {
  await fixture.close();
  await Promise.all(servers.map((server) => server.close()));
});

const startCollector = async () => {
  const server = await startSyslogServer({ port });
  servers.push(server);
  return server;
};
const position = async () => (await fixture.owner`SELECT position FROM audit_collector`)[0]?.position as number;
const readPositions = async () =>
  (await Promise.all(servers.map((server) => server.messages())))
    .flat()
    .map((message): number => JSON.parse(message.slice(message.indexOf('\uFEFF') + 1)).position);

const doctor = async () => {
  const { stdout } = await runCommand(['doctor', '--json'], { ...fixture.env, ...env });
  return JSON.parse(stdout).checks.find(({ name }: { name: string }) => name === 'collector');
};

test('after an outage of the collector and a kill of the service, the collector has every record', async () => {
  const first = await startCollector();
  const killed = await fixture.start('all', env);
  const { api } = await fixture.read();
  const readPatients = async (count: number) => {
    for (let n = 0; n < count; n++) expect((await api.call('GET', '/v1/patients')).status).toBe(200);
  };
  await readPatients(20);
  await until('the first records', async () => (await first.messages()).length >= 20);
  expect(await doctor()).toMatchObject({ status: 'ok', message: expect.stringContaining('accepts connections') });

  await first.close();
  await readPatients(20);
  await until('a failed attempt', async () => {
    const [row] = await fixture.owner`SELECT failure FROM audit_collector`;
    return row?.failure;
  });
  expect(await doctor()).toMatchObject({
    status: 'problem',
    message: expect.stringContaining('refused the connection'),
  });
  await killed.stop('SIGKILL');

  await startCollector();
  await fixture.start('all', env);
  await readPatients(5);
  await until('everything to be sent', async () => {
    const [head] = await fixture.owner<{ position: number }[]>`SELECT position FROM audit_head`;
    return head && head.position >= 45 && (await position()) === head.position;
  });
  const positions = await readPositions();
  const last = Math.max(...positions);
  expect([...new Set(positions)].sort((a, b) => a - b)).toStrictEqual(Array.from({ length: last }, (_, n) => n + 1));
  expect(last).toBe(await position());
});
