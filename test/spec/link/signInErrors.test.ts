import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort, startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { type LinkSteps, linkSteps } from '../../api/linkSteps.ts';
import { apiOf, expectRefusal, newClient } from '../../api/support.ts';

let world: TestSandbox;
beforeAll(async () => {
  world = await startSandbox({ small: true });
  steps = linkSteps(world);
});
afterAll(() => world.close());

const no_token = { access_token: null };
let steps: LinkSteps;
const linkToken: LinkSteps['linkToken'] = (...options) => steps.linkToken(...options);
const signIn: LinkSteps['signIn'] = (...options) => steps.signIn(...options);
const exchange: LinkSteps['exchange'] = (...options) => steps.exchange(...options);

const held = async () =>
  (
    await world.owner`SELECT (SELECT count(*) FROM organizations) AS organizations,
    (SELECT count(*) FROM accounts) AS accounts, (SELECT count(*) FROM public_tokens) AS public_tokens,
    (SELECT count(*) FROM jobs) AS jobs, (SELECT count(*) FROM data_keys) AS data_keys`
  )[0];

describe('a sign-in that fails stores nothing and leaves the link token good', () => {
  test.each([
    [
      'a wrong password',
      { credentials: { username: 'STAFF', password: 'wrong' } },
      'emr_credentials_wrong',
      'Larkspur rejected this username and password.',
    ],
    [
      'a user nobody is',
      { credentials: { username: 'nobody', password: 'x' } },
      'emr_credentials_wrong',
      'Larkspur rejected this username and password.',
    ],
    [
      'no one-time code',
      { one_time_code: undefined },
      'emr_code_required',
      'Larkspur requires a one-time code. Send one_time_code.',
    ],
    [
      'an empty one-time code',
      { one_time_code: '' },
      'emr_code_required',
      'Larkspur requires a one-time code. Send one_time_code.',
    ],
    [
      'a wrong one-time code',
      { one_time_code: '000000' },
      'emr_code_wrong',
      'Larkspur rejected this one-time code. Try the current one.',
    ],
    ['no credentials', { credentials: undefined }, 'missing_field', 'Missing required field: credentials.username'],
    [
      'no password',
      { credentials: { username: 'x' } },
      'missing_field',
      'Missing required field: credentials.password',
    ],
    [
      'an empty password',
      { credentials: { username: 'x', password: '' } },
      'missing_field',
      'Missing required field: credentials.password',
    ],
    [
      'a password that is a number',
      { credentials: { username: 'x', password: 5 } },
      'invalid_field',
      'credentials.password must be a string',
    ],
    [
      'unknown fields',
      { credentials: { username: 'x', password: 'y', pin: '1', tan: '2' } },
      'unexpected_fields',
      'Unexpected fields in request body: credentials.pin, credentials.tan',
    ],
    ['credentials that are a list', { credentials: ['x'] }, 'invalid_field', 'credentials must be an object'],
    ['a code that is a number', { one_time_code: 123456 }, 'invalid_field', 'one_time_code must be a string'],
  ])('%s', async (_case, fields, code, message) => {
    const token = await linkToken();
    const before = await held();
    const person = world.sandbox.larkspur.staff[1];
    const text = JSON.stringify(fields).replace('STAFF', person?.username ?? '');
    const given = { ...fields, ...JSON.parse(text) };
    const answer = await signIn(token, 1, given);
    expectRefusal(answer, 400, message);
    expect(answer.body.code).toBe(code);
    expect(await held()).toStrictEqual(before);
    expect((await signIn(token, 1)).status).toBe(200);
  });

  test('five wrong tries lock the user out at the EMR, which is told apart from a wrong password', async () => {
    const token = await linkToken();
    const username = world.sandbox.larkspur.staff[2]?.username;
    const before = await held();
    const codes = [];
    for (let n = 0; n < 5; n += 1) {
      codes.push((await signIn(token, 2, { credentials: { username, password: 'wrong' } })).body.code);
    }
    expect(codes).toStrictEqual([...Array(4).fill('emr_credentials_wrong'), 'emr_locked']);
    const answer = await signIn(token, 2);
    expectRefusal(answer, 400, 'Larkspur has locked this user after too many failed attempts. Try again later.');
    expect(await held()).toStrictEqual(before);
  });

  test('an EMR that nothing answers for: 503, to be tried again', async () => {
    const port = await freePort();
    const token = await linkToken({ emr_instance_domain: `http://127.0.0.1:${port}`, org_id: 'dark-org' });
    const before = await held();
    const answer = await signIn(token, 1);
    expectRefusal(answer, 503, 'Larkspur cannot be reached right now. Try again in a moment.');
    expect(answer.headers.get('retry-after')).toBe('5');
    expect(await held()).toStrictEqual(before);
    // The address was mistyped: the same organization links under the right one.
    const mended = await linkToken({ org_id: 'dark-org' });
    expect((await signIn(mended, 1)).status).toBe(200);
  });

  test('an address that answers but is no Larkspur: refused, and no password was sent there', async () => {
    const token = await linkToken({ emr_instance_domain: world.sandbox.base_url });
    expectRefusal(await signIn(token, 1), 400, 'Larkspur rejected the sign-in: This address is not a Larkspur EMR.');
  });
});

