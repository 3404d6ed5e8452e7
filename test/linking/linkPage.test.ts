import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sign_ins_max } from '../../src/product/link/linkTokens.ts';
import { expectApiError, newClient } from '../api/support.ts';
import type { ApiResponse } from '../harness/api.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { type LinkSteps, linkSteps } from './linkSteps.ts';

let fixture: TestSandbox;
let steps: LinkSteps;
beforeAll(async () => {
  fixture = await startSandbox({ small: true, sync_after_link: false });
  steps = linkSteps(fixture);
});
afterAll(() => fixture.close());

/** Calls the API as the page does: with the link token and without client credentials. */
const no_credentials = { client_id: null, client_secret: null, access_token: null };
const session = (token: string): Promise<ApiResponse> =>
  fixture.api.call('GET', '/link/v1/session', { headers: { ...no_credentials, 'link-token': token } });
const signIn = (token: string, staff: number, fields: Record<string, unknown> = {}): Promise<ApiResponse> => {
  const { username, password } = fixture.sandbox.larkspur.staff[staff] ?? {};
  const body = { credentials: { username, password }, one_time_code: fixture.api.code(staff), ...fields };
  return fixture.api.call('POST', '/link/v1/sign-in', { body, headers: { ...no_credentials, 'link-token': token } });
};
/** Signs in as a person who agreed to what the page shows. */
const agreeAndSignIn = async (token: string, staff: number): Promise<ApiResponse> => {
  expect((await steps.consent(token)).status).toBe(200);
  return signIn(token, staff);
};
const page = (token: string): Promise<ApiResponse> => {
  const hash = createHash('sha256').update(token).digest('hex');
  return fixture.api.call('GET', `/link/v1/frame/${hash}`, { headers: no_credentials });
};

