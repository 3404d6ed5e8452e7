import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../scripts/freePort.ts';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import { createLog } from '../../src/platform/telemetry/log.ts';
import { createMetrics } from '../../src/platform/telemetry/metrics.ts';
import { openForwarding, readBacklog } from '../../src/product/audit/collector.ts';
import { exportChain, verifyExport } from '../../src/product/audit/exports.ts';
import { openAudit } from '../../src/product/audit/openAudit.ts';
import { createHead, sealAudit } from '../../src/product/audit/seals.ts';
import type { AuditEntry } from '../../src/product/context.ts';
import { measureQueues } from '../../src/product/jobs/queueDepth.ts';
import { test_authority, test_certificate } from '../harness/servers/certificates.ts';
import { type Received, type Responder, respondWith, startReceiver } from '../harness/servers/receiver.ts';
import { findRsyslog, startRsyslog, startSyslogServer } from '../harness/servers/syslogServer.ts';
import { until } from '../journeys/support.ts';
import { createTrail, type TrailFixture } from './fixture.ts';

let fixture: TrailFixture;
let folder: string;
beforeAll(async () => {
  fixture = await createTrail();
  folder = await mkdtemp(join(process.env.CHARTWIRE_TEST_ROOT ?? tmpdir(), 'collector-'));
  await writeFile(join(folder, 'ca.pem'), test_authority);
  await writeFile(join(folder, 'cert.pem'), test_certificate.cert);
  await writeFile(join(folder, 'key.pem'), test_certificate.key);
});
afterAll(async () => {
  await fixture.close();
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  await fixture.owner`TRUNCATE audit_records, audit_head, audit_collector`;
  await fixture.owner`INSERT INTO audit_collector DEFAULT VALUES`;
  await fixture.ctx.audit.close();
  fixture.ctx.audit = await openAudit(fixture.ctx.db, fixture.ctx.system_keys);
});

const lease_ms = 15_000;
const syslog_settings = (port: number) => ({
  AUDIT_COLLECTOR_URL: `syslog+tls://localhost:${port}`,
  AUDIT_COLLECTOR_CA_FILE: join(folder, 'ca.pem'),
});

/** A process that forwards the audit log. `send` does what its worker does when it finds work; false if it finds none. */
async function startProcess(env: Record<string, string>) {
  const lines: string[] = [];
  const ctx = {
    ...fixture.ctx,
    config: loadConfig(env),
    base_url: 'https://chartwire.example.org',
    log: createLog('info', { write: (line) => void lines.push(line) }),
    metrics: createMetrics(),
  };
  const forwarding = await openForwarding(ctx, { owner: 'test', lease_ms });
  if (!forwarding) throw new Error('No collector is configured.');
  onTestFinished(forwarding.close);
  const send = async (signal = new AbortController().signal) => {
    const [lease] = await forwarding.claim(1);
    if (lease) await forwarding.run(lease, signal);
    return lease !== undefined;
  };
  return { ctx, lines, forwarding, send };
}

async function addRecords(count: number, entry: Partial<AuditEntry> = {}): Promise<void> {
  const basis = {
    client_id: null,
    actor_kind: 'system',
    actor: 'tester',
    action: 'test.record',
    outcome: '200',
  } as const;
  for (let n = 0; n < count; n++) await fixture.ctx.audit.record({ ...basis, ...entry });
  await sealAudit(fixture.ctx);
}

/** Ends the pause after a failed attempt. */
const retryNow = () => fixture.owner`UPDATE audit_collector SET next_at = now()`;
const state = async () => (await fixture.owner`SELECT position, failures, failure FROM audit_collector`)[0] ?? {};

const readSequence = (message: string) => Number(/ \[meta sequenceId="(\d+)"\] /.exec(message)?.[1]);
const readBody = (message: string) => message.slice(message.indexOf('\uFEFF') + 1);
const readPosition = (message: string): number => JSON.parse(readBody(message)).position;
const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);

async function readExport(): Promise<string[]> {
  let text = '';
  const range = { until: new Date(Date.now() + 60_000) };
  for await (const part of exportChain(fixture.ctx, range, 'jsonl')) text += part.text;
  return text.split('\n').filter((line) => line !== '');
}

