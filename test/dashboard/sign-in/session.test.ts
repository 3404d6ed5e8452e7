import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readSessionCookie, requireOwnOrigin, sessionCookie } from '../../../src/http/auth/authenticateOperator.ts';
import { purgeSessions } from '../../../src/product/operators/operatorSessions.ts';
import { dashboardEndpoints } from '../../../src/surfaces/dashboard/endpoints.ts';
import { newOperator, signIn } from '../../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture?.close());
beforeEach(async () => {
  await fixture.owner`DELETE FROM sign_in_attempts`;
});

const accounts = 'clients/{client}/accounts';
async function syncPath(): Promise<string> {
  const [row] = await fixture.owner<{ id: string }[]>`SELECT id FROM accounts LIMIT 1`;
  return `${accounts}/${row?.id}/sync`;
}

describe('a session', () => {
  test('uses an HttpOnly, SameSite=Strict cookie limited to /dashboard', async () => {
    const { headers, body } = await signIn(fixture, fixture.sandbox.dashboard);
    const [cookie = ''] = headers.getSetCookie();
    expect(cookie).toMatch(/^chartwire_session=[^;]{43,}; Path=\/dashboard; HttpOnly; SameSite=Strict$/);
    expect(JSON.stringify(body)).not.toContain(cookie.slice('chartwire_session='.length).split(';')[0]);
    expect(headers.get('cache-control')).toBe('no-store');
  });

  test('uses a Secure cookie that only this host can set if the service uses https', () => {
    const config = { ...fixture.ctx.config, base_url: 'https://chartwire.example.test' };
    const cookie = sessionCookie({ config }, 'os_1');
    expect(cookie).toBe('__Host-chartwire_session=os_1; Path=/; Secure; HttpOnly; SameSite=Strict');
    const received = (text: string) => readSessionCookie({ config }, { cookie: text });
    expect(received('a=1; __Host-chartwire_session=os_1')).toBe('os_1');
    expect(received('chartwire_session=os_2')).toBeUndefined();
    expect(readSessionCookie(fixture.ctx, { cookie: '__Host-chartwire_session=os_1' })).toBeUndefined();
  });

  test('expires after 15 minutes without activity', async () => {
    const operator = await newOperator(fixture, 'operator');
    await age(operator, { seen: '14 minutes 50 seconds' });
    expect((await operator.get('clients')).status).toBe(200);
    // That was activity, so the 15 minutes start again.
    const [seen] = await fixture.owner`SELECT seen_at > now() - interval '1 minute' AS fresh FROM operator_sessions
      WHERE operator_id = (SELECT id FROM operators WHERE email = ${operator.email})`;
    expect(seen?.fresh).toBe(true);
    await age(operator, { seen: '15 minutes 1 second' });
    const late = await operator.get('clients');
    expect(late).toMatchObject({ status: 401, body: { success: false, code: 'operator_session_over' } });
  });

  test('expires 12 hours after sign-in regardless of activity', async () => {
    const operator = await newOperator(fixture, 'operator');
    await age(operator, { created: '11 hours 59 minutes' });
    expect((await operator.get('clients')).status).toBe(200);
    await age(operator, { created: '12 hours 1 second' });
    expect((await operator.get('clients')).status).toBe(401);
    expect((await operator.get('session')).body.session).toBeNull();
  });

  test('is not extended by background requests or the event stream', async () => {
    const operator = await newOperator(fixture, 'operator');
    await age(operator, { seen: '10 minutes' });
    expect((await operator.get('clients', { 'x-background': '1' })).status).toBe(200);
    expect((await operator.get('session')).body.session).not.toBeNull();
    const stream = new AbortController();
    const live = await fetch(`${fixture.sandbox.base_url}/dashboard/api/live`, {
      headers: { cookie: operator.cookie },
      signal: stream.signal,
    });
    expect(live.status).toBe(200);
    stream.abort();
    expect(await idleMinutes(operator)).toBeGreaterThanOrEqual(10);
    await operator.get('clients');
    expect(await idleMinutes(operator)).toBeLessThan(1);
  });

  test('is not extended by cross-site requests', async () => {
    const operator = await newOperator(fixture, 'operator');
    await age(operator, { seen: '10 minutes' });
    await operator.post(await syncPath(), {}, { origin: 'https://elsewhere.test' });
    expect(await idleMinutes(operator)).toBeGreaterThanOrEqual(10);
  });

  test('is invalid after sign-out, even with its cookie', async () => {
    const operator = await newOperator(fixture, 'read_only');
    const { status, headers } = await operator.delete('session');
    expect(status).toBe(200);
    expect(headers.get('set-cookie')).toMatch(/^chartwire_session=; .*Max-Age=0$/);
    expect((await operator.get('clients')).status).toBe(401);
  });

  test('ends immediately when its operator is disabled, who cannot sign in again', async () => {
    const operator = await newOperator(fixture, 'operator');
    await fixture.owner`UPDATE operators SET disabled_at = now() WHERE email = ${operator.email}`;
    expect((await operator.get('clients')).status).toBe(401);
    expect((await signIn(fixture, operator)).body.code).toBe('operator_credentials_wrong');
  });

  test('is deleted from the database after a day', async () => {
    const operator = await newOperator(fixture, 'operator');
    await age(operator, { created: '25 hours' });
    await purgeSessions(fixture.ctx.db.system);
    const left = await fixture.owner`SELECT FROM operator_sessions
      WHERE operator_id = (SELECT id FROM operators WHERE email = ${operator.email})`;
    expect(left).toHaveLength(0);
  });

  test('is required by every dashboard endpoint except sign-in', async () => {
    for (const [method, path] of [
      ['GET', '/dashboard/api/clients'],
      ['GET', '/dashboard/api/live'],
      ['GET', `/dashboard/api/clients/${fixture.sandbox.client_id}/accounts`],
      ['DELETE', '/dashboard/api/session'],
    ] as const) {
      for (const cookie of ['', 'chartwire_session=os_guessed']) {
        const origin = fixture.sandbox.base_url;
        const { status } = await fetch(fixture.sandbox.base_url + path, { method, headers: { cookie, origin } });
        // With an invalid session the CSRF token is missing too, which is reported first.
        expect([401, 403], `${method} ${path}`).toContain(status);
      }
    }
  });
});

