import { Secret, TOTP } from 'otpauth';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { deviceCookie } from '../../../src/http/auth/authenticateOperator.ts';
import { purgeDevices } from '../../../src/product/operators/signIn.ts';
import {
  newOperator,
  outdateSignIns,
  signIn,
  signInOperator,
  type TestOperator,
  toOperator,
} from '../../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture?.close());
beforeEach(async () => {
  await fixture.owner`DELETE FROM sign_in_attempts`;
});

/** Uses up the attempts of a counter, and returns the codes of the responses. */
async function guess(email: string, headers: Record<string, string> = {}): Promise<string[]> {
  const guesses = Array.from({ length: 11 }, (_, n) => signIn(fixture, { email, password: `guess ${n}` }, headers));
  return (await Promise.all(guesses)).map(({ body }) => body.code);
}

describe('a device cookie', () => {
  test('is HttpOnly, SameSite=Strict, and Secure for this host alone if the service uses https', async () => {
    const { headers } = await signIn(fixture, fixture.sandbox.dashboard);
    expect(headers.getSetCookie()[1]).toMatch(
      /^chartwire_device=od_[\w-]{43}; Path=\/dashboard; HttpOnly; SameSite=Strict; Max-Age=15552000$/,
    );
    const config = { ...fixture.ctx.config, base_url: 'https://chartwire.example.test' };
    expect(deviceCookie({ config }, 'od_1')).toBe(
      '__Host-chartwire_device=od_1; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=15552000',
    );
  });

  test('lets its operator sign in while strangers have used up all attempts', async () => {
    const operator = await newOperator(fixture, 'owner');
    expect(await guess(operator.email)).toContain('operator_locked');
    expect((await signIn(fixture, operator)).body.code).toBe('operator_locked');
    const signed_in = await signIn(fixture, operator, { cookie: operator.device_cookie });
    expect(signed_in.status).toBe(200);
    // The browser keeps its cookie.
    expect(toOperator(fixture, signed_in).device_cookie).toBe(operator.device_cookie);
    expect((await signIn(fixture, operator)).body.code).toBe('operator_locked');
  });

  test('has its own lock, so that a stolen one does not allow more guesses', async () => {
    const operator = await newOperator(fixture, 'owner');
    const { device_cookie: other_device } = await signInOperator(fixture, operator);
    const cookie = operator.device_cookie;
    const codes = await guess(operator.email, { cookie });
    expect(codes.filter((code) => code === 'operator_credentials_wrong')).toHaveLength(10);
    expect((await signIn(fixture, operator, { cookie })).body.code).toBe('operator_locked');
    // Neither the operator's other browser nor a new one is locked.
    expect((await signIn(fixture, operator, { cookie: other_device })).status).toBe(200);
    expect((await signIn(fixture, operator)).status).toBe(200);
  });

  test('is worth nothing for another operator, if it is invented, or after a reset of the password', async () => {
    const [operator, other] = [await newOperator(fixture, 'operator'), await newOperator(fixture, 'operator')];
    await guess(operator.email);
    for (const cookie of [other.device_cookie, 'chartwire_device=od_invented', 'chartwire_device=']) {
      expect((await signIn(fixture, operator, { cookie })).body.code).toBe('operator_locked');
    }
    const owner = await signInOperator(fixture);
    const { id } = (await operator.get('session')).body.session.operator;
    const { password } = (await owner.post(`operators/${id}/reset`)).body;
    const { email, device_cookie: cookie } = operator;
    expect((await signIn(fixture, { email, password }, { cookie })).body.code).toBe('operator_locked');
  });

  test('is forgotten after 180 days without a sign-in', async () => {
    const operator = await newOperator(fixture, 'operator');
    const { id } = (await operator.get('session')).body.session.operator;
    await fixture.owner`UPDATE operator_devices SET used_at = now() - interval '181 days' WHERE operator_id = ${id}`;
    await guess(operator.email);
    const { body } = await signIn(fixture, operator, { cookie: operator.device_cookie });
    expect(body.code).toBe('operator_locked');
    await purgeDevices(fixture.ctx.db.system);
    expect(await fixture.owner`SELECT FROM operator_devices WHERE operator_id = ${id}`).toHaveLength(0);
  });

  test('lets a signed-in operator confirm the password while strangers guess it', async () => {
    const operator = await newOperator(fixture, 'operator');
    const { password, cookie, device_cookie } = operator;
    await guess(operator.email);
    expect((await operator.post('session/renew', { password })).body.code).toBe('operator_locked');
    const headers = { cookie: `${cookie}; ${device_cookie}` };
    expect((await operator.post('session/renew', { password }, headers)).status).toBe(200);
  });
});

