import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { freePort } from '../../../scripts/freePort.ts';
import { newAuthenticator, type TestAuthenticator } from '../../harness/authenticator.ts';
import { newOperator, outdateSignIns, signIn, type TestOperator, toOperator } from '../../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';

let fixture: TestSandbox;
/** Sends requests without a session. */
let visitor: TestOperator;
beforeAll(async () => {
  // Passkeys need a host name.
  const port = `${await freePort()}`;
  fixture = await startSandbox({ small: true, env: { PORT: port, BASE_URL: `http://localhost:${port}` } });
  const signed_in = await newOperator(fixture, 'read_only');
  visitor = { ...signed_in, post: (path, body, headers) => signed_in.post(path, body, { cookie: null, ...headers }) };
});
afterAll(() => fixture?.close());
beforeEach(async () => {
  await fixture.owner`DELETE FROM sign_in_attempts`;
});

const own = () => ({ origin: fixture.sandbox.base_url, rp_id: 'localhost' });
const refused = { status: 401, body: { code: 'passkey_refused' } };

async function signInChallenge(): Promise<string> {
  return (await visitor.post('session/passkey-options')).body.options.challenge;
}

async function signInWith(authenticator: TestAuthenticator, overrides: Record<string, unknown> = {}) {
  const passkey = authenticator.assert({ ...own(), challenge: await signInChallenge(), ...overrides });
  return visitor.post('session/passkey', { passkey });
}

async function register(operator: TestOperator, overrides: Record<string, unknown> = {}, name = 'Laptop') {
  const authenticator = newAuthenticator();
  const { challenge, user } = (await operator.post('me/passkeys/options')).body.options;
  const passkey = authenticator.register({ ...own(), challenge, user_handle: user.id, ...overrides });
  return { authenticator, passkey, response: await operator.post('me/passkeys', { name, passkey }) };
}

test('a passkey is registered, signs in as two factors, is listed and deleted', async () => {
  const me = await newOperator(fixture, 'operator');
  const there = toOperator(fixture, await signIn(fixture, me));
  const { authenticator, response } = await register(me);
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  expect(response.body.recovery_codes).toHaveLength(10);
  expect((await there.get('clients')).status, 'other sessions end').toBe(401);
  const signed_in = await signInWith(authenticator);
  expect(signed_in.body.session).toMatchObject({ method: 'passkey', operator: { email: me.email, passkeys: 1 } });
  const again = toOperator(fixture, signed_in);
  expect((await again.get('clients')).status).toBe(200);
  const { passkeys } = (await again.get('me/passkeys')).body;
  expect(passkeys).toStrictEqual([
    { id: expect.any(String), name: 'Laptop', created_at: expect.any(String), used_at: expect.any(String) },
  ]);
  const [record] = await fixture.owner`SELECT outcome, detail FROM audit_records
    WHERE action = 'operator.sign_in' AND actor = ${me.email} ORDER BY id DESC LIMIT 1`;
  expect(record).toStrictEqual({ outcome: 'signed in', detail: { method: 'passkey' } });
  expect((await again.delete(`me/passkeys/${passkeys[0].id}`)).status).toBe(200);
  expect(await signInWith(authenticator)).toMatchObject(refused);
  expect((await again.get('session')).body.session.operator).toMatchObject({ passkeys: 0, recovery_codes: 0 });
});

