import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConnectionError } from '../../sql/errors.ts';
import { apiError } from '../../src/catalog/errors.ts';
import { addressKey, createAddressLimit } from '../../src/http/limits/addressLimit.ts';
import { rateLimiter } from '../../src/http/limits/rateLimit.ts';
import { findClient, findClientByPublicId } from '../../src/product/clients/clients.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { expectApiError, newClient, raw } from './support.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({
    small: true,
    env: {
      RATE_LIMIT: '5',
      RATE_BURST: '10',
      ADDRESS_RATE_LIMIT: '1',
      ADDRESS_RATE_BURST: '50',
      TRUSTED_PROXIES: '127.0.0.1',
    },
  });
});
afterAll(() => fixture.close());

test('credentials that spell the name of another lookup are unknown', async () => {
  const client = await newClient(fixture);
  const client_row = await findClientByPublicId(fixture.ctx, client.client_id);
  await findClient(fixture.ctx, client_row?.id ?? '');
  for (const client_id of [`by public id ${client.client_id}`, `by id ${client_row?.id}`]) {
    const headers = { access_token: null, client_id, client_secret: 'x' };
    const response = await fixture.api.call('GET', '/link/emrs', { headers });
    expect([response.status, response.body.code]).toEqual([401, 'client_credentials_invalid']);
  }
});

test('allows a burst, then returns 429 with retry-after', async () => {
  const client = await newClient(fixture);
  const send = () => client.api.call('GET', '/link/emrs', { headers: { access_token: null } });
  const responses = await Promise.all(Array.from({ length: 60 }, send));
  const refused = responses.filter((response) => response.status === 429);
  const allowed = responses.filter((response) => response.status === 200);
  // Five tokens per second refill: a slow machine lets some more requests through, but not all within ten seconds.
  expect(allowed.length).toBeGreaterThanOrEqual(10);
  expect(allowed.length).toBeLessThan(60);
  for (const response of refused) {
    expectApiError(response, 429, 'Rate limit exceeded.');
    expect(response.headers.get('retry-after')).toBe('1');
    expect(response.headers.get('ratelimit-remaining')).toBe('0');
  }
  for (const response of allowed) {
    expect(response.headers.get('ratelimit-limit')).toBe('10');
    expect(Number(response.headers.get('ratelimit-remaining'))).toBeLessThan(10);
    expect(Number(response.headers.get('ratelimit-reset'))).toBeGreaterThanOrEqual(1);
  }
  expect(allowed.some((response) => response.headers.get('ratelimit-remaining') === '9')).toBe(true);
  const other = await newClient(fixture);
  expect((await other.api.call('GET', '/link/emrs', { headers: { access_token: null } })).status).toBe(200);
  expect((await fixture.api.call('GET', '/healthz')).status).toBe(200);
  await expect.poll(async () => (await send()).status, { interval: 100 }).toBe(200);
});

test('rejects the eleventh request of a burst of ten, and allows one more after 200 ms', () => {
  let now = 0;
  const limit = rateLimiter(5, 10, () => now);
  const grants = Array.from({ length: 12 }, () => limit('a').allowed);
  expect(grants).toStrictEqual([...Array(10).fill(true), false, false]);
  expect(limit('b')).toMatchObject({ allowed: true, remaining: 9 });
  now = 199;
  expect(limit('a').allowed).toBe(false);
  now = 200;
  expect(limit('a').allowed).toBe(true);
  expect(limit('a')).toMatchObject({ allowed: false, remaining: 0, reset_s: 1 });
  now = 3_600_000;
  expect(Array.from({ length: 12 }, () => limit('a').allowed)).toStrictEqual([...Array(10).fill(true), false, false]);
});

