import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { larkspur } from '../../../src/emr/larkspur/larkspur.ts';
import {
  awaitFailure,
  collect,
  createEndpoint,
  createOperations,
  expectNoSecret,
  type LarkspurFixture,
  openFixture,
  required,
  startFakeServer,
} from './fixture.ts';

let fixture: LarkspurFixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterEach(async () => {
  await fixture.control('DELETE', '/faults');
});
afterAll(() => fixture.close());

const signIn = (credentials: Record<string, string>, code?: string, address = fixture.emr.url) =>
  larkspur.signIn(createEndpoint(address), credentials, code);

describe('signing in', () => {
  test('returns code_required if no code was sent', async () => {
    expect(await signIn(fixture.credentials)).toEqual({ outcome: 'code_required' });
    expect(await signIn(fixture.credentials, '  ')).toEqual({ outcome: 'code_required' });
  });

  test.each<[string, (code: string) => string]>([
    ['as it is', (code) => code],
    ['with spaces around', (code) => ` ${code}\n`],
    ['in two groups', (code) => `${code.slice(0, 3)} ${code.slice(3)}`],
  ])('signing in with a code %s returns a valid grant, the user and the time zone', async (_, input) => {
    const response = await signIn(fixture.credentials, input(fixture.code()));
    expect(response).toEqual({
      outcome: 'signed_in',
      grant: { session_token: expect.any(String), device_token: expect.any(String) },
      user: { ehr_id: '701', name: 'Avery Deskwell' },
      timezone: 'America/New_York',
    });
    if (response.outcome !== 'signed_in') return;
    const { emr } = createOperations(createEndpoint(fixture.emr.url), fixture.credentials, response.grant);
    expect(await collect(emr.listLocations())).toHaveLength(3);
  });

  test('signing in with a wrong password, an unknown name or empty fields is refused for the credentials', async () => {
    const refused = { outcome: 'refused', reason: 'credentials' };
    expect(await signIn({ ...fixture.credentials, password: 'wrong' }, fixture.code())).toEqual(refused);
    expect(await signIn({ username: 'nobody', password: 'x' })).toEqual(refused);
    expect(await signIn({ username: '', password: '' })).toEqual(refused);
    expect(await signIn({ ...fixture.credentials, password: 'x'.repeat(201) })).toEqual(refused);
    expect(await signIn({})).toEqual(refused);
  });

  test('signing in with a wrong code is refused for the code', async () => {
    const wrong = fixture.code() === '000000' ? '000001' : '000000';
    expect(await signIn(fixture.credentials, wrong)).toEqual({ outcome: 'refused', reason: 'code' });
    expect(await signIn(fixture.credentials, 'x'.repeat(201))).toEqual({ outcome: 'refused', reason: 'code' });
  });

  test('signing in with too many wrong attempts is locked, even with the correct password', async () => {
    const { username, password } = required(fixture.emr.staff[4]);
    const outcomes = [];
    for (let attempts = 0; attempts < 5; attempts++) outcomes.push(await signIn({ username, password: 'wrong' }));
    expect(outcomes[0]).toEqual({ outcome: 'refused', reason: 'credentials' });
    expect(outcomes[4]).toEqual({ outcome: 'refused', reason: 'locked' });
    expect(await signIn({ username, password })).toEqual({ outcome: 'refused', reason: 'locked' });
  });

  test.each(['error_500', 'error_429', 'reset', 'truncate', 'html', 'empty'])(
    'signing in with the fault %s at either step is unavailable, without a secret in the error',
    async (kind) => {
      for (const step of ['login', 'login_code']) {
        await fixture.fault(step, kind);
        const failure = await awaitFailure(signIn(fixture.credentials, fixture.code()));
        expect(failure.kind).toBe('unavailable');
        expectNoSecret(failure, fixture.credentials);
      }
    },
  );

  test('signing in at an unreachable address is unavailable', async () => {
    expect(await awaitFailure(signIn(fixture.credentials, undefined, 'http://127.0.0.1:9'))).toMatchObject({
      kind: 'unavailable',
      message: 'Larkspur cannot be reached.',
    });
  });

  test.each([
    ['another product', { json: { product: 'Rosebush' } }],
    ['a web page', { raw: '<!doctype html><p>Welcome</p>' }],
    ['a missing page', { status: 404, raw: '<h1>Not found</h1>' }],
    ['a redirect', { status: 301, headers: { location: 'https://example.org/' }, raw: '' }],
  ])('signing in at %s does not reveal the password', async (_, response) => {
    const paths_called: string[] = [];
    const fake = await startFakeServer(({ url = '', body }) => {
      paths_called.push(url + body);
      return response;
    });
    const failure = await awaitFailure(signIn(fixture.credentials, '123456', fake.url));
    expect(failure).toMatchObject({ kind: 'refused', message: 'This address is not a Larkspur EMR.' });
    expect(paths_called).toEqual(['/api/practice']);
    await fake.close();
  });

  test.each([
    [1, 'signed_in'],
    [2, 'unavailable'],
  ])('starts over once when the challenge expires: %i times returns %s', async (times, expected) => {
    let run_out = 0;
    const challenges: string[] = [];
    const fake = await startFakeServer(({ url, body }) => {
      if (url === '/api/practice') return { json: { product: 'Larkspur' } };
      if (url === '/api/login') return { json: { status: 'CODE_REQUIRED', challengeId: `c${challenges.length}` } };
      challenges.push(JSON.parse(body).challengeId);
      if (run_out++ < times)
        return { status: 410, json: { errorCode: 'CHALLENGE_EXPIRED', errorText: 'Start again.' } };
      return { json: { sessionToken: 's', deviceToken: 'd', staffId: '1', staffName: 'A', timeZone: 'UTC' } };
    });
    const outcome = await signIn(fixture.credentials, '123456', fake.url).then(
      (response) => response.outcome,
      (error) => error.kind,
    );
    expect(outcome).toBe(expected);
    expect(challenges).toEqual(['c0', 'c1']);
    await fake.close();
  });
});

describe('signing out', () => {
  test('ends the session and forgets the device, also if the session has expired', async () => {
    const signed_in = await signIn(fixture.credentials, fixture.code());
    if (signed_in.outcome !== 'signed_in') throw new Error('not signed in');
    const { grant } = signed_in;
    const { credentials } = fixture;
    expect(await larkspur.signOut?.(createEndpoint(fixture.emr.url), { credentials, grant })).toBe(true);
    const { emr } = createOperations(createEndpoint(fixture.emr.url), credentials, grant);
    expect((await awaitFailure(collect(emr.listLocations()))).kind).toBe('login_required');
    expect(await larkspur.signOut?.(createEndpoint(fixture.emr.url), { credentials, grant })).toBe(true);
  });

  test('fails if Larkspur is unavailable, so that it is tried again', async () => {
    const signed_in = await signIn(fixture.credentials, fixture.code());
    if (signed_in.outcome !== 'signed_in') throw new Error('not signed in');
    const { grant } = signed_in;
    await fixture.fault('logout', 'error_500');
    const failed = larkspur.signOut?.(createEndpoint(fixture.emr.url), { credentials: fixture.credentials, grant });
    expect((await awaitFailure(failed ?? Promise.resolve())).kind).toBe('unavailable');
  });
});