describe('syslog over TLS', () => {
  test('a message has the format of RFC 5424, and its text is the line of an export', async () => {
    const server = await startSyslogServer();
    onTestFinished(server.close);
    await addRecords(1, { action: 'dashboard.webhooks.create', outcome: '403', detail: { name: 'Ä "x"\n' } });
    expect(await (await startProcess(syslog_settings(server.port))).send()).toBe(true);
    const [message = ''] = await server.messages();
    const [line = ''] = await readExport();
    const { at } = JSON.parse(line);
    const header = `<108>1 ${at} chartwire.example.org chartwire - dashboard.webhooks.create [meta sequenceId="1"]`;
    expect(message).toBe(`${header} \uFEFF${line}`);
  });

  test('records arrive in the order of the chain, in several batches, and pass the verification', async () => {
    const server = await startSyslogServer();
    onTestFinished(server.close);
    const { send } = await startProcess(syslog_settings(server.port));
    await addRecords(3);
    await send();
    await addRecords(1_200);
    await send();
    const messages = await server.messages();
    expect(messages.map(readPosition)).toStrictEqual(numbers(1, 1_203));
    expect(messages.map(readSequence)).toStrictEqual(numbers(1, 1_203));
    expect(messages[0]).toMatch(/^<110>1 /);
    const lines = messages.map((message) => `${readBody(message)}\n`);
    const verdict = await verifyExport(fixture.ctx, Readable.from(lines));
    expect(verdict).toMatchObject({ ok: true, checked: 1_203, gaps: 0 });
    // As servers store a message that they do not take apart, such as rsyslog with %msg%.
    const stored = lines.map((line) => ` \uFEFF${line}`);
    expect(await verifyExport(fixture.ctx, Readable.from(stored))).toStrictEqual(verdict);
    expect(await send()).toBe(false);
  });

  test('rsyslog receives every record once, and recognizes the service by its certificate', async () => {
    const rsyslog = findRsyslog();
    // Elsewhere, a server that follows the same protocol.
    const server = rsyslog ? await startRsyslog(rsyslog) : await startSyslogServer({ client_certificate: true });
    onTestFinished(server.close);
    const own = {
      AUDIT_COLLECTOR_CERT_FILE: join(folder, 'cert.pem'),
      AUDIT_COLLECTOR_KEY_FILE: join(folder, 'key.pem'),
    };
    const { send } = await startProcess({ ...syslog_settings(server.port), ...own });
    await addRecords(1, { detail: { long: 'x'.repeat(20_000) } });
    await addRecords(250);
    await until('the first records to be accepted', async () => {
      await retryNow();
      await send();
      return (await state()).position === 251;
    });
    await addRecords(3);
    await send();
    await until('rsyslog to write them', async () => (await server.messages()).length >= 254);
    const messages = await server.messages();
    expect(messages.map(readPosition)).toStrictEqual(numbers(1, 254));
    expect(messages.map(readBody)).toStrictEqual(await readExport());
  });

  test.runIf(findRsyslog())(
    'nothing counts as sent to an rsyslog that does not recognize the certificate',
    async () => {
      const server = await startRsyslog(findRsyslog() ?? { program: '', driver: '' });
      onTestFinished(server.close);
      const { send } = await startProcess(syslog_settings(server.port));
      await addRecords(1);
      await until('an attempt', send);
      expect(await state()).toMatchObject({ position: 0, failures: 1, failure: expect.any(String) });
      expect(await server.messages()).toStrictEqual([]);
    },
  );

  test.each(['crash', 'early'] as const)('records are sent again to a server that ended by "%s"', async (behavior) => {
    const server = await startSyslogServer();
    onTestFinished(server.close);
    const { send } = await startProcess(syslog_settings(server.port));
    server.behavior = behavior;
    await addRecords(2_000);
    await send();
    expect(await state()).toMatchObject({ position: 0, failures: 1 });
    server.behavior = 'read';
    await retryNow();
    await send();
    expect((await server.messages()).map(readPosition)).toStrictEqual(numbers(1, 2_000));
    expect(await state()).toStrictEqual({ position: 2_000, failures: 0, failure: null });
  });

  test('after an outage, sending continues where it stopped, and attempts pause longer and longer', async () => {
    const port = await freePort();
    const { send, lines } = await startProcess(syslog_settings(port));
    const first = await startSyslogServer({ port });
    await addRecords(2);
    await send();
    await first.close();

    await addRecords(2);
    const pauses: number[] = [];
    for (let n = 0; n < 8; n++) {
      await retryNow();
      await send();
      const [row] = await fixture.owner<{ ms: number }[]>`
        SELECT extract(epoch FROM next_at - now())::float8 * 1000 AS ms FROM audit_collector`;
      pauses.push(Math.ceil((row?.ms ?? 0) / 1_000));
      expect(await send()).toBe(false);
    }
    expect(pauses).toStrictEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    expect(await state()).toMatchObject({ position: 2, failures: 8, failure: expect.stringContaining('ECONNREFUSED') });
    expect(lines.filter((line) => line.includes('not sent to the collector'))).toHaveLength(1);

    const second = await startSyslogServer({ port });
    onTestFinished(second.close);
    await retryNow();
    await send();
    expect((await second.messages()).map(readPosition)).toStrictEqual([3, 4]);
  });

  test('nothing is sent to a server whose certificate is not trusted', async () => {
    const server = await startSyslogServer();
    onTestFinished(server.close);
    const { send } = await startProcess({ AUDIT_COLLECTOR_URL: `syslog+tls://localhost:${server.port}` });
    await addRecords(1);
    await send();
    expect(await state()).toMatchObject({
      position: 0,
      failure: expect.stringContaining('certificate that is not trusted'),
    });
    expect(await server.messages()).toStrictEqual([]);
  });

  test('a shutdown is not a failure, and another process continues at once', async () => {
    const server = await startSyslogServer();
    onTestFinished(server.close);
    const { forwarding, send } = await startProcess(syslog_settings(server.port));
    await addRecords(1);
    const [lease] = await forwarding.claim(1);
    if (!lease) throw new Error('There is work.');
    await forwarding.run(lease, AbortSignal.abort());
    expect(await state()).toStrictEqual({ position: 0, failures: 0, failure: null });
    expect(await send()).toBe(true);
    expect(await server.messages()).toHaveLength(1);
  });
});