describe('a sign-in with a passkey is refused', () => {
  let me: Awaited<ReturnType<typeof newOperator>>;
  let authenticator: TestAuthenticator;
  beforeAll(async () => {
    me = await newOperator(fixture, 'operator');
    ({ authenticator } = await register(me));
  });

  test('if its challenge was used before', async () => {
    const challenge = await signInChallenge();
    const passkey = authenticator.assert({ ...own(), challenge });
    const both = await Promise.all([1, 2].map(() => visitor.post('session/passkey', { passkey })));
    expect(both.map(({ status }) => status).sort()).toStrictEqual([200, 401]);
    const signed_again = authenticator.assert({ ...own(), challenge });
    expect(await visitor.post('session/passkey', { passkey: signed_again })).toMatchObject(refused);
  });

  test('if single sign-on is the only way to sign in', async () => {
    const { ctx } = fixture;
    const before = ctx.config;
    ctx.config = { ...before, oidc_only: true };
    try {
      expect((await signInWith(authenticator)).body.code).toBe('operator_password_off');
    } finally {
      ctx.config = before;
    }
  });

  test('if its challenge is older than five minutes', async () => {
    const challenge = await signInChallenge();
    await fixture.owner`UPDATE passkey_challenges SET created_at = now() - interval '5 minutes 1 second'`;
    const passkey = authenticator.assert({ ...own(), challenge });
    expect(await visitor.post('session/passkey', { passkey })).toMatchObject(refused);
  });

  test('if its challenge was created for a registration', async () => {
    const { challenge } = (await me.post('me/passkeys/options')).body.options;
    const passkey = authenticator.assert({ ...own(), challenge });
    expect(await visitor.post('session/passkey', { passkey })).toMatchObject(refused);
  });

  test.each<[string, Record<string, unknown>]>([
    ['for another origin', { origin: 'https://elsewhere.test' }],
    ['for the same host on another port', { origin: 'http://localhost:1' }],
    ['for another relying party', { rp_id: 'elsewhere.test' }],
    ['without user verification', { verified: false }],
    ['with a count of signatures that a copy would have', { counter: 1 }],
  ])('if it was signed %s', async (_, overrides) => {
    expect((await signInWith(authenticator)).status).toBe(200);
    expect(await signInWith(authenticator, overrides)).toMatchObject(refused);
    const [record] = await fixture.owner`SELECT outcome FROM audit_records
      WHERE action = 'operator.sign_in' AND actor = ${me.email} ORDER BY id DESC LIMIT 1`;
    expect(record).toStrictEqual({ outcome: 'passkey refused' });
  });

  test('if the signature is that of another passkey, or names another operator', async () => {
    const other = newAuthenticator();
    const challenge = await signInChallenge();
    const passkey = authenticator.assert({ ...own(), challenge });
    const { signature } = other.assert({ ...own(), challenge });
    expect(await visitor.post('session/passkey', { passkey: { ...passkey, signature } })).toMatchObject(refused);
    const renamed = { ...authenticator.assert({ ...own(), challenge: await signInChallenge() }), user_handle: 'AAAA' };
    expect(await visitor.post('session/passkey', { passkey: renamed })).toMatchObject(refused);
  });

  test('if its operator is disabled, or the request comes from another site', async () => {
    const headers = { origin: 'https://elsewhere.test' };
    const foreign = { status: 403, body: { code: 'operator_request_foreign' } };
    expect(await visitor.post('session/passkey-options', {}, headers)).toMatchObject(foreign);
    const passkey = authenticator.assert({ ...own(), challenge: await signInChallenge() });
    expect(await visitor.post('session/passkey', { passkey }, headers)).toMatchObject(foreign);
    await fixture.owner`UPDATE operators SET disabled_at = now() WHERE email = ${me.email}`;
    expect(await signInWith(authenticator)).toMatchObject(refused);
    await fixture.owner`UPDATE operators SET disabled_at = NULL WHERE email = ${me.email}`;
  });
});

