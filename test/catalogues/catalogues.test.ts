import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { apiError, errors, StartFailure } from '../../src/catalog/errors.ts';
import { failures } from '../../src/catalog/failures.ts';
import { newId, newReference, newToken, newWebhookSecret, parseId } from '../../src/catalog/ids.ts';
import { loadConfig, settings } from '../../src/catalog/settings/config.ts';
import { version } from '../../src/catalog/version.ts';
import { dereference } from '../../src/http/openapi/describeSchema.ts';
import { composeOpenApi, listErrors } from '../../src/http/openapi/openApi.ts';
import { event_types } from '../../src/model/events.ts';
import { alert_codes, lookUpAlert } from '../../src/product/alerts/catalogue.ts';
import { job_states, job_transitions } from '../../src/product/jobs/jobs.ts';
import { endpoints } from '../../src/surfaces/api/endpoints.ts';

const root = resolve(import.meta.dirname, '../..');
const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(join(root, 'src', name), 'utf8') }));

describe('errors', () => {
  test('every code of the catalogue is used', () => {
    const others = sources.filter(({ name }) => name !== 'catalog/errors.ts').map(({ text }) => text);
    const unused = Object.keys(errors).filter((code) => !others.some((text) => text.includes(`'${code}'`)));
    expect(unused).toStrictEqual([]);
  });

  test('an error has its status, code and field, and a message with its values', () => {
    const error = apiError('provider_not_found', { id: '501' }, { field: 'provider_id' });
    expect(error).toMatchObject({ status: 404, code: 'provider_not_found', field: 'provider_id' });
    expect(error.message).toBe("Provider with EMR ID '501' not found.");
  });
});

describe('events', () => {
  test('every type of the catalogue is sent', () => {
    const unsent = event_types.filter(
      (type) => !sources.some(({ name, text }) => name !== 'model/events.ts' && text.includes(`type: '${type}'`)),
    );
    expect(unsent).toStrictEqual([]);
  });
});