describe('an authenticator app', () => {
  test('is enabled with a valid code, required once per sign-in, and disabled', async () => {
    const me = await newOperator(fixture, 'operator');
    const { email, password } = me;
    const { id } = (await me.get('session')).body.session.operator;
    const there = await signInOperator(fixture, me);
    expect((await me.post('me/totp', { code: '000000' })).body.code).toBe('totp_offer_missing');
    const { secret, uri } = (await me.post('me/totp/offer')).body;
    expect(uri).toMatch(/^otpauth:\/\/totp\/Chartwire:operator-\d+%40example.test\?/);
    expect((await me.post('me/totp', { code: wrongCode(secret) })).body.code).toBe('operator_code_wrong');
    expect((await there.get('clients')).status).toBe(200);
    const proof = generateCode(secret);
    expect((await me.post('me/totp', { code: proof })).status).toBe(200);
    expect(await fixture.owner`SELECT FROM operator_totp_offers WHERE operator_id = ${id}`).toHaveLength(0);
    expect((await there.get('clients')).status, 'other sessions end').toBe(401);
    expect((await signIn(fixture, { email, password })).body.code).toBe('operator_code_required');
    expect((await signIn(fixture, { email, password, code: proof })).body.code).toBe('operator_code_wrong');
    const next = generateCode(secret, 1);
    const responses = await Promise.all([1, 2].map(() => signIn(fixture, { email, password, code: next })));
    expect(responses.map((each) => each.status).sort(), 'the same code twice at once').toStrictEqual([200, 401]);
    const [stored] = await fixture.owner<{ totp_sealed: Buffer }[]>`SELECT totp_sealed FROM operators WHERE id = ${id}`;
    expect(stored?.totp_sealed.toString('latin1')).not.toContain(secret);
    await outdateSignIns(fixture, email);
    expect((await me.post('me/totp/off')).body.code).toBe('operator_sign_in_again');
    // The password alone is not enough to confirm the identity.
    expect((await me.post('session/renew', { password })).body.code).toBe('operator_code_required');
    await freshen(me);
    expect((await me.post('me/totp/off')).body).toMatchObject({ code: 'missing_field', field: 'current_code' });
    expect((await me.post('me/totp/off', { current_code: next })).body.code).toBe('operator_code_wrong');
    await forgetUsedCodes(id);
    expect((await me.post('me/totp/off', { current_code: generateCode(secret) })).status).toBe(200);
    expect((await signIn(fixture, { email, password })).status).toBe(200);
  });

  test('has the secret that the service has offered, not one that the browser chooses', async () => {
    const me = await newOperator(fixture, 'operator');
    const chosen = 'A'.repeat(32);
    const { secret } = (await me.post('me/totp/offer')).body;
    const sent = await me.post('me/totp', { secret: chosen, code: generateCode(chosen) });
    expect(sent).toMatchObject({ status: 400, body: { code: 'unexpected_fields' } });
    expect((await me.post('me/totp', { code: generateCode(chosen) })).body.code).toBe('operator_code_wrong');
    await fixture.owner`UPDATE operator_totp_offers SET offered_at = offered_at - interval '15 minutes'`;
    expect((await me.post('me/totp', { code: generateCode(secret) })).body.code).toBe('totp_offer_missing');
  });

  test('is replaced only with a code of the one in use, or a recovery code', async () => {
    const { me, secret, codes } = await operatorWithTotp();
    const { id } = (await me.get('session')).body.session.operator;
    const next: string = (await me.post('me/totp/offer')).body.secret;
    expect(next).not.toBe(secret);
    expect((await me.post('me/totp', { code: generateCode(next) })).body.field).toBe('current_code');
    const both = { code: generateCode(next), current_code: wrongCode(secret) };
    expect((await me.post('me/totp', both)).body.code).toBe('operator_code_wrong');
    await forgetUsedCodes(id);
    expect((await me.post('me/totp', { ...both, current_code: generateCode(secret) })).status).toBe(200);
    const third: string = (await me.post('me/totp/offer')).body.secret;
    expect((await me.post('me/totp', { code: generateCode(third), current_code: codes[0] })).status).toBe(200);
  });

  test('allows 30 wrong codes in 30 days, in whatever process and however often the operator signs in', async () => {
    const { me, secret, codes } = await operatorWithTotp();
    const { email, password } = me;
    const { id } = (await me.get('session')).body.session.operator;
    const guessCode = async (code: string) => {
      await fixture.owner`DELETE FROM sign_in_attempts`;
      return signIn(fixture, { email, password, code });
    };
    const wrong = wrongCode(secret);
    // At the same time, as from several processes.
    const first = await Promise.all(Array.from({ length: 9 }, () => signIn(fixture, { email, password, code: wrong })));
    expect(new Set(first.map(({ body }) => body.code))).toStrictEqual(new Set(['operator_code_wrong']));
    await fixture.owner`UPDATE operator_code_guesses SET guesses = 29 WHERE operator_id = ${id} AND guesses = 9`;
    await forgetUsedCodes(id);
    expect((await guessCode(generateCode(secret))).status, 'a right code does not count').toBe(200);
    expect((await guessCode(wrong)).body.code).toBe('operator_code_wrong');
    expect((await guessCode(wrong)).body.code).toBe('operator_codes_locked');
    await forgetUsedCodes(id);
    expect((await guessCode(generateCode(secret))).body.code, 'nor is a right one accepted').toBe(
      'operator_codes_locked',
    );
    const [record] = await fixture.owner`SELECT outcome FROM audit_records
      WHERE action = 'operator.sign_in' AND actor = ${email} ORDER BY id DESC LIMIT 1`;
    expect(record).toStrictEqual({ outcome: 'codes locked' });
    expect((await guessCode(codes[0] ?? '')).status, 'a recovery code cannot be guessed').toBe(200);
    await fixture.owner`UPDATE operator_code_guesses SET since = since - interval '30 days' WHERE operator_id = ${id}`;
    expect((await guessCode(generateCode(secret))).status).toBe(200);
  });
});