describe('GET /link/v1/session', () => {
  test('is limited for each link, and does not count against the limit of the application', async () => {
    const [token, other] = [await steps.linkToken(), await steps.linkToken()];
    const remaining = async () => Number((await fixture.api.callIn()).headers.get('ratelimit-remaining'));
    const [before, loads] = [await remaining(), 40];
    const sent = await Promise.all(Array.from({ length: loads }, () => session(token)));
    const refused = sent.filter(({ status }) => status === 429);
    // It asks the EMR each time.
    expect(refused.length).toBeGreaterThan(loads / 2);
    for (const each of refused) expect(Number(each.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await remaining()).toBeGreaterThanOrEqual(before - 2);
    expect((await session(other)).status).toBe(200);
  });

  test('returns what the page shows, without secrets', async () => {
    const response = await session(await steps.linkToken({ org_id: 'drawn', language: 'es' }));
    expect(response.status).toBe(200);
    expect(response.body).toStrictEqual({
      success: true,
      emr: 'Larkspur',
      product: 'Larkspur',
      app: null,
      organization: 'drawn',
      emr_host: new URL(fixture.sandbox.larkspur.url).host,
      emr_address: new URL(fixture.sandbox.larkspur.url).host,
      problem: null,
      access: {
        known: true,
        reads: expect.arrayContaining(['patients', 'appointments', 'claims', 'providers']),
        writes: [
          ...['patients', 'insurance', 'appointments', 'documents', 'payments', 'claims', 'messages', 'notes', 'tasks'],
          ...['refills', 'referrals', 'providers'],
        ],
      },
      consent: { terms_id: expect.stringMatching(/^[0-9a-f]{64}$/), required: true },
      update: false,
      fields: [
        {
          name: 'username',
          label: 'Username',
          secret: false,
          autocomplete: 'username',
          optional: false,
          known: false,
          value: null,
        },
        {
          name: 'password',
          label: 'Password',
          secret: true,
          autocomplete: 'current-password',
          optional: false,
          known: false,
          value: null,
        },
      ],
      ways: [],
      way: null,
      resend_code: false,
      code_digits: 6,
      codes_page: `${fixture.sandbox.larkspur.url}/codes`,
      language: 'es',
      returns: false,
      finds_practice: false,
      outage_since: null,
      practice: null,
      client: { name: 'Sandbox', logo: null, colour: '#0b5a6e' },
      expires_at: expect.stringMatching(/Z$/),
      resumable: false,
    });
    expect(response.headers.get('set-cookie')).toBeNull();
  });

  test('GET /link/v1/session in update mode returns the known fields, with the user name and without the password', async () => {
    const access_token = await fixture.api.link({ user_id: 'known', staff: 1 });
    const { org_id, larkspur } = fixture.sandbox;
    const { body } = await session(await steps.linkToken({ user_id: 'known', org_id, access_token }));
    expect(body.update).toBe(true);
    expect(body.fields).toMatchObject([
      { name: 'username', known: true, value: larkspur.staff[1]?.username },
      { name: 'password', known: true, value: null },
    ]);
    expect(JSON.stringify(body)).not.toContain(larkspur.staff[1]?.password);
  });

  test('is not in the reference and requires a link token', async () => {
    const { body } = await fixture.api.call('GET', '/openapi.json');
    expect(Object.keys(body.paths).filter((path) => path.startsWith('/link/v1'))).toStrictEqual([]);
    expectApiError(await fixture.api.call('GET', '/link/v1/session'), 404, 'link_token not found.');
    expectApiError(await session('lt_nonsense'), 404, 'link_token not found.');
    const in_address = await fixture.api.call('GET', `/link/v1/session?token=${await steps.linkToken()}`);
    expect(in_address.status).toBe(404);
  });
});

describe('a link token that is no longer valid', () => {
  const ways: [string, number, (token: string, org_id: string) => Promise<unknown>][] = [
    ['used', 410, (token) => steps.signIn(token, 1)],
    [
      'expired',
      410,
      (_token, org_id) => fixture.owner`UPDATE link_tokens SET expires_at = now() WHERE org_id = ${org_id}`,
    ],
  ];
  test.each(ways)('%s: the page shows the reason, and the token cannot be used', async (state, status, end) => {
    const token = await steps.linkToken({ org_id: `gone-${state}` });
    await end(token, `gone-${state}`);
    for (const response of [await session(token), await signIn(token, 1)]) {
      expectApiError(response, status, /Create a new one/);
      expect(response.body.code).toBe(`link_${state}`);
    }
    const response = await page(token);
    expect([response.status, response.body]).toStrictEqual([status, expect.stringContaining(`data-state="${state}"`)]);
    // The client's registered origins may frame this page too.
    expect(response.headers.get('content-security-policy')).toContain('frame-ancestors http://localhost:*');
  });

  test('is exhausted after too many sign-ins, which prevents password guessing', async () => {
    const token = await steps.linkToken();
    await steps.consent(token);
    // Unknown user names, so that no account is locked.
    const guess = (n: number) => signIn(token, 1, { credentials: { username: `guess-${n}`, password: 'x' } });
    const responses = await Promise.all(Array.from({ length: sign_ins_max + 5 }, (_, n) => guess(n)));
    const codes = responses.map((response) => response.body.code);
    expect(codes.filter((code) => code === 'emr_credentials_wrong')).toHaveLength(sign_ins_max);
    expect(new Set(codes.filter((code) => code !== 'emr_credentials_wrong'))).toContain('link_exhausted');
    const right = await signIn(token, 1);
    expectApiError(right, 410, 'Too many sign-in attempts with this link_token. Create a new one.');
    expect((await page(token)).body).toContain('data-state="exhausted"');
    expect((await steps.signIn(token, 1)).status).toBe(400);
  });

  test('a sign-in with a missing field is not counted', async () => {
    const token = await steps.linkToken({ org_id: 'lacking' });
    await steps.consent(token);
    for (let n = 0; n <= sign_ins_max; n += 1) {
      expectApiError(await signIn(token, 1, { credentials: {} }), 400, /credentials\.username/);
    }
    expect(await fixture.owner`SELECT attempts FROM link_tokens WHERE org_id = 'lacking'`).toMatchObject([
      { attempts: 0 },
    ]);
    expect((await signIn(token, 1)).status).toBe(200);
  });
});

describe('POST /link/v1/sign-in', () => {
  test('links the account and returns a public token bound to the client', async () => {
    const other = await newClient(fixture);
    const response = await agreeAndSignIn(await steps.linkToken({}, other.api), 1);
    expect(response.body).toStrictEqual({
      success: true,
      public_token: expect.stringMatching(/^pt_[\w-]{43}$/),
      return_to: null,
      practice: { account_id: expect.stringMatching(/^[0-9a-f]{32}$/), pass: expect.stringMatching(/^pp_[\w-]{43}$/) },
    });
    expectApiError(await steps.exchange(response.body.public_token), 400, 'Invalid or expired public_token.');
    expect((await steps.exchange(response.body.public_token, other.api)).status).toBe(200);
  });

  test.each([
    ['https://app.example.org/back', '?token=TOKEN'],
    ['https://app.example.org/back?a=1&b=%20', '&token=TOKEN'],
    ['https://app.example.org/back#/route?x', '?token=TOKEN'],
  ])('returns to %s with the token appended', async (callback_url, added) => {
    const client = await newClient(fixture, { callback_urls: [callback_url] });
    const { body } = await agreeAndSignIn(await steps.linkToken({ callback_url }, client.api), 1);
    const [address, fragment] = callback_url.split('#');
    const expected = `${address}${added.replace('TOKEN', body.public_token)}${fragment ? `#${fragment}` : ''}`;
    expect(body.return_to).toBe(expected);
  });

  test('links exactly once for parallel requests with one link token', async () => {
    const token = await steps.linkToken();
    await steps.consent(token);
    const responses = await Promise.all([1, 1, 1, 1].map((staff) => signIn(token, staff)));
    expect(responses.filter((response) => response.status === 200)).toHaveLength(1);
    for (const { status, body } of responses.filter((response) => response.status !== 200)) {
      expect(['link_used', 'link_token_invalid']).toContain(body.code);
      expect([400, 410]).toContain(status);
    }
  });
});

describe('static files and pages', () => {
  test('the script is one file of less than 15 KB compressed, for pages of any origin', async () => {
    const response = await fetch(fixture.sandbox.link_script_url);
    const text = await response.text();
    expect(text).toContain('CobaltLink');
    expect(gzipSync(text).length).toBeLessThan(15 * 1024);
    expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(response.headers.get('content-encoding')).toBe('gzip');
    expect(response.headers.get('cross-origin-resource-policy')).toBe('cross-origin');
  });

  test('a page is uncached, sends no referrer and runs only its own files', async () => {
    const token = await steps.linkToken();
    for (const { headers, body } of [await page(token), await fixture.api.call('GET', `/link?token=${token}`)]) {
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('set-cookie')).toBeNull();
      const policy = headers.get('content-security-policy')?.split(';') ?? [];
      expect(policy).toEqual(expect.arrayContaining(["default-src 'none'", "script-src 'self'", "base-uri 'none'"]));
      expect(body).not.toContain(token);
      expect(body).not.toMatch(/<script(?![^>]* src=)/);
    }
  });

  test('an invalid hash or token shows an unknown link', async () => {
    for (const path of [
      '/link/v1/frame/x',
      `/link/v1/frame/${'0'.repeat(64)}`,
      '/link?token=x',
      '/link?token=&token=x',
    ]) {
      const response = await fixture.api.call('GET', path, { headers: no_credentials });
      expect([response.status, response.body]).toStrictEqual([404, expect.stringContaining('data-state="unknown"')]);
    }
  });
});
