import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endpoints } from '../../src/api/endpoints.ts';
import { loadConfig } from '../../src/config.ts';
import { errors } from '../../src/errors.ts';
import { startService } from '../../src/main.ts';
import { errorsOf } from '../../src/openapi/openApi.ts';
import { startReceiver } from '../harness/receiver.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { startDatabaseProxy } from './databaseProxy.ts';
import { apiOf, expectRefusal } from './support.ts';

let world: TestSandbox;
beforeAll(async () => {
  world = await startSandbox();
});
afterAll(() => world.close());

const strange = { client_id: null, client_secret: null, access_token: null };
const get = (path: string) => world.api.call('GET', path, { headers: strange });

describe('health', () => {
  test('/healthz answers for the process, /readyz for all it needs', async () => {
    expect((await get('/healthz')).body).toStrictEqual({ status: 'ok' });
    const ready = await get('/readyz');
    expect([ready.status, ready.body]).toStrictEqual([
      200,
      { status: 'ready', checks: { started: true, database: true, migrations: true, workers: true } },
    ]);
  });

  test('a migration that is missing is reported', async () => {
    await world.owner`UPDATE schema_migrations SET name = 'hidden ' || name`;
    try {
      const answer = await get('/readyz');
      expect([answer.status, answer.body.checks.migrations]).toStrictEqual([503, false]);
    } finally {
      await world.owner`UPDATE schema_migrations SET name = replace(name, 'hidden ', '')`;
    }
    expect((await get('/readyz')).status).toBe(200);
  });

  test('without its database the process lives, says that it is not ready, and recovers within 10 seconds', async () => {
    const proxy = await startDatabaseProxy();
    const url = new URL(world.env.DATABASE_URL ?? '');
    url.search = '';
    url.port = `${proxy.port}`;
    url.hostname = '127.0.0.1';
    const config = loadConfig({ ...world.env, PORT: '0', DATABASE_URL: url.href });
    const service = await startService(config, { role: 'api', print: () => {} });
    const { access_token } = world.sandbox;
    const api = apiOf({ ...world, sandbox: { ...world.sandbox, base_url: service.base_url } }, { access_token });
    try {
      expect((await api.call('GET', '/readyz')).status).toBe(200);
      expect((await api.call('GET', '/v1/providers')).status).toBe(200);
      await proxy.cut();
      const answer = await api.call('GET', '/readyz');
      expect([answer.status, answer.body.status]).toStrictEqual([503, 'not ready']);
      expect(answer.body.checks).toMatchObject({ database: false });
      expect((await api.call('GET', '/healthz')).status).toBe(200);
      // What is measured in the process is needed most when the database is gone.
      const metrics = await api.call('GET', '/metrics');
      expect([metrics.status, metrics.body]).toStrictEqual([
        200,
        expect.stringContaining('chartwire_http_request_seconds'),
      ]);
      expect(metrics.body).not.toMatch(/chartwire_waiting\{/);
      const refused = 'The service cannot reach its database. Try again in a moment.';
      for (const request of [
        () => api.call('GET', '/v1/providers'),
        () => api.callIn({}, { 'idempotency-key': 'while-down' }),
        () => api.call('GET', '/v1/webhook'),
        () => api.call('GET', '/v1/providers', { headers: { access_token: 'never-seen' } }),
      ]) {
        const answer = await request();
        expectRefusal(answer, 503, refused);
        expect(answer.headers.get('retry-after')).toBe('1');
      }
      await proxy.mend();
      const began = Date.now();
      await expect.poll(async () => (await api.call('GET', '/readyz')).status).toBe(200);
      await expect.poll(async () => (await api.call('GET', '/v1/providers')).status).toBe(200);
      expect(Date.now() - began).toBeLessThan(10_000);
    } finally {
      await service.close();
      await proxy.cut();
    }
  });
});

describe('/metrics', () => {
  test('has requests, jobs, deliveries and queues, and nothing of a patient', async () => {
    const receiver = await startReceiver();
    const { patient_mrn } = world.sandbox.example;
    await world.api.call('POST', '/v1/webhook', { body: { webhook_url: receiver.url } });
    const accepted = await world.api.callIn({ caller: 'Planted Caller', message: 'Planted message' });
    await world.api.untilEvent(accepted.body.job_id);
    await expect.poll(() => receiver.received.length).toBe(1);
    await world.api.call('GET', `/v1/patients?mrn=${patient_mrn}&last_name=PlantedName`);
    await world.api.call('GET', '/v1/nowhere/PlantedPath');
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
    for (const planted of ['Planted', patient_mrn, world.sandbox.client_id, world.sandbox.access_token]) {
      expect(body).not.toContain(planted);
    }
    await receiver.close();
  });
});

describe('the reference', () => {
  test('/openapi.json has every endpoint, its headers, its parameters and each of its errors', async () => {
    const { status, body } = await get('/openapi.json');
    expect(status).toBe(200);
    expect(body.openapi).toBe('3.1.0');
    const declared = Object.entries<Record<string, unknown>>(body.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(declared.sort()).toStrictEqual(endpoints.map((each) => `${each.method} ${each.path}`).sort());
    const ids = new Set<string>();
    for (const endpoint of endpoints) {
      const operation = body.paths[endpoint.path][endpoint.method.toLowerCase()];
      ids.add(operation.operationId);
      expect(operation.summary.length).toBeGreaterThan(10);
      const in_path = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      const parameters: { name: string; in: string; required: boolean }[] = operation.parameters;
      expect(parameters.filter((each) => each.in === 'path').map((each) => each.name)).toStrictEqual(in_path);
      const query = Object.keys(endpoint.query?.properties ?? {});
      expect(parameters.filter((each) => each.in === 'query').map((each) => each.name)).toStrictEqual(query);
      const keyed = parameters.some((each) => each.name === 'Idempotency-Key');
      expect(keyed).toBe(endpoint.method === 'POST' || endpoint.method === 'PATCH');
      expect(Object.keys(operation.security[0]).length).toBe(
        { none: 0, client: 2, account: 3, link: 0, operator: 0, operator_in_client: 0 }[endpoint.auth],
      );
      expect(operation.requestBody === undefined).toBe(endpoint.body === undefined);
      for (const code of errorsOf(endpoint)) {
        const response = operation.responses[errors[code].status];
        expect(response.description, `${endpoint.id} ${code}`).toContain(`\`${code}\``);
      }
    }
    expect(ids.size).toBe(endpoints.length);
    expect(JSON.stringify(body)).not.toContain('undefined');
  });

  test('/docs is one page with every endpoint, with nothing written into it that runs and nothing from elsewhere', async () => {
    const answer = await get('/docs');
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = answer.headers.get('content-security-policy') ?? '';
    for (const rule of ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"]) {
      expect(policy).toContain(rule);
    }
    expect(policy).not.toContain('unsafe');
    const page: string = answer.body;
    for (const endpoint of endpoints) expect(page).toContain(`id="${endpoint.id}"`);
    expect(page.match(/<script[^>]*>/g)).toStrictEqual(['<script type="module" src="/docs/docs.js">']);
    expect(page).not.toMatch(/<iframe|<style|\son\w+="|style="|javascript:/i);
    for (const [, address] of page.matchAll(/(?:src|href)="([^"]*)"/g)) expect(address).toMatch(/^[/#](?!\/)/);
    const files = [...page.matchAll(/(?:src|href)="(\/docs\/[^"]+)"/g)].map(([, address = '']) => address);
    expect(files.length).toBeGreaterThan(3);
    for (const file of files) {
      const { status, headers, body } = await get(file);
      expect([file, status, headers.get('x-content-type-options')]).toStrictEqual([file, 200, 'nosniff']);
      expect(String(body)).not.toMatch(/url\(|@import|https?:\/\/(?!www\.w3\.org\/2000\/svg)/);
    }
  });
});
