import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { errors } from '../../src/catalog/errors.ts';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import { dereference } from '../../src/http/openapi/describeSchema.ts';
import { listErrors } from '../../src/http/openapi/openApi.ts';
import { startService } from '../../src/main.ts';
import { endpoints } from '../../src/surfaces/api/endpoints.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { startReceiver } from '../harness/servers/receiver.ts';
import { startDatabaseProxy } from './databaseProxy.ts';
import { apiAs, expectApiError } from './support.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());

const no_credentials = { client_id: null, client_secret: null, access_token: null };
const get = (path: string) => fixture.api.call('GET', path, { headers: no_credentials });

describe('health', () => {
  test('/healthz reports the process, /readyz also its dependencies', async () => {
    expect((await get('/healthz')).body).toStrictEqual({ status: 'ok' });
    const ready = await get('/readyz');
    expect([ready.status, ready.body]).toStrictEqual([
      200,
      {
        status: 'ready',
        checks: { started: true, accepting: true, database: true, migrations: true, writable: true, workers: true },
        warnings: [],
      },
    ]);
  });

  test('/readyz reports a missing migration', async () => {
    await fixture.owner`UPDATE schema_migrations SET name = 'hidden ' || name`;
    try {
      const response = await get('/readyz');
      expect([response.status, response.body.checks.migrations]).toStrictEqual([503, false]);
    } finally {
      await fixture.owner`UPDATE schema_migrations SET name = replace(name, 'hidden ', '')`;
    }
    expect((await get('/readyz')).status).toBe(200);
  });

  test('readiness is answered while all connections for requests of operators are in use', async () => {
    const { ctx } = fixture;
    const lock = 7_240_999;
    const waiting: Promise<unknown>[] = [];
    await fixture.owner.begin(async (tx) => {
      await tx`SELECT pg_advisory_xact_lock(${lock})`;
      // More than the pool and the pipelined connections together.
      for (let n = 0; n < 20; n++) {
        waiting.push(ctx.db.system`SELECT pg_advisory_xact_lock(${lock})`);
        waiting.push(ctx.db.system.begin((tx) => tx`SELECT pg_advisory_xact_lock(${lock})`));
      }
      expect((await get('/readyz')).status).toBe(200);
    });
    await Promise.allSettled(waiting);
  });

  test('without its database the process is alive but not ready, and recovers within 10 seconds', async () => {
    const proxy = await startDatabaseProxy();
    const url = new URL(fixture.env.DATABASE_URL ?? '');
    url.search = '';
    url.port = `${proxy.port}`;
    url.hostname = '127.0.0.1';
    const config = loadConfig({ ...fixture.env, PORT: '0', DATABASE_URL: url.href });
    const service = await startService(config, { role: 'api', print: () => {} });
    const { access_token } = fixture.sandbox;
    const api = apiAs({ ...fixture, sandbox: { ...fixture.sandbox, base_url: service.base_url } }, { access_token });
    try {
      expect((await api.call('GET', '/readyz')).status).toBe(200);
      expect((await api.call('GET', '/v1/providers')).status).toBe(200);
      await proxy.cut();
      const response = await api.call('GET', '/readyz');
      expect([response.status, response.body.status]).toStrictEqual([503, 'not ready']);
      expect(response.body.checks).toMatchObject({ database: false });
      expect((await api.call('GET', '/healthz')).status).toBe(200);
      // Metrics of the process stay available without the database.
      const metrics = await api.call('GET', '/metrics');
      expect([metrics.status, metrics.body]).toStrictEqual([
        200,
        expect.stringContaining('chartwire_http_request_seconds'),
      ]);
      expect(metrics.body).not.toMatch(/chartwire_waiting\{/);
      const message = 'The database is unavailable right now. Try again in a moment.';
      for (const request of [
        () => api.call('GET', '/v1/providers'),
        () => api.callIn({}, { 'idempotency-key': 'while-down' }),
        () => api.call('GET', '/v1/webhook'),
        () => api.call('GET', '/v1/providers', { headers: { access_token: 'unknown-token' } }),
      ]) {
        const response = await request();
        expectApiError(response, 503, message);
        expect(response.headers.get('retry-after')).toBe('1');
      }
      await proxy.restore();
      const restored_at = Date.now();
      await expect.poll(async () => (await api.call('GET', '/readyz')).status).toBe(200);
      await expect.poll(async () => (await api.call('GET', '/v1/providers')).status).toBe(200);
      expect(Date.now() - restored_at).toBeLessThan(10_000);
    } finally {
      await service.close();
      await proxy.cut();
    }
  });
});

describe('/metrics', () => {
  test('contains requests, jobs, deliveries and queues, and no patient data', async () => {
    const receiver = await startReceiver();
    const { patient_mrn } = fixture.sandbox.example;
    await fixture.api.call('POST', '/v1/webhook', { body: { webhook_url: receiver.url } });
    const accepted = await fixture.api.callIn({ caller: 'Marked Caller', message: 'Marked message' });
    await fixture.api.untilEvent(accepted.body.job_id);
    await expect.poll(() => receiver.received.length).toBe(1);
    await fixture.api.call('GET', `/v1/patients?mrn=${patient_mrn}&last_name=MarkedName`);
    await fixture.api.call('GET', '/v1/nowhere/MarkedPath');
    await expect.poll(async () => (await get('/metrics')).body).toContain('chartwire_delivery_seconds_count{');
    const { body, headers } = await get('/metrics');
    expect(headers.get('content-type')).toMatch(/^text\/plain/);
    expect(body).toMatch(/chartwire_http_request_seconds_count\{.*endpoint="telephone-encounters.create".*\} 1/);
    expect(body).toMatch(/chartwire_http_request_seconds_count\{.*endpoint="unknown",status="404".*\} \d/);
    expect(body).toMatch(/chartwire_job_seconds_count\{.*type="telephone_encounter.create",state="succeeded".*\} 1/);
    expect(body).toMatch(/chartwire_delivery_seconds_count\{outcome="success"\} 1/);
    for (const queue of ['jobs', 'parked', 'deliveries']) {
      expect(body).toMatch(new RegExp(`chartwire_waiting\\{queue="${queue}"\\} \\d`));
    }
    for (const queue of ['jobs', 'deliveries']) {
      expect(body).toMatch(new RegExp(`chartwire_waiting_oldest_seconds\\{queue="${queue}"\\} \\d`));
    }
    for (const text of ['Marked', patient_mrn, fixture.sandbox.client_id, fixture.sandbox.access_token]) {
      expect(body).not.toContain(text);
    }
    await receiver.close();
  });
});

describe('the reference', () => {
  test('/openapi.json has every endpoint with its headers, parameters and errors', async () => {
    const response = await get('/openapi.json');
    expect(response.status).toBe(200);
    const body = dereference(response.body);
    expect(body.openapi).toBe('3.1.0');
    const declared = Object.entries<Record<string, unknown>>(body.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(declared.sort()).toStrictEqual(endpoints.map((each) => `${each.method} ${each.path}`).sort());
    const ids = new Set<string>();
    for (const endpoint of endpoints) {
      const operation = body.paths[endpoint.path]?.[endpoint.method.toLowerCase()];
      if (!operation) throw new Error(`${endpoint.id} is missing.`);
      ids.add(operation.operationId);
      expect(operation.summary.length).toBeGreaterThan(10);
      const in_path = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      const parameters: { name: string; in: string; required: boolean }[] = operation.parameters;
      expect(parameters.filter((each) => each.in === 'path').map((each) => each.name)).toStrictEqual(in_path);
      const query = Object.keys(endpoint.query?.properties ?? {});
      expect(parameters.filter((each) => each.in === 'query').map((each) => each.name)).toStrictEqual(query);
      const takes_key = parameters.some((each) => each.name === 'Idempotency-Key');
      expect(takes_key).toBe(['POST', 'PATCH'].includes(endpoint.method) && !endpoint.reads);
      expect(Object.keys(operation.security[0] ?? {}).length).toBe(
        { none: 0, client: 2, account: 3, link: 0, practice: 0, operator: 0, operator_in_client: 0 }[endpoint.auth],
      );
      expect(operation.requestBody === undefined).toBe(endpoint.body === undefined);
      for (const code of listErrors(endpoint)) {
        const response = operation.responses[errors[code].status];
        expect(response?.description, `${endpoint.id} ${code}`).toContain(`\`${code}\``);
      }
    }
    expect(ids.size).toBe(endpoints.length);
    expect(JSON.stringify(body)).not.toContain('undefined');
  });
});
