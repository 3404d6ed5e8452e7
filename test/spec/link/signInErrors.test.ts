import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../../scripts/freePort.ts';
import { apiAs, expectApiError, newClient } from '../../api/support.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { type LinkSteps, linkSteps } from '../../linking/linkSteps.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  steps = linkSteps(fixture);
});
afterAll(() => fixture.close());

const no_token = { access_token: null };
let steps: LinkSteps;
const linkToken: LinkSteps['linkToken'] = (...options) => steps.linkToken(...options);
const signIn: LinkSteps['signIn'] = (...options) => steps.signIn(...options);
const exchange: LinkSteps['exchange'] = (...options) => steps.exchange(...options);

const countLinkRows = async () =>
  (
    await fixture.owner`SELECT (SELECT count(*) FROM organizations) AS organizations,
    (SELECT count(*) FROM accounts) AS accounts, (SELECT count(*) FROM public_tokens) AS public_tokens,
    (SELECT count(*) FROM jobs) AS jobs, (SELECT count(*) FROM data_keys) AS data_keys`
  )[0];

describe('a failed sign-in stores nothing and does not use up the link token', () => {
  test.each([
    [
      'a wrong password',
      { credentials: { username: 'STAFF', password: 'wrong' } },
      'emr_credentials_wrong',
      'Larkspur rejected this username and password.',
    ],
    [
      'an unknown user',
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
      'a numeric password',
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
    ['credentials in an array', { credentials: ['x'] }, 'invalid_field', 'credentials must be an object'],
    ['a numeric code', { one_time_code: 123456 }, 'invalid_field', 'one_time_code must be a string'],
  ])('%s', async (_case, fields, code, message) => {
    const token = await linkToken();
    const before = await countLinkRows();
    const person = fixture.sandbox.larkspur.staff[1];
    const text = JSON.stringify(fields).replace('STAFF', person?.username ?? '');
    const sent = { ...fields, ...JSON.parse(text) };
    const response = await signIn(token, 1, sent);
    expectApiError(response, 400, message);
    expect(response.body.code).toBe(code);
    expect(await countLinkRows()).toStrictEqual(before);
    expect((await signIn(token, 1)).status).toBe(200);
  });

  test('five wrong passwords lock the user in the EMR, which has its own error', async () => {
    const token = await linkToken();
    const username = fixture.sandbox.larkspur.staff[2]?.username;
    const before = await countLinkRows();
    const codes = [];
    for (let n = 0; n < 5; n += 1) {
      codes.push((await signIn(token, 2, { credentials: { username, password: 'wrong' } })).body.code);
    }
    expect(codes).toStrictEqual([...Array(4).fill('emr_credentials_wrong'), 'emr_locked']);
    const response = await signIn(token, 2);
    expectApiError(response, 400, 'Larkspur has locked this user after too many failed attempts. Try again later.');
    expect(await countLinkRows()).toStrictEqual(before);
  });

  test('returns 503 if the EMR is unreachable, and can be retried', async () => {
    const port = await freePort();
    const token = await linkToken({ emr_instance_domain: `http://127.0.0.1:${port}`, org_id: 'dark-org' });
    const before = await countLinkRows();
    const response = await signIn(token, 1);
    expectApiError(response, 503, 'Larkspur cannot be reached right now. Try again in a moment.');
    expect(response.headers.get('retry-after')).toBe('5');
    expect(await countLinkRows()).toStrictEqual(before);
    // The organization can still be linked at the right address.
    const corrected = await linkToken({ org_id: 'dark-org' });
    expect((await signIn(corrected, 1)).status).toBe(200);
  });

  test('rejects an address that is not a Larkspur, without sending it the password', async () => {
    const token = await linkToken({ emr_instance_domain: fixture.sandbox.base_url });
    const message = 'The EMR cannot be linked at this address: This address is not a Larkspur EMR.';
    expectApiError(await signIn(token, 1), 400, message);
  });
});

describe('a link token', () => {
  const message = 'Invalid or expired link_token.';

  test('is valid for one successful sign-in', async () => {
    const token = await linkToken();
    expect((await signIn(token, 1)).status).toBe(200);
    expectApiError(await signIn(token, 1), 400, message, 'link_token');
  });

  test('is valid for one of several concurrent sign-ins', async () => {
    const token = await linkToken();
    const responses = await Promise.all([1, 1, 1, 1].map((staff) => signIn(token, staff)));
    expect(responses.map((response) => response.status).sort()).toStrictEqual([200, 400, 400, 400]);
  });

  test('is rejected if it is unknown, expired, or of another client', async () => {
    expectApiError(await signIn('lt_nonsense', 1), 400, message, 'link_token');
    const expired = await linkToken({ org_id: 'late-org' });
    await fixture.owner`UPDATE link_tokens SET expires_at = now() WHERE org_id = 'late-org'`;
    expectApiError(await signIn(expired, 1), 400, message, 'link_token');
    const other = await newClient(fixture);
    expectApiError(await signIn(await linkToken(), 1, {}, other.api), 400, message, 'link_token');
  });
});

describe('a linked account', () => {
  test('the account of a second user needs no EMR fields and gets an access token of its own', async () => {
    const { org_id, access_token } = fixture.sandbox;
    const token = await linkToken({ org_id, emr_name: undefined, emr_instance_domain: undefined });
    const linked = await exchange((await signIn(token, 6)).body.public_token);
    expect(linked.body.token).not.toBe(access_token);
    const theirs = await apiAs(fixture, { access_token: linked.body.token }).call('GET', '/v1/providers');
    expect(theirs.body).toStrictEqual((await fixture.api.call('GET', '/v1/providers')).body);
  });

  test('starts its first sync at once, without an event', async () => {
    const access_token = await fixture.api.link({ user_id: 'fresh', org_id: 'fresh-org', staff: 7 });
    const queued =
      await fixture.owner`SELECT jobs.type FROM jobs JOIN organizations ON organizations.id = organization_id
      WHERE org_id = 'fresh-org'`;
    expect(queued.map((job) => job.type)).toStrictEqual(['sync']);
    const api = apiAs(fixture, { access_token });
    const patients = async () => (await api.call('GET', '/v1/patients')).body.pagination.total_count;
    await expect.poll(patients).toBe(200);
    expect((await api.call('GET', '/v1/webhook-events')).body.webhook_events).toStrictEqual([]);
  });

  test('keeps its access token in update mode, where credentials may be omitted', async () => {
    const access_token = await fixture.api.link({ user_id: 'updated', org_id: 'updated-org', staff: 8 });
    await fixture.owner`UPDATE accounts SET status = 'login_required' WHERE user_id = 'updated'`;
    await fixture.owner`SELECT pg_notify('chartwire_access', '')`;
    const api = apiAs(fixture, { access_token });
    // Without a notification a process caches an account for 30 s.
    await expect.poll(async () => (await api.call('GET', '/v1/providers')).status, { timeout: 20_000 }).toBe(403);
    const token = await linkToken({ user_id: 'updated', org_id: 'updated-org', access_token });
    const response = await signIn(token, 8, { credentials: undefined });
    expect((await exchange(response.body.public_token)).body.token).toBe(access_token);
    expect((await api.call('GET', '/v1/providers')).status).toBe(200);
  });
});

describe('GET /link/emrs', () => {
  test('lists the EMRs with their credential fields and capabilities', async () => {
    const { body } = await fixture.api.call('GET', '/link/emrs', { headers: no_token });
    expect(body).toMatchObject({
      success: true,
      emrs: [
        {
          emr_name: 'larkspur',
          display_name: 'Larkspur',
          credential_fields: [
            { name: 'username', label: 'Username', secret: false },
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
        {
          emr_name: 'openemr',
          display_name: 'OpenEMR',
          sign_in_ways: [{ name: 'authorization_code', fields: ['client_id', 'app_secret'] }],
        },
      ],
    });
    expect(body.emrs[0].capabilities).toContain('createTelephoneEncounter');
  });
});

test('a revoked account gets a new access token when it is re-linked, and the old one stays invalid', async () => {
  const { api, owner } = fixture;
  const first = await api.link({ user_id: 'revoked-user', staff: 5 });
  await owner`UPDATE accounts SET status = 'revoked' WHERE user_id = 'revoked-user'`;
  const second = await api.link({ user_id: 'revoked-user', staff: 5 });
  expect(second).not.toBe(first);
  const read = (access_token: string) => api.call('GET', '/v1/staff', { headers: { access_token } });
  expect((await read(first)).status).toBe(401);
  expect((await read(second)).status).toBe(200);
});
