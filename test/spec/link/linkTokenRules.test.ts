import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectApiError, startProduction } from '../../api/support.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());

const path = '/link/token/create';
const create = (body: Record<string, unknown>, api = fixture.api) =>
  api.call('POST', path, {
    body: { user_id: 'user-1', org_id: fixture.sandbox.org_id, ...body },
    headers: { access_token: null },
  });
/** A request for a new organization. */
const host_not_plain = 'must name its host in plain ASCII; write an international name in its xn-- form.';
const createNew = (body: Record<string, unknown>) => create({ org_id: 'new-org', emr_name: 'larkspur', ...body });

describe('a link token', () => {
  test('is returned as { success, token } and expires after 30 minutes', async () => {
    const response = await create({});
    expect(response.status).toBe(200);
    expect(response.body).toStrictEqual({ success: true, token: expect.stringMatching(/^lt_[\w-]{43}$/) });
    const [row] = await fixture.owner`SELECT extract(epoch FROM expires_at - created_at)::float8 / 60 AS minutes
      FROM link_tokens ORDER BY created_at DESC LIMIT 1`;
    expect(row?.minutes).toBeCloseTo(30, 1);
  });
});

describe('user_id', () => {
  const message =
    'user_id must not contain personal data such as an email address or a phone number. Use an opaque ID.';

  test.each([
    'jane@example.org',
    'JANE.DOE+x@MAIL.EXAMPLE.ORG',
    'Jane Doe <jane@example.org>',
    'user:jane@example.co.uk',
    '+1 202 555 0143',
    '+12025550143',
    '(202) 555-0143',
    '202-555-0143',
    '202.555.0143',
    '+49 30 901820',
  ])('rejects %s as personal data', async (user_id) => {
    expectApiError(await create({ user_id }), 400, message, 'user_id');
  });

  test.each([
    'user-12345',
    '8842',
    '12345678',
    '2025550143',
    '12025550143',
    '0190b7a4-7c1e-7cc3-98c4-dc0c0c07398f',
    '12345678-1234-1234-1234-123456789012',
    '0190b7a47c1e7cc398c4dc0c0c07398f',
    'auth0|64f1c0ffee',
    'ext:8842:2025',
    'jane@clinic',
    '5',
    '20255501431234567',
    'ünïcode 🙂',
  ])('accepts %s', async (user_id) => {
    expect((await create({ user_id })).status).toBe(200);
  });
});

describe('the EMR of a new organization', () => {
  test('needs a name, then an address', async () => {
    expectApiError(await create({ org_id: 'new-org' }), 400, 'Missing required field: emr_name', 'emr_name');
    const nameless = { org_id: 'new-org', emr_instance_domain: 'emr.example.org' };
    expectApiError(await create(nameless), 400, 'Missing required field: emr_name', 'emr_name');
    const response = await createNew({});
    expectApiError(response, 400, 'Missing required field: emr_instance_domain', 'emr_instance_domain');
  });

  test.each(['epic', 'lark spur', '__proto__'])(
    'rejects the name %j and lists the supported names',
    async (emr_name) => {
      const response = await createNew({ emr_name, emr_instance_domain: 'emr.example.org' });
      expectApiError(response, 400, /^EMR '.*' is not supported\. Supported EMRs: larkspur/, 'emr_name');
      expect(response.body.message).toContain(`'${emr_name}'`);
    },
  );

  test.each([
    ['emr.example.org', 'https://emr.example.org'],
    ['emr.example.org:8443', 'https://emr.example.org:8443'],
    ['https://EMR.Example.ORG/', 'https://emr.example.org'],
    ['https://emr.example.org:443', 'https://emr.example.org'],
    ['http://localhost:4100', 'http://localhost:4100'],
    ['http://127.0.0.1:4100/', 'http://127.0.0.1:4100'],
  ])('accepts the address %s as %s', async (emr_instance_domain, normalized) => {
    expect((await createNew({ emr_instance_domain })).status).toBe(200);
    const [row] = await fixture.owner`SELECT emr_address FROM link_tokens ORDER BY created_at DESC LIMIT 1`;
    expect(row?.emr_address).toBe(normalized);
  });

  test.each([
    ['http://emr.example.org', 'must use https.'],
    ['ftp://emr.example.org', 'must use https.'],
    ['10.0.0.8', 'points to a private or local address.'],
    ['https://192.168.1.1', 'points to a private or local address.'],
    ['https://169.254.169.254', 'points to a private or local address.'],
    ['https://[::ffff:10.0.0.1]', 'points to a private or local address.'],
    ['https://0x0a000001', 'points to a private or local address.'],
    ['https://user:pass@emr.example.org', 'must not contain a user name or password.'],
    ['https://emr.example.org/path', 'must be the address of the practice without a path.'],
    ['https://emr.example.org?x=1', 'must be the address of the practice without a path.'],
    ['https://emr.example.org#x', 'must not have a fragment (#).'],
    ['https://@emr.example.org', 'must not contain a user name or password.'],
    ['user@emr.example.org', 'must not contain a user name or password.'],
    ['https://emr.\texample.org', 'must be a full address, such as https://example.org/path.'],
    ['https://emr.example.org\\@evil.example', 'must be a full address, such as https://example.org/path.'],
    ['https://emr.example.org\\x', 'must be a full address, such as https://example.org/path.'],
    ['https:///emr.example.org', 'must be a full address, such as https://example.org/path.'],
    ['https://emr\u200b.example.org', 'must be a full address, such as https://example.org/path.'],
    ['https://emr。example。org', host_not_plain],
    ['https://ｅmr.example.org', host_not_plain],
    ['https://%65mr.example.org', host_not_plain],
    ['not an address', 'must be a full address, such as https://example.org/path.'],
    ['javascript:alert(1)', 'must be a full address, such as https://example.org/path.'],
  ])('rejects the address %s', async (emr_instance_domain, rule) => {
    const response = await createNew({ emr_instance_domain });
    expectApiError(response, 400, `emr_instance_domain ${rule}`, 'emr_instance_domain');
  });

  test('is not fixed by a link token: the organization is created by its first link', async () => {
    expect((await createNew({ emr_instance_domain: 'typo.example.org' })).status).toBe(200);
    expect(await fixture.owner`SELECT FROM organizations WHERE org_id = 'new-org'`).toHaveLength(0);
    expect((await createNew({ emr_instance_domain: fixture.sandbox.larkspur.url })).status).toBe(200);
  });
});