describe('one process at a time', () => {
  test('a second process gets the work when the lease of the first has ended, which then stores nothing', async () => {
    const server = await startSyslogServer();
    onTestFinished(server.close);
    const [first, second] = [
      await startProcess(syslog_settings(server.port)),
      await startProcess(syslog_settings(server.port)),
    ];
    await addRecords(2);
    const [lease] = await first.forwarding.claim(1);
    if (!lease) throw new Error('There is work.');
    expect(await second.forwarding.claim(1)).toStrictEqual([]);
    expect(await first.forwarding.extend([lease])).toStrictEqual(new Set([lease.id]));
    await fixture.owner`UPDATE audit_collector SET locked_until = now() - interval '1 second'`;
    const [taken] = await second.forwarding.claim(1);
    expect(taken?.fence).toBeGreaterThan(lease.fence);
    expect(await first.forwarding.extend([lease])).toStrictEqual(new Set());
    await first.forwarding.run(lease, new AbortController().signal);
    expect(await state()).toMatchObject({ position: 0 });
    if (taken) await second.forwarding.run(taken, new AbortController().signal);
    expect(await state()).toMatchObject({ position: 2 });
    // At least once: the sequence number shows that the second two are the same.
    expect((await server.messages()).map(readSequence)).toStrictEqual([1, 2, 1, 2]);
  });

  test('a time that only a wrong clock can have set does not stop the sending', async () => {
    const server = await startSyslogServer();
    onTestFinished(server.close);
    const { send } = await startProcess(syslog_settings(server.port));
    await addRecords(1);
    await fixture.owner`UPDATE audit_collector SET locked_until = now() + interval '1 year', next_at = now() + interval '1 year'`;
    expect(await send()).toBe(true);
    expect(await server.messages()).toHaveLength(1);
  });
});

test('a log that was replaced by a shorter one is sent from its beginning', async () => {
  const server = await startSyslogServer();
  onTestFinished(server.close);
  const { send, lines } = await startProcess(syslog_settings(server.port));
  await addRecords(5);
  await send();
  await fixture.owner`TRUNCATE audit_records, audit_head`;
  await createHead(fixture.ctx.db.system, fixture.ctx.system_keys.key('audit.chain'));
  await addRecords(2);
  await send();
  expect((await server.messages()).map(readSequence)).toStrictEqual([1, 2, 3, 4, 5, 1, 2]);
  expect(lines.join()).toContain('all of it is sent again');
});

