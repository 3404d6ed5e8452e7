import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { expectRefusal, newClient, type OtherClient, startProduction } from '../../api/support.ts';

let world: TestSandbox;
let other: OtherClient;
beforeAll(async () => {
  world = await startSandbox();
  other = await newClient(world, { callback_urls: ['https://app.example.org/linked'] });
});
afterAll(() => world.close());

const path = '/link/token/create';
const create = (body: Record<string, unknown>, api = world.api) =>
  api.call('POST', path, {
    body: { user_id: 'user-1', org_id: world.sandbox.org_id, ...body },
    headers: { access_token: null },
  });
/** A new organization of the sandbox's client. */
const found = (body: Record<string, unknown>) => create({ org_id: 'new-org', emr_name: 'larkspur', ...body });
const tokens = async () => Number((await world.owner`SELECT count(*) AS n FROM link_tokens`)[0]?.n);

describe('a link token', () => {
  test('is answered as { success, token }, for 30 minutes', async () => {
    const answer = await create({});
    expect(answer.status).toBe(200);
    expect(answer.body).toStrictEqual({ success: true, token: expect.stringMatching(/^lt_[\w-]{43}$/) });
    const [row] = await world.owner`SELECT extract(epoch FROM expires_at - created_at)::float8 / 60 AS minutes
      FROM link_tokens ORDER BY created_at DESC LIMIT 1`;
    expect(row?.minutes).toBeCloseTo(30, 1);
  });

  test('is not made by a refused request', async () => {
    const before = await tokens();
    await create({ user_id: 'jane@example.org' });
    await found({});
    await create({ callback_url: 'https://evil.example.org' });
    expect(await tokens()).toBe(before);
  });
});

describe('user_id', () => {
  const apiError =
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
    '2025550143',
    '12025550143',
    '555-0143',
    '+49 30 901820',
  ])('%s is personal: 400', async (user_id) => {
    expectRefusal(await create({ user_id }), 400, apiError, 'user_id');
  });

  test.each([
    'user-12345',
    '8842',
    '12345678',
    '0190b7a4-7c1e-7cc3-98c4-dc0c0c07398f',
    '12345678-1234-1234-1234-123456789012',
    '0190b7a47c1e7cc398c4dc0c0c07398f',
    'auth0|64f1c0ffee',
    'ext:8842:2025',
    'jane@clinic',
    '5',
    '20255501431234567',
    'ünïcode 🙂',
  ])('%s is an id: 200', async (user_id) => {
    expect((await create({ user_id })).status).toBe(200);
  });
});

describe('the EMR of a new organization', () => {
  test('must be named, then its address', async () => {
    expectRefusal(await create({ org_id: 'new-org' }), 400, 'Missing required field: emr_name', 'emr_name');
    const nameless = { org_id: 'new-org', emr_instance_domain: 'emr.example.org' };
    expectRefusal(await create(nameless), 400, 'Missing required field: emr_name', 'emr_name');
    const answer = await found({});
    expectRefusal(answer, 400, 'Missing required field: emr_instance_domain', 'emr_instance_domain');
  });

  test.each(['larkspur', 'Larkspur', 'LARKSPUR'])('is known as %s', async (emr_name) => {
    expect((await found({ emr_name, emr_instance_domain: world.sandbox.larkspur.url })).status).toBe(200);
  });

  test.each(['epic', 'larkspur ', '__proto__'])('is not known as %j: 400 with the names that are', async (emr_name) => {
    const answer = await found({ emr_name, emr_instance_domain: 'emr.example.org' });
    expectRefusal(answer, 400, /^EMR '.*' is not supported\. Supported EMRs: larkspur/, 'emr_name');
    expect(answer.body.message).toContain(`'${emr_name}'`);
  });

  test.each([
    ['emr.example.org', 'https://emr.example.org'],
    ['emr.example.org:8443', 'https://emr.example.org:8443'],
    ['https://EMR.Example.ORG/', 'https://emr.example.org'],
    ['https://emr.example.org:443', 'https://emr.example.org'],
    ['http://localhost:4100', 'http://localhost:4100'],
    ['http://127.0.0.1:4100/', 'http://127.0.0.1:4100'],
  ])('may be at %s, which means %s', async (emr_instance_domain, meant) => {
    expect((await found({ emr_instance_domain })).status).toBe(200);
    const [row] = await world.owner`SELECT emr_address FROM link_tokens ORDER BY created_at DESC LIMIT 1`;
    expect(row?.emr_address).toBe(meant);
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
    ['not an address', 'must be a full address, such as https://example.org/path.'],
    ['javascript:alert(1)', 'must be a full address, such as https://example.org/path.'],
  ])('may not be at %s', async (emr_instance_domain, rule) => {
    const answer = await found({ emr_instance_domain });
    expectRefusal(answer, 400, `emr_instance_domain ${rule}`, 'emr_instance_domain');
  });

  test('a mistyped domain does not stick: the organization comes to exist at its first link', async () => {
    expect((await found({ emr_instance_domain: 'typo.example.org' })).status).toBe(200);
    expect(await world.owner`SELECT FROM organizations WHERE org_id = 'new-org'`).toHaveLength(0);
    expect((await found({ emr_instance_domain: world.sandbox.larkspur.url })).status).toBe(200);
  });
});

