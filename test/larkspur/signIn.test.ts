import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Clinic, openClinic } from './fixture.ts';

const MINUTE = 60_000;
let clinic: Clinic;
let userName: string;
let password: string;

beforeAll(async () => {
  clinic = await openClinic();
  ({ username: userName = '', password = '' } = clinic.larkspur.staff[0] ?? {});
});
afterAll(() => clinic.close());
beforeEach(() => clinic.control('POST', '/control/reset'));

test('a correct password asks for the code, and the code starts a session', async () => {
  const first = await clinic.api('POST', '/api/login', { userName, password });
  expect(first).toMatchObject({ status: 200, body: { status: 'CODE_REQUIRED', challengeId: expect.any(String) } });
  const second = await clinic.api('POST', '/api/login/code', {
    challengeId: first.body.challengeId,
    code: clinic.code(),
    rememberDevice: 'N',
  });
  expect(second.status).toBe(200);
  expect(second.body).toEqual({
    sessionToken: expect.any(String),
    sessionExpires: '2026-03-10T15:30:05.000Z',
    deviceToken: null,
    staffId: '701',
    staffName: 'Avery Deskwell',
    role: 'frontdesk',
    timeZone: 'America/New_York',
  });
  const list = await clinic.api('GET', '/api/staff', undefined, second.body.sessionToken);
  expect(list.status).toBe(200);
});

test('user names ignore case and surrounding spaces', async () => {
  expect((await clinic.api('POST', '/api/login', { userName: ' AVERY ', password })).status).toBe(200);
});

test('accepts a code one period early or late and more than once, but not two periods off', async () => {
  const responses: number[] = [];
  for (const offset of [0, -30_000, 30_000, -60_000, 60_000]) {
    const { body } = await clinic.api('POST', '/api/login', { userName, password });
    clinic.clock.advance(offset);
    const code = clinic.code();
    clinic.clock.advance(-offset);
    const step = { challengeId: body.challengeId, code, rememberDevice: 'N' };
    responses.push((await clinic.api('POST', '/api/login/code', step)).status);
  }
  expect(responses).toEqual([200, 200, 200, 401, 401]);
  const again = await Promise.all([1, 2].map(() => clinic.signIn()));
  expect(again.every((session) => session.sessionToken)).toBe(true);
});

test('a challenge survives a wrong code and accepts the correct one once', async () => {
  const { body } = await clinic.api('POST', '/api/login', { userName, password });
  const step = { challengeId: body.challengeId, rememberDevice: 'N' };
  const wrong = await clinic.api('POST', '/api/login/code', { ...step, code: 'abc123' });
  expect(wrong).toMatchObject({ status: 401, body: { errorCode: 'BAD_CODE', errorText: expect.any(String) } });
  expect((await clinic.api('POST', '/api/login/code', { ...step, code: clinic.code() })).status).toBe(200);
  const used = await clinic.api('POST', '/api/login/code', { ...step, code: clinic.code() });
  expect(used).toMatchObject({ status: 410, body: { errorCode: 'CHALLENGE_EXPIRED' } });
});

test('a challenge expires after five minutes', async () => {
  const { body } = await clinic.api('POST', '/api/login', { userName, password });
  clinic.clock.advance(5 * MINUTE + 1);
  const late = await clinic.api('POST', '/api/login/code', {
    challengeId: body.challengeId,
    code: clinic.code(),
    rememberDevice: 'N',
  });
  expect(late).toMatchObject({ status: 410, body: { errorCode: 'CHALLENGE_EXPIRED' } });
});

test('five failed attempts, passwords and codes combined, lock the user for 15 minutes', async () => {
  const { body } = await clinic.api('POST', '/api/login', { userName, password });
  const badPassword = () => clinic.api('POST', '/api/login', { userName, password: 'wrong' });
  const badCode = () =>
    clinic.api('POST', '/api/login/code', { challengeId: body.challengeId, code: 'wrong!', rememberDevice: 'N' });
  const attempts = [await badPassword(), await badCode(), await badPassword(), await badCode()];
  expect(attempts.map((response) => response.body.errorCode)).toEqual([
    'BAD_CREDENTIALS',
    'BAD_CODE',
    'BAD_CREDENTIALS',
    'BAD_CODE',
  ]);
  const locked = { status: 423, body: { errorCode: 'LOCKED', lockedUntil: '2026-03-10T15:20:05.000Z' } };
  clinic.clock.at = new Date('2026-03-10T15:05:05Z');
  expect(await badPassword()).toMatchObject(locked);
  expect(await clinic.api('POST', '/api/login', { userName, password })).toMatchObject(locked);
  clinic.clock.advance(15 * MINUTE);
  expect((await badPassword()).status).toBe(401);
  expect((await clinic.signIn()).sessionToken).toEqual(expect.any(String));
});