describe('password checks', () => {
  test('password checks that succeed are not limited, whatever browser they come from', async () => {
    const operator = await newOperator(fixture, 'operator');
    for (let n = 0; n < 12; n++) expect((await signIn(fixture, operator)).status).toBe(200);
    const cookie = operator.device_cookie;
    for (let n = 0; n < 12; n++) expect((await signIn(fixture, operator, { cookie })).status).toBe(200);
    const codes = await guess(operator.email);
    expect(
      codes.filter((code) => code === 'operator_credentials_wrong'),
      'all wrong ones',
    ).toHaveLength(10);
  });

  test('password checks that succeed give back one attempt each, not those of strangers', async () => {
    const operator = await newOperator(fixture, 'operator');
    const wrong = { email: operator.email, password: 'a guess' };
    for (let n = 0; n < 9; n++) {
      expect((await signIn(fixture, wrong)).body.code).toBe('operator_credentials_wrong');
      expect((await signIn(fixture, operator)).status).toBe(200);
    }
    expect((await signIn(fixture, wrong)).body.code).toBe('operator_credentials_wrong');
    expect((await signIn(fixture, operator)).body.code).toBe('operator_locked');
  });

  test('checks of a right password do not count before the code is entered, and count with a wrong one', async () => {
    const { me, secret, codes } = await operatorWithTotp();
    const { email, password } = me;
    for (let n = 0; n < 12; n++) {
      expect((await signIn(fixture, { email, password })).body.code).toBe('operator_code_required');
    }
    for (let n = 0; n < 10; n++) {
      const { body } = await signIn(fixture, { email, password, code: wrongCode(secret) });
      expect(body.code).toBe('operator_code_wrong');
    }
    expect((await signIn(fixture, { email, password, code: codes[0] ?? '' })).body.code).toBe('operator_locked');
  });

  test('password checks of unknown browsers have a total for the installation, which does not affect known ones', async () => {
    const operator = await newOperator(fixture, 'operator');
    const [known_browser, other_browser] = [{ cookie: operator.device_cookie }, {}];
    expect((await signIn(fixture, operator, other_browser)).status).toBe(200);
    // 119 more in the same minute.
    await fixture.owner`UPDATE sign_in_attempts SET attempts = 120 WHERE attempts = 1
      AND counter_hash = sha256('all unknown browsers')`;
    const refused = await signIn(fixture, operator, other_browser);
    expect(refused).toMatchObject({ status: 503, body: { code: 'sign_in_busy' } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    const many = await Promise.all(
      Array.from({ length: 20 }, (_, n) => signIn(fixture, { email: `nobody-${n}@example.test`, password: 'x' })),
    );
    expect(new Set(many.map(({ body }) => body.code))).toStrictEqual(new Set(['sign_in_busy']));
    // Neither rows nor audit records for each refused attempt.
    const [{ n } = { n: 0 }] = await fixture.owner<{ n: number }[]>`SELECT count(*)::int AS n FROM sign_in_attempts`;
    expect(n).toBeLessThanOrEqual(2);
    const records =
      await fixture.owner`SELECT FROM audit_records WHERE action = 'operator.sign_in' AND outcome = 'busy'`;
    expect(records).toHaveLength(1);
    expect((await signIn(fixture, operator, known_browser)).status).toBe(200);
    await fixture.owner`UPDATE sign_in_attempts SET since = since - interval '1 minute'`;
    expect((await signIn(fixture, operator, other_browser)).status).toBe(200);
  });
});

describe('recovery codes', () => {
  test('are shown once, stored as hashes, and replace the authenticator code once each', async () => {
    const { me, codes } = await operatorWithTotp();
    const { email, password } = me;
    expect(codes).toHaveLength(10);
    expect(new Set(codes).size).toBe(10);
    for (const code of codes) expect(code).toMatch(/^[0-9a-hjkmnp-tv-z]{4}(-[0-9a-hjkmnp-tv-z]{4}){3}$/);
    const stored = JSON.stringify(await fixture.owner`SELECT encode(code_hash, 'escape') FROM operator_recovery_codes`);
    expect(codes.filter((code) => stored.includes(code))).toStrictEqual([]);
    const [first = '', second = ''] = codes;
    const twice = await Promise.all([1, 2].map(() => signIn(fixture, { email, password, code: first })));
    expect(twice.map(({ status }) => status).sort(), 'the same code twice at once').toStrictEqual([200, 401]);
    // As a person might type it.
    const typed = ` ${second.toUpperCase().replaceAll('-', ' ').replaceAll('0', 'O').replaceAll('1', 'l')}`;
    const signed_in = await signIn(fixture, { email, password, code: typed });
    expect(signed_in.body.session).toMatchObject({ method: 'password_totp', operator: { recovery_codes: 8 } });
    const [record] = await fixture.owner`SELECT outcome, detail FROM audit_records
      WHERE action = 'operator.sign_in' AND actor = ${email} ORDER BY id DESC LIMIT 1`;
    expect(record).toStrictEqual({ outcome: 'signed in', detail: { method: 'password_totp', recovery_code: true } });
  });

  test('recovery codes of another operator are refused', async () => {
    const [one, other] = [await operatorWithTotp(), await operatorWithTotp()];
    const { email, password } = one.me;
    const response = await signIn(fixture, { email, password, code: other.codes[0] ?? '' });
    expect(response.body.code).toBe('operator_code_wrong');
  });

  test('are replaced after a recent sign-in, which makes the old ones invalid', async () => {
    const { me, codes } = await operatorWithTotp();
    const { email, password } = me;
    await outdateSignIns(fixture, email);
    expect((await me.post('me/recovery-codes')).body.code).toBe('operator_sign_in_again');
    expect((await me.post('session/renew', { password, code: codes[0] })).status).toBe(200);
    const renewed: string[] = (await me.post('me/recovery-codes')).body.recovery_codes;
    expect(renewed).toHaveLength(10);
    expect((await signIn(fixture, { email, password, code: codes[1] ?? '' })).body.code).toBe('operator_code_wrong');
    expect((await signIn(fixture, { email, password, code: renewed[1] ?? '' })).status).toBe(200);
  });

  test('exist only as long as a second factor does', async () => {
    const none = await newOperator(fixture, 'operator');
    expect((await none.post('me/recovery-codes')).body.code).toBe('operator_second_factor_missing');
    const { me, codes } = await operatorWithTotp();
    expect((await me.post('me/totp/off', { current_code: codes[0] })).status).toBe(200);
    expect((await me.get('session')).body.session.operator).toMatchObject({ totp: false, recovery_codes: 0 });
  });
});

describe('a required second factor', () => {
  test('must be set up before anything else, which an authenticator app does', async () => {
    const strict = await startSandbox({ small: true, env: { OPERATOR_SECOND_FACTOR: 'required' } });
    try {
      const me = await newOperator(strict, 'owner');
      expect((await me.get('session')).body.session).toMatchObject({ pending_setup: 'second_factor' });
      const missing = { status: 403, body: { code: 'operator_second_factor_missing' } };
      for (const path of ['clients', 'operators', 'live', 'clients/{client}/accounts', 'me/sessions']) {
        expect(await me.get(path), path).toMatchObject(missing);
      }
      for (const path of ['invitations', 'encryption/rotate', 'me/password', 'me/totp/off', 'me/recovery-codes']) {
        expect(await me.post(path), path).toMatchObject(missing);
      }
      const { secret } = (await me.post('me/totp/offer')).body;
      expect((await me.post('me/totp', { code: generateCode(secret) })).status).toBe(200);
      expect((await me.get('session')).body.session).toMatchObject({ pending_setup: null });
      expect((await me.get('clients')).status).toBe(200);
      // A temporary password comes first, and a session of single sign-on has its own rules.
      await strict.owner`UPDATE operators SET password_temporary = true, totp_sealed = NULL WHERE email = ${me.email}`;
      expect((await me.get('clients')).body.code).toBe('operator_password_temporary');
      expect((await me.post('me/totp/offer')).body.code).toBe('operator_password_temporary');
      await strict.owner`UPDATE operator_sessions SET method = 'single_sign_on'`;
      expect((await me.get('clients')).status).toBe(200);
    } finally {
      await strict.close();
    }
  });
});

describe('own sessions', () => {
  test('are listed with address, browser and method, and can be ended', async () => {
    const here = await newOperator(fixture, 'read_only');
    const response = await signIn(fixture, here, { 'user-agent': `Synthetic/1.0 ${'x'.repeat(1000)}` });
    const there = toOperator(fixture, response);
    const { sessions } = (await here.get('me/sessions')).body;
    expect(sessions).toHaveLength(2);
    expect(sessions[0]).toMatchObject({ current: true, method: 'password', address: '127.0.0.1' });
    expect(sessions[1]).toMatchObject({
      current: false,
      user_agent: expect.stringMatching(/^Synthetic\/1\.0 x{486}$/),
    });
    expect(JSON.stringify(sessions)).not.toContain('os_');
    expect((await here.delete(`me/sessions/${sessions[1].id}`)).status).toBe(200);
    expect((await there.get('clients')).status).toBe(401);
    expect((await here.delete(`me/sessions/${sessions[1].id}`)).status).toBe(404);
    const [second, third] = [await signInOperator(fixture, here), await signInOperator(fixture, here)];
    expect((await here.post('me/sessions/end-others')).status).toBe(200);
    expect([(await second.get('clients')).status, (await third.get('clients')).status]).toStrictEqual([401, 401]);
    expect((await here.get('me/sessions')).body.sessions).toHaveLength(1);
  });

  test('do not include expired ones or those of other operators, which cannot be ended', async () => {
    const [me, other] = [await newOperator(fixture, 'owner'), await newOperator(fixture, 'read_only')];
    const [row] = (await other.get('me/sessions')).body.sessions;
    expect((await me.delete(`me/sessions/${row.id}`)).status).toBe(404);
    expect((await other.get('clients')).status).toBe(200);
    await signInOperator(fixture, me);
    await fixture.owner`UPDATE operator_sessions SET seen_at = now() - interval '16 minutes'
      WHERE id = (SELECT max(id::text)::uuid FROM operator_sessions
                   WHERE operator_id = (SELECT id FROM operators WHERE email = ${me.email}))`;
    expect((await me.get('me/sessions')).body.sessions).toHaveLength(1);
  });
});

/** A code of the authenticator app. The next one is accepted too, and stays valid if the current one ends. */
function generateCode(secret: string, steps = 0): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 });
}

async function operatorWithTotp() {
  const me = await newOperator(fixture, 'operator');
  const { secret } = (await me.post('me/totp/offer')).body;
  const { body } = await me.post('me/totp', { code: generateCode(secret) });
  return { me, secret: secret as string, codes: body.recovery_codes as string[] };
}

/** A code that is not valid at this time. */
function wrongCode(secret: string): string {
  const valid = [-1, 0, 1, 2].map((steps) => generateCode(secret, steps));
  return ['000000', '111111', '222222', '333333', '444444'].find((code) => !valid.includes(code)) ?? '';
}

/** Each code is accepted once, and tests do not wait for the next. */
async function forgetUsedCodes(id: string): Promise<void> {
  await fixture.owner`UPDATE operators SET totp_step = 0 WHERE id = ${id}`;
}

async function freshen({ cookie }: TestOperator): Promise<void> {
  await fixture.owner`UPDATE operator_sessions SET authenticated_at = now()
    WHERE token_hash = sha256(${cookie.split('=')[1] ?? ''}::bytea)`;
}