describe('a link token', () => {
  const apiError = 'Invalid or expired link_token.';

  test('is good for one successful sign-in', async () => {
    const token = await linkToken();
    expect((await signIn(token, 1)).status).toBe(200);
    expectRefusal(await signIn(token, 1), 400, apiError, 'link_token');
  });

  test('is good for one of several sign-ins at once', async () => {
    const token = await linkToken();
    const answers = await Promise.all([1, 1, 1, 1].map((staff) => signIn(token, staff)));
    expect(answers.map((answer) => answer.status).sort()).toStrictEqual([200, 400, 400, 400]);
  });

  test('unknown, expired, or of another client: 400', async () => {
    expectRefusal(await signIn('lt_nonsense', 1), 400, apiError, 'link_token');
    const expired = await linkToken({ org_id: 'late-org' });
    await world.owner`UPDATE link_tokens SET expires_at = now() WHERE org_id = 'late-org'`;
    expectRefusal(await signIn(expired, 1), 400, apiError, 'link_token');
    const other = await newClient(world);
    expectRefusal(await signIn(await linkToken(), 1, {}, other.api), 400, apiError, 'link_token');
  });
});

describe('a public token', () => {
  const apiError = 'Invalid or expired public_token.';
  const published = async (): Promise<string> => (await signIn(await linkToken(), 3)).body.public_token;

  test('is exchanged for the permanent access token, once', async () => {
    const token = await published();
    expect(token).toMatch(/^pt_[\w-]{43}$/);
    const answer = await exchange(token);
    expect(answer.body).toStrictEqual({ success: true, token: expect.stringMatching(/^[\w-]{43}$/) });
    const api = apiOf(world, { access_token: answer.body.token });
    expect((await api.call('GET', '/v1/webhook-events')).status).toBe(200);
    expectRefusal(await exchange(token), 400, apiError, 'public_token');
  });

  test('20 exchanges at once: exactly one wins', async () => {
    const token = await published();
    const answers = await Promise.all(Array.from({ length: 20 }, () => exchange(token)));
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
    for (const answer of answers.filter((each) => each.status !== 200)) expectRefusal(answer, 400, apiError);
  });

  test('unknown, expired, or of another client: 400, and a stranger does not use it up', async () => {
    for (const nonsense of ['pt_nonsense', 'x', 'lt_x', '%20']) expectRefusal(await exchange(nonsense), 400, apiError);
    expectRefusal(await exchange(''), 400, 'Missing required field: public_token', 'public_token');
    const token = await published();
    const other = await newClient(world);
    expectRefusal(await exchange(token, other.api), 400, apiError);
    expect((await exchange(token)).status).toBe(200);
    const expired = await published();
    await world.owner`UPDATE public_tokens SET expires_at = now() WHERE used_at IS NULL`;
    expectRefusal(await exchange(expired), 400, apiError);
  });
});