describe('the EMR of an existing organization', () => {
  test('need not be named, in whole or in part', async () => {
    const { url } = world.sandbox.larkspur;
    for (const body of [{}, { emr_name: 'Larkspur' }, { emr_instance_domain: `${url}/` }]) {
      expect((await create(body)).status).toBe(200);
    }
  });

  test('must match where it is named', async () => {
    const name = await create({ emr_name: 'epic' });
    expectRefusal(name, 400, /^EMR 'epic' is not supported/, 'emr_name');
    const domain = await create({ emr_instance_domain: 'https://elsewhere.example.org' });
    const message = 'emr_instance_domain does not match the EMR address of this organization.';
    expectRefusal(domain, 400, message, 'emr_instance_domain');
  });

  test('must be the same EMR, not only one that is supported', async () => {
    await world.owner`UPDATE organizations SET connector = 'another' WHERE org_id = ${world.sandbox.org_id}`;
    try {
      const answer = await create({ emr_name: 'larkspur' });
      expectRefusal(answer, 400, 'emr_name does not match the EMR of this organization.', 'emr_name');
    } finally {
      await world.owner`UPDATE organizations SET connector = 'larkspur' WHERE org_id = ${world.sandbox.org_id}`;
    }
  });

  test('of another client is a new one to this client, even under the same org_id', async () => {
    const answer = await create({}, other.api);
    expectRefusal(answer, 400, 'Missing required field: emr_name', 'emr_name');
  });
});

describe('update mode', () => {
  const mine = () => ({
    user_id: world.sandbox.user_id,
    org_id: world.sandbox.org_id,
    access_token: world.sandbox.access_token,
  });

  test('takes the access token of that user in that organization', async () => {
    expect((await create(mine())).status).toBe(200);
  });

  test('answers 404 User not found. to every other one', async () => {
    const foreign = await other.api.link({ user_id: 'theirs', org_id: 'theirs', staff: 1 });
    for (const body of [
      { ...mine(), access_token: 'nonsense' },
      { ...mine(), access_token: '' },
      { ...mine(), access_token: foreign },
      { ...mine(), user_id: 'someone-else' },
      { ...mine(), org_id: 'elsewhere' },
    ]) {
      expectRefusal(await create(body), 404, 'User not found.', 'access_token');
    }
    expectRefusal(await create(mine(), other.api), 404, 'User not found.', 'access_token');
  });
});

describe('callback_url and language', () => {
  test('a callback_url must be registered for the client, to the letter', async () => {
    const body = { org_id: 'cb', emr_name: 'larkspur', emr_instance_domain: 'emr.example.org' };
    const ask = (callback_url: string, api = other.api) => create({ ...body, callback_url }, api);
    expect((await ask('https://app.example.org/linked')).status).toBe(200);
    const apiError = 'callback_url is not registered for this client.';
    for (const url of [
      'https://app.example.org/',
      'https://app.example.org/linked/x',
      'https://evil.example.org',
      '',
    ]) {
      expectRefusal(await ask(url), 400, apiError, 'callback_url');
    }
    expectRefusal(await ask('https://app.example.org/linked', world.api), 400, apiError, 'callback_url');
  });

  test('language is en or es', async () => {
    for (const language of ['en', 'es']) expect((await create({ language })).status).toBe(200);
    for (const language of ['EN', 'fr', '', null]) {
      expectRefusal(await create({ language }), 400, 'language must be one of: en, es', 'language');
    }
  });
});

describe('outside the sandbox', () => {
  test('addresses are https and public, there is no sandbox endpoint, and clients are live ones', async () => {
    const production = await startProduction({ OUTBOUND_ALLOW: 'emr.internal,10.1.2.3:8443' });
    try {
      const { api } = production;
      const at = (emr_instance_domain: string) =>
        create({ org_id: 'o', emr_name: 'larkspur', emr_instance_domain }, api);
      for (const good of ['emr.example.org', 'https://emr.example.org:8443', 'emr.internal', 'https://10.1.2.3:8443']) {
        expect((await at(good)).status, good).toBe(200);
      }
      for (const bad of ['http://emr.example.org', 'http://127.0.0.1:4100']) {
        expectRefusal(await at(bad), 400, 'emr_instance_domain must use https.', 'emr_instance_domain');
      }
      for (const bad of ['localhost:4100', 'https://127.0.0.1', 'https://[::1]', '10.1.2.3', 'https://10.1.2.4:8443']) {
        const refused = 'emr_instance_domain points to a private or local address.';
        expectRefusal(await at(bad), 400, refused, 'emr_instance_domain');
      }
      for (const [webhook_url, rule] of [
        ['http://127.0.0.1:9/hook', 'must use https.'],
        ['http://example.org/hook', 'must use https.'],
        ['https://127.0.0.1/hook', 'points to a private or local address.'],
        ['https://localhost/hook', 'points to a private or local address.'],
      ]) {
        const answer = await api.call('POST', '/v1/webhook', {
          body: { webhook_url },
          headers: { access_token: null },
        });
        expectRefusal(answer, 400, `webhook_url ${rule}`, 'webhook_url');
      }
      const absent = await api.call('POST', '/sandbox/public_token/create', { body: {} });
      expectRefusal(absent, 404, 'No such endpoint: POST /sandbox/public_token/create');
      const document = await api.call('GET', '/openapi.json');
      expect(Object.keys(document.body.paths)).not.toContain('/sandbox/public_token/create');
      const { body } = await api.call('GET', '/readyz');
      expect(body.status).toBe('ready');
      const [client] = await production.service.ctx.db.system`SELECT public_id, mode FROM clients`;
      expect(client).toMatchObject({ mode: 'live', public_id: expect.stringMatching(/^ci_live_/) });
    } finally {
      await production.close();
    }
  });
});