test('a message contains keyed marks of patients and no MRN', async () => {
  const server = await startSyslogServer();
  onTestFinished(server.close);
  await addRecords(1, { client_id: fixture.tenant.client_id, mrns: ['MRN-4711'] });
  await (await startProcess(syslog_settings(server.port))).send();
  const [message = ''] = await server.messages();
  expect(message).not.toContain('4711');
  expect(JSON.parse(readBody(message)).patients).toStrictEqual([expect.stringMatching(/^-?\d+$/)]);
});

describe('OTLP', () => {
  const accept = respondWith(200, { 'content-type': 'application/json' }, '{}');
  async function startOtlp(respond: Responder = accept) {
    const receiver = await startReceiver(respond);
    onTestFinished(receiver.close);
    const url = new URL('/v1/logs?tenant=a', receiver.url).href;
    return { receiver, env: { AUDIT_COLLECTOR_URL: url, AUDIT_COLLECTOR_HEADERS: 'authorization=Bearer%20secret' } };
  }
  const readLogs = (received: readonly Received[]) =>
    received.flatMap(({ body }) => JSON.parse(body).resourceLogs[0].scopeLogs[0].logRecords);

  test('records are posted in order, with the sequence number, as JSON, with the headers of the settings', async () => {
    const { receiver, env } = await startOtlp();
    const { send } = await startProcess(env);
    await addRecords(3, { address: '192.0.2.1' });
    await send();
    const [request] = receiver.received;
    expect(request).toMatchObject({ method: 'POST', url: '/v1/logs?tenant=a' });
    expect(request?.headers).toMatchObject({ authorization: 'Bearer secret', 'content-type': 'application/json' });
    const { resource } = JSON.parse(request?.body ?? '').resourceLogs[0];
    expect(resource.attributes).toContainEqual({ key: 'service.name', value: { stringValue: 'chartwire' } });
    const logs = readLogs(receiver.received);
    expect(logs.map(({ body }) => body.stringValue)).toStrictEqual(await readExport());
    expect(logs[0]).toMatchObject({
      timeUnixNano: `${Date.parse(JSON.parse(logs[0].body.stringValue).at)}000000`,
      severityNumber: 9,
      eventName: 'test.record',
      attributes: expect.arrayContaining([
        { key: 'chartwire.audit.sequence', value: { intValue: '1' } },
        { key: 'client.address', value: { stringValue: '192.0.2.1' } },
      ]),
    });
  });

  test.each([
    ['an error', respondWith(503), 'responded with status 503'],
    ['a redirect', respondWith(307, { location: 'http://127.0.0.1:1/' }), 'responded with status 307'],
    ['a partial success', respondWith(200, {}, '{"partialSuccess":{"rejectedLogRecords":"1"}}'), 'rejected 1 records'],
  ])('a collector that responds with %s gets the records again', async (_name, respond, failure) => {
    const { receiver, env } = await startOtlp(respond);
    const { send } = await startProcess(env);
    await addRecords(2);
    await send();
    expect(await state()).toMatchObject({ position: 0, failure: expect.stringContaining(failure) });
    receiver.respond = accept;
    receiver.received.length = 0;
    await retryNow();
    await send();
    expect(readLogs(receiver.received)).toHaveLength(2);
    expect(await state()).toMatchObject({ position: 2, failure: null });
  });

  test('neither the log nor the failure contains a header or the path of the URL', async () => {
    const { env } = await startOtlp(respondWith(401));
    const { send, lines } = await startProcess(env);
    await addRecords(1);
    await send();
    const text = `${lines.join()}${JSON.stringify(await state())}`;
    expect(text).toContain('401');
    expect(text).not.toMatch(/secret|tenant=a/);
  });
});

