import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../../../src/catalog/settings/config.ts';
import { startService } from '../../../src/main.ts';
import { createApi } from '../../harness/api.ts';
import { signIn, signInOperator, type TestOperator } from '../../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';

let fixture: TestSandbox;
let operator: TestOperator;
beforeAll(async () => {
  const env = { TRUSTED_PROXIES: '127.0.0.1', DASHBOARD_NETWORKS: '127.0.0.1,203.0.113.0/24,2001:db8::/32' };
  fixture = await startSandbox({ small: true, env });
  operator = await signInOperator(fixture);
});
afterAll(() => fixture?.close());

const from = (address: string) => ({ 'x-forwarded-for': address });
const outside = from('198.51.100.9');

async function get(path: string, headers: Record<string, string> = {}) {
  const response = await fetch(fixture.sandbox.base_url + path, { headers, redirect: 'manual' });
  return { status: response.status, text: await response.text() };
}

describe('outside of DASHBOARD_NETWORKS', () => {
  test.each([
    '/dashboard',
    '/dashboard/',
    '/dashboard/settings/clients',
    '/dashboard/files/main.js',
    '/dashboard/files/brand/icon.svg',
    '/dashboard/api',
    '/dashboard/api/session',
    '/dashboard/api/unknown',
    '/dashboard/sign-in/callback?code=x&state=y',
    '/%64ashboard',
    '/dashboard/%61pi/session',
  ])('%s is refused, with the address in the message', async (path) => {
    const { status, text } = await get(path, outside);
    expect({ status, ...JSON.parse(text) }).toMatchObject({
      status: 403,
      code: 'dashboard_network_refused',
      message: expect.stringContaining('The dashboard is not available from 198.51.100.9.'),
    });
    expect((await get(path, from('203.0.113.9'))).status).not.toBe(403);
  });

  test('signing in is refused before the password is looked at, and a session that is signed in does not work', async () => {
    const { email } = fixture.sandbox.dashboard;
    for (const credentials of [fixture.sandbox.dashboard, { email, password: 'wrong' }]) {
      expect(await signIn(fixture, credentials, outside)).toMatchObject({
        status: 403,
        body: { code: 'dashboard_network_refused' },
      });
    }
    expect((await operator.get('clients', from('2001:db8::7'))).status).toBe(200);
    expect(await operator.get('clients', outside)).toMatchObject({ body: { code: 'dashboard_network_refused' } });
    expect((await operator.patch('clients/{client}', { name: 'Taken over' }, outside)).status).toBe(403);
    expect((await operator.get('clients/{client}')).body.client.name).not.toBe('Taken over');
    // The session itself has not ended.
    expect((await operator.get('clients', from('203.0.113.9'))).status).toBe(200);
  });

  test('the API, Link, the documentation and the probes work as before', async () => {
    const { status } = await fixture.api.call('GET', '/v1/settings', { headers: outside });
    expect(status).toBe(200);
    for (const path of ['/docs', '/link', '/healthz']) expect((await get(path, outside)).status, path).toBe(200);
  });

  test('refusals are counted', async () => {
    const count = async () =>
      (await fixture.ctx.metrics.refused_origins.get()).values.find(
        ({ labels }) => labels.code === 'dashboard_network_refused',
      )?.value ?? 0;
    const before = await count();
    await get('/dashboard', outside);
    expect(await count()).toBe(before + 1);
  });
});

test('every endpoint of the dashboard is below /dashboard, so that its routes are recognized', async () => {
  const { dashboardEndpoints } = await import('../../../src/surfaces/dashboard/endpoints.ts');
  const endpoints = dashboardEndpoints({ live: { open: () => undefined }, findSandboxEmr: () => undefined });
  expect(endpoints.filter(({ path }) => !path.startsWith('/dashboard/'))).toStrictEqual([]);
  expect(endpoints.filter(({ from_anywhere }) => from_anywhere).map(({ id }) => id)).toStrictEqual([
    'dashboard.single-sign-on.logout',
  ]);
});

test('without the setting, the dashboard is available from anywhere', async () => {
  const config = loadConfig({ ...fixture.env, DASHBOARD_NETWORKS: '' });
  const open = await startService(config, { role: 'api', print: () => {} });
  try {
    const api = createApi({ ...fixture.sandbox, base_url: open.ctx.base_url });
    expect((await api.call('GET', '/dashboard', { headers: outside })).status).toBe(200);
  } finally {
    await open.close();
  }
});

test('the identity provider can end sessions from outside of DASHBOARD_NETWORKS', async () => {
  const response = await fetch(`${fixture.sandbox.base_url}/dashboard/sign-in/back-channel-logout`, {
    method: 'POST',
    headers: outside,
    body: new URLSearchParams({ logout_token: 'x' }),
  });
  // Without single sign-on there is nothing to end.
  expect(await response.json()).toMatchObject({ code: 'sso_off' });
});
