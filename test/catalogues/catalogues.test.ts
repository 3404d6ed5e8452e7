import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { endpoints } from '../../src/api/endpoints.ts';
import { loadConfig, settings } from '../../src/config.ts';
import { apiError, errors, StartFailure } from '../../src/errors.ts';
import { event_types } from '../../src/events.ts';
import { newId, newReference, newToken, newWebhookSecret, parseId } from '../../src/ids.ts';
import { job_states, job_transitions } from '../../src/jobs/states.ts';
import { errorsOf, openApi } from '../../src/openapi/openApi.ts';
import { version } from '../../src/version.ts';

const root = resolve(import.meta.dirname, '../..');
const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(join(root, 'src', name), 'utf8') }));

describe('errors', () => {
  test('every code of the catalogue is used somewhere', () => {
    const others = sources.filter(({ name }) => name !== 'errors.ts').map(({ text }) => text);
    const unused = Object.keys(errors).filter((code) => !others.some((text) => text.includes(`'${code}'`)));
    expect(unused).toStrictEqual([]);
  });

  test('a message has its gaps filled, and carries status, code and field', () => {
    const error = apiError('provider_not_found', { id: '501' }, { field: 'provider_id' });
    expect(error).toMatchObject({ status: 404, code: 'provider_not_found', field: 'provider_id' });
    expect(error.message).toBe("Provider with EMR ID '501' not found.");
  });
});

describe('events', () => {
  test('every type of the catalogue is sent somewhere', () => {
    const unsent = event_types.filter(
      (type) => !sources.some(({ name, text }) => name !== 'events.ts' && text.includes(`type: '${type}'`)),
    );
    expect(unsent).toStrictEqual([]);
  });
});

describe('ids', () => {
  test('sort by their time of creation, also within one millisecond', () => {
    const ids = Array.from({ length: 5000 }, newId);
    expect([...ids].sort()).toStrictEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every((id) => /^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/.test(id))).toBe(true);
  });

  test('are read with and without hyphens, in any case, and nothing else is', () => {
    const id = newId();
    const hyphened = id.replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, '$1-$2-$3-$4-$5').toUpperCase();
    expect(parseId(hyphened)).toBe(id);
    expect(parseId(`${id}0`)).toBeUndefined();
    expect(parseId('')).toBeUndefined();
  });

  test('tokens have their prefix and 256 random bits', () => {
    const bits = (token: string, prefix: string) => Buffer.from(token.slice(prefix.length), 'base64url').length * 8;
    expect(bits(newToken('link_token'), 'lt_')).toBe(256);
    expect(newToken('link_token')).toMatch(/^lt_/);
    expect(bits(newToken('access_token'), '')).toBe(256);
    expect(newToken('test_client_secret')).toMatch(/^cs_test_/);
    expect(newReference('live_client_id')).toMatch(/^ci_live_[0-9a-f]{24}$/);
    expect(Buffer.from(newWebhookSecret().replace(/^whsec_/, ''), 'base64')).toHaveLength(32);
  });
});

describe('settings', () => {
  const production = { NODE_ENV: 'production', MASTER_KEY: 'ab'.repeat(32) };

  test('have the documented defaults', () => {
    expect(loadConfig({})).toMatchObject({
      port: 4000,
      host: '127.0.0.1',
      base_url: 'http://127.0.0.1:4000',
      database_url: undefined,
      sandbox: true,
      larkspur_port: 4100,
      outbound_allow: [],
      log_level: 'info',
      rate_limit: 100,
      rate_burst: 200,
    });
  });

  test('the sandbox is off in production unless it is asked for', () => {
    expect(loadConfig(production).sandbox).toBe(false);
    expect(loadConfig({ ...production, SANDBOX: 'on' }).sandbox).toBe(true);
  });

  test.each([
    [{ PORT: 'x' }, "PORT must be a whole number from 0 to 65535, not 'x'."],
    [{ PORT: '70000' }, "PORT must be a whole number from 0 to 65535, not '70000'."],
    [{ SANDBOX: 'yes' }, "SANDBOX must be one of on, off, not 'yes'."],
    [{ LOG_LEVEL: 'loud' }, "LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent, not 'loud'."],
    [{ BASE_URL: 'example.org' }, 'BASE_URL must be a URL that starts with http:// or https://.'],
    [
      { DATABASE_URL: 'mysql://u:secret@h/d' },
      'DATABASE_URL must be a URL that starts with postgres:// or postgresql://.',
    ],
    [
      { MASTER_KEY: 'short' },
      'MASTER_KEY must be 32 bytes, written as 64 hexadecimal digits or as base64. Generate one with: openssl rand -hex 32',
    ],
    [
      { NODE_ENV: 'production' },
      'MASTER_KEY must be set when the sandbox is off. Generate one with: openssl rand -hex 32',
    ],
  ])('a wrong one is one sentence: %o', (env, sentence) => {
    expect(() => loadConfig(env)).toThrow(new StartFailure(sentence));
  });

  test('.env.example names every one of them', () => {
    const example = readFileSync(join(root, '.env.example'), 'utf8');
    expect(Object.keys(settings).filter((name) => !example.includes(`#${name}=`))).toStrictEqual([]);
  });
});

describe('endpoints', () => {
  test('have ids and paths of their own, and stand in the OpenAPI document with their errors', () => {
    expect(new Set(endpoints.map((each) => each.id)).size).toBe(endpoints.length);
    const document = openApi(endpoints, { version, base_url: 'http://x' });
    for (const each of endpoints) {
      const operation = document.paths[each.path]?.[each.method.toLowerCase()] as {
        operationId: string;
        responses: Record<string, { description: string }>;
      };
      expect(operation.operationId).toBe(each.id);
      for (const code of errorsOf(each)) {
        expect(operation.responses[errors[code].status]?.description).toContain(`\`${code}\``);
      }
    }
  });

  test('one file of api/ each, named by its id', () => {
    const folder = join(root, 'src/api/v1');
    const files = readdirSync(folder).map((name) => name.replace(/\.ts$/, ''));
    const ids = endpoints.map((each) => each.id).filter((id) => !/^(link|sandbox)\./.test(id));
    expect(ids.map((id) => id.replace('rotate-oldest-secret', 'rotate-secret'))).toEqual(expect.arrayContaining(files));
  });
});

test('a job can reach every state, and none leads out of an end', () => {
  const from = new Set<string>(job_transitions.map(([state]) => state));
  expect(job_states).toStrictEqual(['queued', 'running', 'succeeded', 'partial', 'failed', 'needs_review']);
  expect([...from]).toStrictEqual(['queued', 'running']);
});

test('the version is that of package.json', () => {
  expect(version).toBe(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version);
});