describe('a request that changes data', () => {
  const foreign = { status: 403, body: { success: false, code: 'operator_request_foreign' } };
  test.each<[string, Record<string, string | null>]>([
    ['without the CSRF token', { 'x-csrf-token': null }],
    ['with an empty CSRF token', { 'x-csrf-token': '' }],
    ['with a wrong CSRF token', { 'x-csrf-token': 'A'.repeat(43) }],
    ['from another origin', { origin: 'https://elsewhere.test' }],
    ['from an origin that starts with ours', { origin: 'http://127.0.0.1.elsewhere.test' }],
    ['from the same host on another port', { origin: 'http://127.0.0.1:1' }],
    ['from an opaque origin', { origin: 'null' }],
    ['without an Origin', { origin: null }],
    ['marked cross-site by the browser', { 'sec-fetch-site': 'cross-site' }],
    ['marked same-site by the browser', { 'sec-fetch-site': 'same-site' }],
  ])('is rejected %s', async (_, headers) => {
    const operator = await newOperator(fixture, 'owner');
    const before = await syncs();
    expect(await operator.post(await syncPath(), {}, headers)).toMatchObject(foreign);
    expect(await syncs()).toBe(before);
    expect((await operator.post(await syncPath(), {}, { 'sec-fetch-site': 'same-origin' })).status).toBe(200);
  });

  test('is rejected in production from the origin that its Host header names, which the caller chooses', () => {
    const base_url = 'https://chartwire.example.org';
    const headers = { host: 'elsewhere.test', origin: 'https://elsewhere.test' };
    const config = (sandbox: boolean) => ({ base_url, config: { ...fixture.ctx.config, sandbox } });
    expect(() => requireOwnOrigin(config(false), headers)).toThrow(
      expect.objectContaining({ code: 'operator_request_foreign' }),
    );
    expect(() => requireOwnOrigin(config(true), headers)).not.toThrow();
    expect(() => requireOwnOrigin(config(false), { ...headers, origin: base_url })).not.toThrow();
  });

  test('is rejected with the CSRF token of another session', async () => {
    const [one, another] = [await newOperator(fixture, 'owner'), await newOperator(fixture, 'owner')];
    expect(await one.post(await syncPath(), {}, { 'x-csrf-token': another.csrf_token })).toMatchObject(foreign);
  });

  test('cannot sign in from another site', async () => {
    expect(await signIn(fixture, fixture.sandbox.dashboard, { origin: 'https://elsewhere.test' })).toMatchObject(
      foreign,
    );
    expect(await signIn(fixture, fixture.sandbox.dashboard, { origin: null })).toMatchObject(foreign);
    expect(await fixture.owner`SELECT FROM sign_in_attempts`).toHaveLength(0);
  });
});