test('the EMR of an existing organization may be named in full, in part, or not at all', async () => {
  const { url } = fixture.sandbox.larkspur;
  for (const body of [{}, { emr_name: 'Larkspur' }, { emr_instance_domain: `${url}/` }]) {
    expect((await create(body)).status).toBe(200);
  }
});

describe('outside the sandbox', () => {
  test('accepts public https addresses only, has no sandbox endpoint, sends HSTS, and creates live clients', async () => {
    const production = await startProduction({
      OUTBOUND_ALLOW_EMR: 'emr.internal,10.1.2.3:8443',
      BASE_URL: 'https://chartwire.example.org',
    });
    try {
      const { api } = production;
      const at = (emr_instance_domain: string) =>
        create({ org_id: 'o', emr_name: 'larkspur', emr_instance_domain }, api);
      for (const good of ['emr.example.org', 'https://emr.example.org:8443', 'emr.internal', 'https://10.1.2.3:8443']) {
        expect((await at(good)).status, good).toBe(200);
      }
      for (const bad of ['http://emr.example.org', 'http://127.0.0.1:4100']) {
        expectApiError(await at(bad), 400, 'emr_instance_domain must use https.', 'emr_instance_domain');
      }
      for (const bad of ['localhost:4100', 'https://127.0.0.1', 'https://[::1]', '10.1.2.3', 'https://10.1.2.4:8443']) {
        const message = 'emr_instance_domain points to a private or local address.';
        expectApiError(await at(bad), 400, message, 'emr_instance_domain');
      }
      for (const [webhook_url, rule] of [
        ['http://127.0.0.1:9/hook', 'must use https.'],
        ['http://example.org/hook', 'must use https.'],
        ['https://127.0.0.1/hook', 'points to a private or local address.'],
        ['https://localhost/hook', 'points to a private or local address.'],
        ['https://10.1.2.3:8443/hook', 'points to a private or local address.'],
        ['http://emr.internal/hook', 'must use https.'],
      ]) {
        const response = await api.call('POST', '/v1/webhook', {
          body: { webhook_url },
          headers: { access_token: null },
        });
        expectApiError(response, 400, `webhook_url ${rule}`, 'webhook_url');
      }
      const absent = await api.call('POST', '/sandbox/public_token/create', { body: {} });
      expectApiError(absent, 404, 'No such endpoint: POST /sandbox/public_token/create');
      const document = await api.call('GET', '/openapi.json');
      expect(Object.keys(document.body.paths)).not.toContain('/sandbox/public_token/create');
      const { body, headers } = await api.call('GET', '/readyz');
      expect(headers.get('strict-transport-security')).toBe('max-age=31536000');
      const in_sandbox = await fixture.api.call('GET', '/readyz');
      expect(in_sandbox.headers.has('strict-transport-security')).toBe(false);
      expect(body.status).toBe('ready');
      const [client] = await production.service.ctx.db.system`SELECT public_id, mode FROM clients`;
      expect(client).toMatchObject({ mode: 'live', public_id: expect.stringMatching(/^ci_live_/) });
    } finally {
      await production.close();
    }
  });
});