describe('failure codes', () => {
  const others = sources.filter(({ name }) => name !== 'catalog/failures.ts');

  test('every code of the catalogue is used', () => {
    const unused = Object.keys(failures).filter((code) => !others.some(({ text }) => text.includes(`'${code}'`)));
    expect(unused).toStrictEqual([]);
  });

  test('every code that is thrown is in the catalogue', () => {
    const thrown = others.flatMap(({ text }) => {
      const failing = [...text.matchAll(/(?:new EmrFailure|\bfail)\((?:[^;]*?)\bcode: '(\w+)'/g)];
      return failing.map(([, code]) => code ?? '');
    });
    expect(thrown.length).toBeGreaterThan(10);
    expect(thrown.filter((code) => !Object.hasOwn(failures, code))).toStrictEqual([]);
  });

  test('the reference page and the dashboard have every code', () => {
    const page = readFileSync(join(root, 'docs/reference/failures.md'), 'utf8');
    const dashboard = readFileSync(join(root, 'web/dashboard/service/api.gen.ts'), 'utf8');
    for (const [code, { label, cause, remedy }] of Object.entries(failures)) {
      expect(page).toContain(`| \`${code}\` | ${cause} | ${remedy} |`);
      expect(dashboard).toContain(`"${code}":{"label":${JSON.stringify(label)},`);
    }
  });
});

describe('alerts', () => {
  test('the reference page has every code and no other, and the guide every title', () => {
    const page = readFileSync(join(root, 'docs/reference/alerts.md'), 'utf8');
    const guide = readFileSync(join(root, 'docs/guides/alerts.md'), 'utf8');
    for (const code of alert_codes) {
      const { title, severity, cause, remedy } = lookUpAlert(code);
      expect(page).toContain(`| \`${code}\` | ${title} | ${severity} | ${cause} | ${remedy} |`);
      expect(guide).toContain(`| ${title} |`);
    }
    expect([...page.matchAll(/^\| `(\w+)`/gm)].map(([, code]) => code)).toStrictEqual(alert_codes);
  });
});

describe('ids', () => {
  test('sort by creation time, even within one millisecond', () => {
    const ids = Array.from({ length: 5000 }, newId);
    expect([...ids].sort()).toStrictEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every((id) => /^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/.test(id))).toBe(true);
  });

  test('are parsed with and without hyphens in any letter case', () => {
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
  const plain_text =
    'BASE_URL must be the https:// address of a reverse proxy when the sandbox is off: requests contain credentials and health data. See docs/guides/reverse-proxy.md.';

  test('have the documented defaults', () => {
    expect(loadConfig({})).toMatchObject({
      port: 4000,
      host: 'localhost',
      base_url: 'http://localhost:4000',
      database_url: undefined,
      sandbox: true,
      larkspur_port: 4100,
      outbound_allow_emr: [],
      outbound_allow_webhooks: [],
      log_level: 'info',
      rate_limit: 100,
      rate_burst: 200,
    });
  });

  test('the sandbox is off in production unless enabled', () => {
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
    [{ NODE_ENV: 'production', MASTER_KEY: 'ab'.repeat(32), HOST: '0.0.0.0' }, plain_text],
    [{ NODE_ENV: 'production', MASTER_KEY: 'ab'.repeat(32), BASE_URL: 'http://chartwire.example.org' }, plain_text],
    [
      { NODE_ENV: 'production', MASTER_KEY: 'ab'.repeat(32), HOST: '::', BASE_URL: 'http://localhost:4000' },
      plain_text,
    ],
    [
      { AUDIT_ANCHOR_URL: 'http://log.example.org/?token=secret' },
      'AUDIT_ANCHOR_URL must use https, unless it is on this machine.',
    ],
    [{ ALERT_SMTP_URL: 'smtps://mail.example.org' }, 'ALERT_SMTP_URL is set, so ALERT_EMAIL_FROM must be set too.'],
    [
      {
        ALERT_SMTP_URL: 'smtps://user:secret@mail.example.org?tls.rejectUnauthorized=false',
        ALERT_EMAIL_FROM: 'a@example.org',
        ALERT_EMAIL_TO: 'b@example.org',
      },
      'ALERT_SMTP_URL must have the form smtps://user:password@host:port, without anything after it.',
    ],
    [
      { ALERT_EMAIL_TO: 'a@example.org, Ops <b@example.org>' },
      "ALERT_EMAIL_TO must contain email addresses such as oncall@example.org, not 'Ops <b@example.org>'.",
    ],
    [
      { ALERT_WEBHOOK_URL: 'https://x.example.org' },
      'ALERT_WEBHOOK_URL is set, so ALERT_WEBHOOK_SECRET must be set too.',
    ],
    [
      { ALERT_WEBHOOK_SECRET: 'whsec_c2hvcnQ=' },
      'ALERT_WEBHOOK_SECRET must be whsec_ and 24 to 64 bytes as base64. Generate one with: openssl rand -base64 32',
    ],
    [
      { ALERT_QUIET_HOURS: '22:00-07:00 Europe/Nowhere' },
      "ALERT_QUIET_HOURS must have the form 22:00-07:00 Europe/Berlin, not '22:00-07:00 Europe/Nowhere'.",
    ],
    [{ ALERT_DIGEST: '8 o’clock' }, "ALERT_DIGEST must be off or have the form 08:00 Europe/Berlin, not '8 o’clock'."],
  ])('an invalid value is reported in one sentence: %o', (env, sentence) => {
    expect(() => loadConfig(env)).toThrow(new StartFailure(sentence));
  });

  test('production accepts https, and plain http only if everything stays on this machine', () => {
    for (const env of [
      { BASE_URL: 'https://chartwire.example.org', HOST: '0.0.0.0' },
      { BASE_URL: 'http://127.0.0.1:4000' },
      { HOST: '::1' },
      {},
    ]) {
      expect(loadConfig({ ...production, ...env }).sandbox).toBe(false);
    }
    expect(loadConfig({ HOST: '0.0.0.0' }).base_url).toBe('http://localhost:4000');
  });

  test('OUTBOUND_ALLOW is a fallback for EMRs and does not apply to webhooks', () => {
    const allowed = (env: Record<string, string>) => {
      const { outbound_allow_emr, outbound_allow_webhooks } = loadConfig(env);
      return [outbound_allow_emr, outbound_allow_webhooks];
    };
    expect(allowed({ OUTBOUND_ALLOW: 'old' })).toStrictEqual([['old'], []]);
    expect(allowed({ OUTBOUND_ALLOW: 'old', OUTBOUND_ALLOW_EMR: 'emr' })).toStrictEqual([['emr'], []]);
    expect(allowed({ OUTBOUND_ALLOW_WEBHOOKS: 'hook' })).toStrictEqual([[], ['hook']]);
  });

  test('.env.example lists all of them', () => {
    const example = readFileSync(join(root, '.env.example'), 'utf8');
    expect(Object.keys(settings).filter((name) => !example.includes(`#${name}=`))).toStrictEqual([]);
  });
});

describe('endpoints', () => {
  test('have unique ids and are in the OpenAPI document with their errors', () => {
    expect(new Set(endpoints.map((each) => each.id)).size).toBe(endpoints.length);
    const document = dereference(composeOpenApi(endpoints, { version, base_url: 'http://x' }));
    for (const each of endpoints) {
      const operation = document.paths[each.path]?.[each.method.toLowerCase()] as {
        operationId: string;
        responses: Record<string, { description: string }>;
      };
      expect(operation.operationId).toBe(each.id);
      for (const code of listErrors(each)) {
        expect(operation.responses[errors[code].status]?.description).toContain(`\`${code}\``);
      }
    }
  });
});

test('only queued and running jobs change their state', () => {
  const from = new Set<string>(job_transitions.map(([state]) => state));
  const final = ['succeeded', 'partial', 'failed', 'needs_review', 'cancelled'];
  expect(job_states).toStrictEqual(['queued', 'running', ...final]);
  expect([...from]).toStrictEqual(['queued', 'running']);
});

test('the version is that of package.json', () => {
  expect(version).toBe(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version);
});