test('a complete sign-in clears failed attempts; a correct password alone does not', async () => {
  const wrong = () => clinic.api('POST', '/api/login', { userName, password: 'wrong' });
  for (let n = 0; n < 4; n++) await wrong();
  await clinic.signIn();
  for (let n = 0; n < 4; n++) expect((await wrong()).status).toBe(401);
  await clinic.api('POST', '/api/login', { userName, password });
  expect((await wrong()).status).toBe(423);
});

test('twenty concurrent failed attempts all count and lock the user', async () => {
  const attempts = await Promise.all(
    Array.from({ length: 20 }, () => clinic.api('POST', '/api/login', { userName, password: 'wrong' })),
  );
  expect(attempts.filter((response) => response.status === 401)).toHaveLength(4);
  expect(attempts.filter((response) => response.status === 423)).toHaveLength(16);
});

test('unknown and inactive users get the same response as a wrong password', async () => {
  const loginAs = async (name: string, secret: string) => {
    const { status, body } = await clinic.api('POST', '/api/login', { userName: name, password: secret });
    return { status, body };
  };
  const wrong = await loginAs(userName, 'wrong');
  expect(wrong).toMatchObject({ status: 401, body: { errorCode: 'BAD_CREDENTIALS' } });
  expect(await loginAs('nobody', password)).toEqual(wrong);
  await clinic.control('PATCH', '/control/staff/701', { activeFlag: 'N' });
  expect(await loginAs(userName, password)).toEqual(wrong);
  for (let n = 0; n < 3; n++) await loginAs('nobody', password);
  expect((await loginAs('nobody', password)).status).toBe(423);
});

test('a remembered device replaces the code, only for its own user and with the password', async () => {
  const { deviceToken } = await clinic.signIn({ rememberDevice: 'Y' });
  const other = clinic.larkspur.staff[1];
  const device = (fields: object) =>
    clinic.api('POST', '/api/login/device', { userName, password, deviceToken, ...fields });
  expect(await device({})).toMatchObject({ status: 200, body: { deviceToken, staffId: '701' } });
  expect(await device({})).toMatchObject({ status: 200 });
  expect(await device({ password: 'wrong' })).toMatchObject({ status: 401, body: { errorCode: 'BAD_CREDENTIALS' } });
  expect(await device({ deviceToken: 'x' })).toMatchObject({ status: 401, body: { errorCode: 'DEVICE_UNKNOWN' } });
  expect(await device({ userName: other?.username, password: other?.password })).toMatchObject({
    status: 401,
    body: { errorCode: 'DEVICE_UNKNOWN' },
  });
});

test('a session ends after 30 idle minutes, after 12 hours and on logout', async () => {
  const lists = (token: string) => clinic.api('GET', '/api/facilities', undefined, token);
  const idle = (await clinic.signIn()).sessionToken;
  clinic.clock.advance(29 * MINUTE);
  expect((await lists(idle)).status).toBe(200);
  clinic.clock.advance(29 * MINUTE);
  expect((await lists(idle)).status).toBe(200);
  clinic.clock.advance(30 * MINUTE);
  expect(await lists(idle)).toMatchObject({ status: 401, body: { errorCode: 'SESSION_EXPIRED' } });

  const busy = (await clinic.signIn()).sessionToken;
  for (let n = 0; n < 35; n++) {
    clinic.clock.advance(20 * MINUTE);
    expect((await lists(busy)).status).toBe(200);
  }
  clinic.clock.advance(20 * MINUTE);
  expect((await lists(busy)).status).toBe(401);

  const left = (await clinic.signIn()).sessionToken;
  expect((await clinic.api('POST', '/api/logout', undefined, left)).status).toBe(200);
  expect((await lists(left)).status).toBe(401);
});

test('every operation except get_practice and the logins requires a session', async () => {
  expect((await clinic.api('GET', '/api/practice')).body).toEqual({
    product: 'Larkspur',
    practiceName: 'Larkspur Family Practice',
    version: '1.0',
    timeZone: 'America/New_York',
  });
  for (const path of ['/api/patients', '/api/patients/10001', '/api/telephone-encounters/30001', '/api/receipts/a/b']) {
    expect(await clinic.api('GET', path)).toMatchObject({ status: 401, body: { errorCode: 'SESSION_EXPIRED' } });
  }
});