describe('a linked account', () => {
  test('is the same account with the same access token when the same user links again', async () => {
    const first = await world.api.link({ user_id: 'again', org_id: 'again-org', staff: 4 });
    const second = await world.api.link({ user_id: 'again', org_id: 'again-org', staff: 5 });
    expect(second).toBe(first);
    const rows = await world.owner`SELECT emr_user_name FROM accounts WHERE user_id = 'again'`;
    expect(rows).toHaveLength(1);
  });

  test('of a second user of the organization needs no EMR fields and has a token of its own', async () => {
    const { org_id, access_token } = world.sandbox;
    const token = await linkToken({ org_id, emr_name: undefined, emr_instance_domain: undefined });
    const linked = await exchange((await signIn(token, 6)).body.public_token);
    expect(linked.body.token).not.toBe(access_token);
    const theirs = await apiOf(world, { access_token: linked.body.token }).call('GET', '/v1/providers');
    expect(theirs.body).toStrictEqual((await world.api.call('GET', '/v1/providers')).body);
  });

  test('has its first sync queued at once', async () => {
    const access_token = await world.api.link({ user_id: 'fresh', org_id: 'fresh-org', staff: 7 });
    const queued = await world.owner`SELECT jobs.type FROM jobs JOIN organizations ON organizations.id = organization_id
      WHERE org_id = 'fresh-org'`;
    expect(queued.map((job) => job.type)).toStrictEqual(['sync']);
    const api = apiOf(world, { access_token });
    const patients = async () => (await api.call('GET', '/v1/patients')).body.pagination.total_count;
    await expect.poll(patients).toBe(200);
    expect((await api.call('GET', '/v1/webhook-events')).body.webhook_events).toStrictEqual([]);
  });

  test('keeps its access token in update mode, where only what changed is typed', async () => {
    const access_token = await world.api.link({ user_id: 'updated', org_id: 'updated-org', staff: 8 });
    await world.owner`UPDATE accounts SET status = 'login_required' WHERE user_id = 'updated'`;
    await world.owner`SELECT pg_notify('chartwire_access', '')`;
    const api = apiOf(world, { access_token });
    // Without a bell a process keeps what it knows of an account for 30 s.
    await expect.poll(async () => (await api.call('GET', '/v1/providers')).status, { timeout: 20_000 }).toBe(403);
    const token = await linkToken({ user_id: 'updated', org_id: 'updated-org', access_token });
    const answer = await signIn(token, 8, { credentials: undefined });
    expect((await exchange(answer.body.public_token)).body.token).toBe(access_token);
    expect((await api.call('GET', '/v1/providers')).status).toBe(200);
  });
});

describe('GET /link/emrs', () => {
  test('lists the EMRs with their credential fields and capabilities', async () => {
    const { body } = await world.api.call('GET', '/link/emrs', { headers: no_token });
    expect(body).toMatchObject({
      success: true,
      emrs: [
        {
          emr_name: 'larkspur',
          display_name: 'Larkspur',
          credential_fields: [
            { name: 'username', label: 'User name', secret: false },
            { name: 'password', label: 'Password', secret: true },
          ],
        },
        {
          emr_name: 'fhir',
          display_name: 'FHIR R4',
          sign_in_ways: [
            { name: 'backend_services', fields: ['client_id'] },
            { name: 'client_secret', fields: ['client_id', 'client_secret'] },
            { name: 'authorization_code', fields: ['client_id', 'app_secret'] },
            { name: 'bearer_token', fields: ['bearer_token'] },
          ],
        },
      ],
    });
    expect(body.emrs[0].capabilities).toContain('createTelephoneEncounter');
  });
});

test('an account that was revoked and is linked again gets another access token; the revoked one stays dead', async () => {
  const { api, owner } = world;
  const first = await api.link({ user_id: 'revoked-user', staff: 5 });
  await owner`UPDATE accounts SET status = 'revoked' WHERE user_id = 'revoked-user'`;
  const second = await api.link({ user_id: 'revoked-user', staff: 5 });
  expect(second).not.toBe(first);
  const ask = (access_token: string) => api.call('GET', '/v1/staff', { headers: { access_token } });
  expect((await ask(first)).status).toBe(401);
  expect((await ask(second)).status).toBe(200);
});