describe('the backlog', () => {
  test('the backlog is counted, with the age of its oldest record, and exported as metrics', async () => {
    const port = await freePort();
    const { ctx } = await startProcess(syslog_settings(port));
    await addRecords(4);
    await fixture.owner`UPDATE audit_collector SET position = 1`;
    await fixture.owner`UPDATE audit_records SET at = now() - interval '10 minutes' WHERE position = 2`;
    const backlog = await readBacklog(ctx.db.system.pooled);
    expect(backlog).toMatchObject({ waiting: 3, accepted_s: null });
    expect(backlog.lag_s).toBeGreaterThanOrEqual(600);
    await measureQueues(ctx);
    const text = await ctx.metrics.registry.metrics();
    expect(text).toContain('chartwire_waiting{queue="audit_collector"} 3');
    expect(text).toMatch(/chartwire_waiting_oldest_seconds\{queue="audit_collector"\} 6\d\d/);
    await fixture.owner`UPDATE audit_collector SET position = 4`;
    expect(await readBacklog(ctx.db.system.pooled)).toMatchObject({ waiting: 0, lag_s: 0 });
  });

  test('there is no work and no metric if no collector is configured', async () => {
    const config = loadConfig({});
    const ctx = { ...fixture.ctx, config, base_url: '', log: createLog('silent'), metrics: createMetrics() };
    expect(await openForwarding(ctx, { owner: 'test', lease_ms })).toBeUndefined();
    await measureQueues(ctx);
    expect(await ctx.metrics.registry.metrics()).not.toContain('audit_collector"');
  });
});

describe('settings', () => {
  test.each([
    [{ AUDIT_COLLECTOR_URL: 'syslog://siem' }, 'must be a URL that starts with syslog+tls://'],
    [{ AUDIT_COLLECTOR_URL: 'syslog+tls://siem/path' }, 'without anything after it'],
    [{ AUDIT_COLLECTOR_URL: 'https://user:secret@siem/v1/logs' }, 'without a user'],
    [{ AUDIT_COLLECTOR_URL: 'http://siem.example.org/v1/logs' }, 'must use https'],
    [{ AUDIT_COLLECTOR_CERT_FILE: '/cert.pem' }, 'AUDIT_COLLECTOR_KEY_FILE must be set too'],
    [{ AUDIT_COLLECTOR_KEY_FILE: '/key.pem' }, 'AUDIT_COLLECTOR_CERT_FILE must be set too'],
    [
      { AUDIT_COLLECTOR_URL: 'syslog+tls://siem', AUDIT_COLLECTOR_HEADERS: 'a=secret' },
      'must be the URL of an OTLP collector',
    ],
  ])('%j is refused', (env, message) => {
    const load = () => loadConfig(env);
    expect(load).toThrow(message);
    expect(load).not.toThrow(/secret/);
  });

  test('the port of syslog over TLS is 6514 unless the URL has another, and the host may be private', () => {
    const read = (url: string) => loadConfig({ AUDIT_COLLECTOR_URL: url }).audit_collector_url;
    expect(read('syslog+tls://10.1.2.3')).toMatchObject({ protocol: 'syslog', host: '10.1.2.3', port: 6514 });
    expect(read('syslog+tls://[fd00::1]:6515')).toMatchObject({ host: 'fd00::1', port: 6515 });
    expect(read('https://siem.example.org/v1/logs')).toMatchObject({ protocol: 'otlp', port: 443 });
  });

  test('a file that is missing, or that is not what its setting says, keeps the service from starting', async () => {
    const url = { AUDIT_COLLECTOR_URL: 'syslog+tls://siem' };
    const missing = join(folder, 'missing.pem');
    await expect(startProcess({ ...url, AUDIT_COLLECTOR_CA_FILE: missing })).rejects.toThrow(
      `AUDIT_COLLECTOR_CA_FILE is set, but ${missing} cannot be read.`,
    );
    await writeFile(join(folder, 'text'), 'text');
    await expect(startProcess({ ...url, AUDIT_COLLECTOR_CA_FILE: join(folder, 'text') })).rejects.toThrow(
      'is not a PEM file',
    );
    const damaged = (await readFile(join(folder, 'key.pem'), 'utf8')).replace('MIGH', 'MIGX');
    await writeFile(join(folder, 'damaged.pem'), damaged);
    const pair = {
      AUDIT_COLLECTOR_CERT_FILE: join(folder, 'cert.pem'),
      AUDIT_COLLECTOR_KEY_FILE: join(folder, 'damaged.pem'),
    };
    await expect(startProcess({ ...url, ...pair })).rejects.toThrow('a file is damaged, or the key is not');
  });
});