describe('requests without valid credentials are limited by address', () => {
  let addresses = 0;
  const anonymous = { client_id: null, client_secret: null, access_token: null };
  const statuses = async (
    count: number,
    address: string,
    send: (headers: Record<string, string | null>) => Promise<{ status: number }>,
  ) => {
    const headers = { ...anonymous, 'x-forwarded-for': address };
    const responses = await Promise.all(Array.from({ length: count }, () => send(headers)));
    return responses.map(({ status }) => status);
  };
  // One token per second refills: a slow machine lets some more requests through, but not all within 100 seconds.
  const expectLimited = (received: number[]) => {
    const limited = received.filter((status) => status === 429).length;
    expect(limited).toBeGreaterThan(0);
    expect(limited).toBeLessThanOrEqual(received.length - 2);
  };

  test.each([
    ['the metrics', 'GET', '/metrics'],
    ['the OpenAPI document', 'GET', '/openapi.json'],
    ['a page', 'GET', '/dashboard'],
    ['a file of a page', 'GET', '/link/v1/link.js'],
    ['the Link page', 'GET', '/link?token=unknown'],
    ['a path that does not exist', 'GET', '/nothing'],
    ['an endpoint without authentication', 'GET', '/dashboard/api/session'],
    ['the API without credentials', 'GET', '/v1/patients'],
    ['the dashboard without a session', 'GET', '/dashboard/api/clients'],
    ['Link without a valid token', 'GET', '/link/v1/session'],
    ['an unknown receiver', 'POST', '/receiver/unknown'],
  ])('%s', async (_name, method, path) => {
    const address = `192.0.2.${++addresses}`;
    expectLimited(await statuses(80, address, (headers) => fixture.api.call(method, path, { headers })));
    const other = await statuses(1, '198.51.100.1', (headers) => fixture.api.call(method, path, { headers }));
    expect(other).not.toContain(429);
  });

  test('a password check counts as 25 requests', async () => {
    const sign_in = { body: { email: 'nobody@example.test', password: 'x' } };
    const origin = fixture.sandbox.base_url;
    const received = await statuses(20, '203.0.113.1', (headers) =>
      fixture.api.call('POST', '/dashboard/api/session', { ...sign_in, headers: { ...headers, origin } }),
    );
    expect(received.filter((status) => status !== 429)).toHaveLength(2);
  });

  test('the practice page, whose requests take nothing from the limit of the application', async () => {
    const [account] = await fixture.owner<
      { id: string }[]
    >`SELECT replace(id::text, '-', '') AS id FROM accounts LIMIT 1`;
    const from = { ...anonymous, 'x-forwarded-for': '203.0.113.4' };
    const entered = await fixture.api.call('POST', '/practice/v1/entry', {
      headers: from,
      body: { account: account?.id },
    });
    const link_token: string = entered.body.token;
    const remaining = async () => {
      const { headers } = await fixture.api.call('GET', '/link/emrs', { headers: { access_token: null } });
      return Number(headers.get('ratelimit-remaining'));
    };
    const at_first = await remaining();
    const received = await statuses(20, '203.0.113.4', (headers) =>
      fixture.api.call('GET', '/practice/v1/sign-in', { headers: { ...headers, 'link-token': link_token } }),
    );
    expect(received.filter((status) => status === 200).length).toBeLessThanOrEqual(5);
    expect(received).toContain(429);
    expect(await remaining()).toBeGreaterThanOrEqual(at_first - 1);
  });

  test('the sign-in of the practice page, also from many addresses', async () => {
    const [account] = await fixture.owner<
      { id: string }[]
    >`SELECT replace(id::text, '-', '') AS id FROM accounts LIMIT 1`;
    const headersFrom = (address: string) => ({ ...anonymous, 'x-forwarded-for': address });
    const entered = await fixture.api.call('POST', '/practice/v1/entry', {
      headers: headersFrom('203.0.113.5'),
      body: { account: account?.id },
    });
    const received = await Promise.all(
      Array.from({ length: 80 }, async (_, n) => {
        const headers = { ...headersFrom(`198.51.100.${n}`), 'link-token': entered.body.token };
        return (await fixture.api.call('GET', '/practice/v1/sign-in', { headers })).status;
      }),
    );
    expect(received).toContain(200);
    expect(received).toContain(429);
  });

  test('health checks are not limited', async () => {
    for (const path of ['/healthz', '/readyz']) {
      const received = await statuses(100, '203.0.113.2', (headers) => fixture.api.call('GET', path, { headers }));
      expect(new Set(received)).toStrictEqual(new Set([200]));
    }
  });

  test('a caller that was valid before is served at an address that is over its limit', async () => {
    const address = '203.0.113.3';
    const call = () => fixture.api.call('GET', '/v1/providers', { headers: { 'x-forwarded-for': address } });
    expect((await call()).status).toBe(200);
    expectLimited(await statuses(80, address, (headers) => fixture.api.call('GET', '/v1/patients', { headers })));
    expect((await call()).status).toBe(200);
    const unknown = { 'x-forwarded-for': address, client_secret: 'guess' };
    // Several, because a token may have been refilled meanwhile.
    const guess = () => fixture.api.call('GET', '/v1/providers', { headers: unknown });
    const limited = (await Promise.all(Array.from({ length: 10 }, guess))).find(({ status }) => status === 429);
    expectApiError(limited ?? (await guess()), 429, 'Rate limit exceeded.');
  });

  test('a large body over the limit is not read: its connection ends', async () => {
    const address = '203.0.113.5';
    expectLimited(await statuses(80, address, (headers) => fixture.api.call('GET', '/v1/patients', { headers })));
    const post = (bytes: number) =>
      raw(fixture.sandbox.base_url, {
        ...{ method: 'POST', path: '/v1/patients' },
        headers: {
          'content-type': 'application/json',
          'content-length': `${bytes}`,
          connection: 'keep-alive',
          'x-forwarded-for': address,
        },
        // The rest is never sent.
        body: [Buffer.alloc(Math.min(bytes, 1_000), ' ')],
      });
    const connections = async (bytes: number) => {
      const responses = await Promise.all(Array.from({ length: 10 }, () => post(bytes)));
      return new Set(responses.filter(({ status }) => status === 429).map(({ headers }) => headers.connection));
    };
    expect(await connections(1_000_000_000)).toStrictEqual(new Set(['close']));
    expect(await connections(1_000)).toStrictEqual(new Set(['keep-alive']));
  });

  test('a body without end, or larger than any we accept, is not read without credentials', async () => {
    const post = (headers: Record<string, string>) =>
      raw(fixture.sandbox.base_url, {
        ...{ method: 'POST', path: '/v1/patients' },
        headers: {
          'content-type': 'application/json',
          connection: 'keep-alive',
          'x-forwarded-for': '203.0.113.6',
          ...headers,
        },
        // The rest is never sent.
        body: [Buffer.from('400\r\n'), Buffer.alloc(900, ' ')],
      });
    const usual = await post({ 'content-length': '1000000' });
    expect([usual.status, usual.headers.connection]).toStrictEqual([401, 'keep-alive']);
    const endless = await post({ 'transfer-encoding': 'chunked' });
    expect([endless.status, endless.headers.connection]).toStrictEqual([401, 'close']);
    const huge = await post({ 'content-length': '1000000000' });
    expect([huge.status, huge.headers.connection]).toStrictEqual([401, 'close']);
  });

  test('the log of requests does not fill with rejected ones', async () => {
    const address = '203.0.113.4';
    await statuses(80, address, (headers) => fixture.api.call('GET', '/v1/orders', { headers }));
    await fixture.api.call('GET', '/v1/claims');
    await expect.poll(() => fixture.owner`SELECT FROM requests WHERE endpoint = 'claims.list'`).toHaveLength(1);
    const logged = await fixture.owner`SELECT code FROM requests WHERE endpoint = 'orders.list'`;
    expect(logged.length).toBeGreaterThan(0);
    expect(new Set(logged.map(({ code }) => code))).toStrictEqual(new Set(['client_credentials_invalid']));
  });
});