describe('a registration', () => {
  test('is refused for another origin or relying party, without user verification, and with a used challenge', async () => {
    const me = await newOperator(fixture, 'operator');
    for (const overrides of [{ origin: 'https://elsewhere.test' }, { rp_id: 'elsewhere.test' }, { verified: false }]) {
      const { response } = await register(me, overrides);
      expect(response, JSON.stringify(overrides)).toMatchObject({
        status: 400,
        body: { code: 'passkey_not_registered' },
      });
    }
    const { passkey, response } = await register(me);
    expect(response.status).toBe(200);
    const again = await me.post('me/passkeys', { name: 'Again', passkey });
    expect(again.body.code).toBe('passkey_not_registered');
    expect((await me.get('me/passkeys')).body.passkeys).toHaveLength(1);
  });

  test('is refused with 20 passkeys, also of two at the same time', async () => {
    const me = await newOperator(fixture, 'operator');
    const prepared = [];
    for (const authenticator of [newAuthenticator(), newAuthenticator()]) {
      const { challenge, user } = (await me.post('me/passkeys/options')).body.options;
      prepared.push(authenticator.register({ ...own(), challenge, user_handle: user.id }));
    }
    expect((await register(me)).response.status).toBe(200);
    await fixture.owner`INSERT INTO operator_passkeys (id, operator_id, name, credential_id, public_key, counter, transports)
      SELECT gen_random_uuid(), operator_id, 'Copy', credential_id || n, public_key, counter, transports
        FROM operator_passkeys CROSS JOIN generate_series(2, 19) AS n WHERE operator_id = ${me.id}`;
    const responses = await Promise.all(prepared.map((passkey) => me.post('me/passkeys', { name: 'Last', passkey })));
    const full = {
      code: 'passkeys_max',
      message: 'You can have at most 20 passkeys. Delete one that you no longer use.',
    };
    expect(responses.map(({ status }) => status).sort()).toStrictEqual([200, 400]);
    expect(responses.find(({ status }) => status === 400)?.body).toMatchObject(full);
    expect(await me.post('me/passkeys/options')).toMatchObject({ status: 400, body: full });
    const { passkeys } = (await me.get('me/passkeys')).body;
    expect(passkeys).toHaveLength(20);
    expect((await me.delete(`me/passkeys/${passkeys[0].id}`)).status).toBe(200);
    expect((await register(me)).response.status).toBe(200);
  });

  test('is refused with the challenge of another operator', async () => {
    const [me, other] = [await newOperator(fixture, 'operator'), await newOperator(fixture, 'operator')];
    const { challenge } = (await other.post('me/passkeys/options')).body.options;
    const { response } = await register(me, { challenge });
    expect(response.body.code).toBe('passkey_not_registered');
  });

  test('the registration and the deletion of a passkey need a recent sign-in, which a passkey can confirm', async () => {
    const me = await newOperator(fixture, 'operator');
    const { authenticator } = await register(me);
    const [row] = (await me.get('me/passkeys')).body.passkeys;
    await outdateSignIns(fixture, me.email);
    for (const { body } of [
      await me.post('me/passkeys/options'),
      await me.post('me/passkeys', {}),
      await me.delete(`me/passkeys/${row.id}`),
    ]) {
      expect(body.code).toBe('operator_sign_in_again');
    }
    // The password alone is one factor of two, and the passkey of another operator proves nothing.
    expect((await me.post('session/renew', { password: me.password })).body.code).toBe('operator_passkey_required');
    const other = await register(await newOperator(fixture, 'operator'));
    const foreign = other.authenticator.assert({ ...own(), challenge: await signInChallenge() });
    expect((await me.post('session/renew', { passkey: foreign })).body.code).toBe('passkey_refused');
    const passkey = authenticator.assert({ ...own(), challenge: await signInChallenge() });
    expect((await me.post('session/renew', { passkey })).status).toBe(200);
    expect((await me.delete(`me/passkeys/${row.id}`)).status).toBe(200);
  });
});

test('a passkey is a second factor for the password too: a recovery code replaces it', async () => {
  const me = await newOperator(fixture, 'operator');
  const { response } = await register(me);
  expect((await signIn(fixture, me)).body.code).toBe('operator_passkey_required');
  const [code] = response.body.recovery_codes;
  expect((await signIn(fixture, { ...me, code })).status).toBe(200);
  expect((await signIn(fixture, { ...me, code })).body.code).toBe('operator_code_wrong');
});

test('a reset by an owner removes passkeys and recovery codes', async () => {
  const [owner, me] = [await newOperator(fixture, 'owner'), await newOperator(fixture, 'operator')];
  const { authenticator } = await register(me);
  const { id } = (await me.get('session')).body.session.operator;
  const { password } = (await owner.post(`operators/${id}/reset`)).body;
  expect(await signInWith(authenticator)).toMatchObject(refused);
  expect((await signIn(fixture, { email: me.email, password })).body.session.operator).toMatchObject({
    passkeys: 0,
    recovery_codes: 0,
  });
});

test('the passkeys of another operator cannot be deleted', async () => {
  const [me, other] = [await newOperator(fixture, 'owner'), await newOperator(fixture, 'operator')];
  await register(other);
  const [row] = (await other.get('me/passkeys')).body.passkeys;
  expect((await me.delete(`me/passkeys/${row.id}`)).status).toBe(404);
  expect((await other.get('me/passkeys')).body.passkeys).toHaveLength(1);
});

test('passkeys are explained where the service has an IP address instead of a name', async () => {
  const numeric = await startSandbox({ small: true });
  try {
    const me = await newOperator(numeric, 'operator');
    expect((await me.post('me/passkeys/options')).body.code).toBe('passkeys_need_name');
    expect((await me.post('session/passkey-options')).body.code).toBe('passkeys_need_name');
  } finally {
    await numeric.close();
  }
});