describe('a role', () => {
  test('read-only can view everything and change nothing', async () => {
    const reader = await newOperator(fixture, 'read_only');
    expect((await reader.get(accounts)).status).toBe(200);
    const before = await syncs();
    const refused = await reader.post(await syncPath());
    expect(refused).toMatchObject({ status: 403, body: { code: 'operator_role_lacking' } });
    expect(await syncs()).toBe(before);
  });

  test('operator is denied owner actions, and the audit trail records the attempt', async () => {
    const operator = await newOperator(fixture, 'operator');
    const declared = dashboardEndpoints({ live: { open: unasked }, findSandboxEmr: () => undefined });
    const deciding = declared.filter(({ role }) => role === 'owner');
    expect(deciding.length).toBeGreaterThan(0);
    for (const { id, method, path, audited = true } of deciding) {
      const { get: GET, post: POST, patch: PATCH, delete: DELETE } = operator;
      const send = { GET, POST, PATCH, DELETE }[method];
      const refused = await send(
        path.replace('{client_id}', '{client}').replaceAll(/\{(?!client\})\w+\}/g, '0'.repeat(32)),
      );
      expect(refused, id).toMatchObject({ status: 403, body: { code: 'operator_role_lacking' } });
      const records = await fixture.owner`SELECT action, actor, outcome FROM audit_records
        WHERE request_id = ${refused.headers.get('x-request-id')}`;
      expect([...records]).toStrictEqual(audited ? [{ action: id, actor: operator.email, outcome: '403' }] : []);
    }
  });

  test('change takes effect with the next request', async () => {
    const operator = await newOperator(fixture, 'operator');
    expect((await operator.post(await syncPath())).status).toBe(200);
    await fixture.owner`UPDATE operators SET role = 'read_only' WHERE email = ${operator.email}`;
    expect((await operator.post(await syncPath())).status).toBe(403);
  });
});

describe('password guessing', () => {
  test('is limited to 10 password checks per account in 15 minutes, even with 50 parallel requests', async () => {
    const { email, password } = await newOperator(fixture, 'owner');
    await fixture.owner`DELETE FROM sign_in_attempts`;
    const guesses = await Promise.all(
      Array.from({ length: 50 }, (_, n) => signIn(fixture, { email, password: `guess ${n}` })),
    );
    const checked = guesses.filter(({ body }) => body.code === 'operator_credentials_wrong');
    const refused = guesses.filter(({ body }) => body.code === 'operator_locked');
    expect([checked.length, refused.length]).toStrictEqual([10, 40]);
    for (const { status, headers } of refused) {
      expect(status).toBe(429);
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(800);
    }
    // Even the correct password is rejected now, whatever the spelling of the email address.
    expect((await signIn(fixture, { email: ` ${email.toUpperCase()}`, password })).body.code).toBe('operator_locked');
    await fixture.owner`UPDATE sign_in_attempts SET since = since - interval '15 minutes 1 second'`;
    expect((await signIn(fixture, { email, password })).status).toBe(200);
  });

  test('does not reveal which email addresses exist', async () => {
    const unknown = { email: 'nobody@example.test', password: 'a guess' };
    const guesses = await Promise.all(Array.from({ length: 50 }, () => signIn(fixture, unknown)));
    expect(guesses.filter(({ body }) => body.code === 'operator_credentials_wrong')).toHaveLength(10);
    expect(guesses.filter(({ body }) => body.code === 'operator_locked')).toHaveLength(40);
  });

  test('does not lock other accounts', async () => {
    const { email, password } = await newOperator(fixture, 'operator');
    await Promise.all(Array.from({ length: 12 }, () => signIn(fixture, { email: 'x@example.test', password: 'x' })));
    expect((await signIn(fixture, { email, password })).status).toBe(200);
  });
});

async function syncs(): Promise<number> {
  const [row] = await fixture.owner<{ n: number }[]>`SELECT count(*) AS n FROM jobs WHERE type = 'sync'`;
  return row?.n ?? 0;
}

/** Moves an operator's session into the past. */
async function age(operator: { email: string }, { seen = '0', created }: { seen?: string; created?: string }) {
  await fixture.owner`UPDATE operator_sessions SET seen_at = now() - ${seen}::interval,
      created_at = now() - ${created ?? seen}::interval
    WHERE operator_id = (SELECT id FROM operators WHERE email = ${operator.email})`;
}

async function idleMinutes(operator: { email: string }): Promise<number> {
  const [row] = await fixture.owner<{ idle: number }[]>`
    SELECT extract(epoch FROM now() - seen_at)::float8 / 60 AS idle FROM operator_sessions
     WHERE operator_id = (SELECT id FROM operators WHERE email = ${operator.email})`;
  return row?.idle ?? 0;
}

function unasked(): never {
  throw new Error('Not called in this test.');
}