test('large responses to requests without credentials count by their size', async () => {
  const headers = { 'x-forwarded-for': '203.0.113.9' };
  let served = 0;
  while ((await fixture.api.call('GET', '/openapi.json', { headers })).status === 200) served += 1;
  // Of requests without a body the same address gets at least 50.
  expect(served).toBeGreaterThan(0);
  expect(served).toBeLessThan(40);
});

describe('an address limit', () => {
  const request = { ip: '192.0.2.1', headers: {} };
  const valid = async () => 'caller';
  const invalid = async () => {
    throw apiError('client_credentials_invalid');
  };

  test('does not count requests that authenticate', async () => {
    const { authenticate } = createAddressLimit(rateLimiter(1, 50));
    for (let n = 0; n < 200; n++) expect(await authenticate(request, `credential ${n}`, valid)).toBe('caller');
  });

  test('counts parallel failures before they are known', async () => {
    const { authenticate } = createAddressLimit(rateLimiter(1, 50));
    let lookups = 0;
    const failing = () => {
      lookups += 1;
      return invalid();
    };
    await Promise.allSettled(Array.from({ length: 500 }, (_, n) => authenticate(request, `guess ${n}`, failing)));
    expect(lookups).toBe(50);
  });

  test('over the limit, credentials that are refused because of the network look like unknown ones', async () => {
    const { authenticate } = createAddressLimit(rateLimiter(1, 50));
    await authenticate(request, 'known', valid);
    const refused = () => Promise.reject(apiError('client_network_refused', { address: '192.0.2.1' }));
    const attempt = (credential: string) => authenticate(request, credential, refused).catch(({ code }) => code);
    for (let n = 0; n < 50; n++) expect(await attempt('known')).toBe('client_network_refused');
    expect([await attempt('known'), await attempt('unknown')]).toStrictEqual(['rate_limited', 'rate_limited']);
  });

  test('counts a failure with a body of 1 MB like 17 failures', async () => {
    const { authenticate } = createAddressLimit(rateLimiter(1, 50));
    const large = { ...request, headers: { 'content-length': `${1_048_576}` } };
    const attempt = () => authenticate(large, undefined, invalid).catch(({ code }) => code);
    expect([await attempt(), await attempt(), await attempt(), await attempt()]).toStrictEqual([
      ...Array(3).fill('client_credentials_invalid'),
      'rate_limited',
    ]);
  });

  test('counts a response of 320 KB like 6 requests', async () => {
    const { count, chargeBodies } = createAddressLimit(rateLimiter(1, 12));
    const read = async () => {
      await count(request, 1);
      chargeBodies(request, 320 * 1024);
    };
    await read();
    await read();
    await expect(read()).rejects.toMatchObject({ code: 'rate_limited' });
  });

  test('does not count the body of a request that authenticates', async () => {
    const { authenticate } = createAddressLimit(rateLimiter(1, 50));
    const large = { ...request, headers: { 'content-length': `${5_000_000}` } };
    for (let n = 0; n < 200; n++) expect(await authenticate(large, `credential ${n}`, valid)).toBe('caller');
  });

  test('does not count failures of the database', async () => {
    const { authenticate } = createAddressLimit(rateLimiter(1, 50));
    const lost = () => Promise.reject(new ConnectionError('CONNECTION_CLOSED'));
    for (let n = 0; n < 200; n++) {
      await expect(authenticate(request, 'a', lost)).rejects.toThrow('The connection to the database was lost.');
    }
  });

  test('counts unexpected errors, because a request may have caused them', async () => {
    const { authenticate } = createAddressLimit(rateLimiter(1, 50));
    const broken = () => Promise.reject(new TypeError('not a function'));
    for (let n = 0; n < 50; n++) await expect(authenticate(request, 'a', broken)).rejects.toThrow('not a function');
    await expect(authenticate(request, 'a', broken)).rejects.toMatchObject({ code: 'rate_limited' });
  });

  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002::1', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
  ])('treats %s as %s', (address, key) => {
    expect(addressKey(address)).toBe(key);
  });
});
