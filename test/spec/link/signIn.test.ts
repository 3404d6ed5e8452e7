import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../../scripts/freePort.ts';
import { apiAs, expectApiError, newClient, type OtherClient } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { setFault, until } from '../../journeys/support.ts';
import { type LinkSteps, linkSteps } from '../../linking/linkSteps.ts';
import { pauseSyncs } from '../support/pauseSyncs.ts';

let fixture: TestSandbox;
let steps: LinkSteps;
let other: OtherClient;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  await pauseSyncs(fixture);
  steps = linkSteps(fixture);
  other = await newClient(fixture);
});
afterAll(() => fixture.close());

const headers = { access_token: null };
/** Row counts that a new link increases. */
const countLinkRows = async () =>
  (
    await fixture.owner`SELECT (SELECT count(*) FROM organizations) AS organizations,
      (SELECT count(*) FROM accounts) AS accounts, (SELECT count(*) FROM public_tokens) AS public_tokens,
      (SELECT count(*) FROM jobs) AS jobs, (SELECT count(*) FROM data_keys) AS data_keys`
  )[0];
const organizations = (org_id: string) =>
  fixture.owner`SELECT id, emr_address FROM organizations WHERE org_id = ${org_id}`;
const findUsername = (staff: number) => fixture.sandbox.larkspur.staff[staff]?.username;

const invalid = 'Invalid or expired public_token.';
const published = async (staff = 3) => (await steps.signIn(await steps.linkToken(), staff)).body.public_token;

test(row('LNK-10'), async () => {
  const path = `/link/token/exchange?public_token=${await published()}`;
  for (const header of ['client_id', 'client_secret']) {
    const response = await fixture.api.call('GET', path, { headers: { ...headers, [header]: null } });
    expectApiError(response, 401, 'Invalid client credentials.');
  }
  expect((await fixture.api.call('GET', path, { headers })).status).toBe(200);
});

test(row('LNK-11'), async () => {
  const missing = 'Missing required field: public_token';
  for (const query of ['', '?public_token=', '?public_token']) {
    const response = await fixture.api.call('GET', `/link/token/exchange${query}`, { headers });
    expectApiError(response, 400, missing, 'public_token');
  }
  const twice = await fixture.api.call('GET', '/link/token/exchange?public_token=a&public_token=b', { headers });
  expectApiError(twice, 400, 'public_token must be a string', 'public_token');
});

test(row('LNK-12'), async () => {
  const { status, body } = await steps.exchange(await published());
  expect(status).toBe(200);
  expect(body).toStrictEqual({ success: true, token: expect.any(String) });
  const response = await fixture.api.call('GET', '/v1/webhook-events', { headers: { access_token: body.token } });
  expect(response.status).toBe(200);
});

test(row('DEC-086'), async () => {
  for (const token of ['pt_nonsense', 'x', await steps.linkToken(), fixture.sandbox.access_token, '%20']) {
    expectApiError(await steps.exchange(token), 400, invalid, 'public_token');
  }
});

test(row('DEC-087'), async () => {
  const used = await published();
  expect((await steps.exchange(used)).status).toBe(200);
  expectApiError(await steps.exchange(used), 400, invalid, 'public_token');
  const expired = await published();
  await fixture.owner`UPDATE public_tokens SET expires_at = now() WHERE used_at IS NULL`;
  expectApiError(await steps.exchange(expired), 400, invalid, 'public_token');
});

test(row('DEC-088'), async () => {
  const token = await published();
  expectApiError(await steps.exchange(token, other.api), 400, invalid, 'public_token');
  expect((await steps.exchange(token)).status).toBe(200);
});

test(row('DEC-100'), async () => {
  const { status, body } = await fixture.api.call('GET', '/link/emrs', { headers });
  expect(status).toBe(200);
  expect(body).toStrictEqual({ success: true, emrs: expect.any(Array) });
  for (const emr of body.emrs) {
    expect(emr).toStrictEqual({
      emr_name: expect.stringMatching(/^[a-z]+$/),
      display_name: expect.any(String),
      credential_fields: expect.any(Array),
      // For EMRs whose sign-in has a name.
      ...(emr.emr_name !== 'larkspur' && { sign_in_ways: expect.any(Array) }),
      capabilities: expect.any(Array),
    });
    expect(emr.credential_fields.length).toBeGreaterThan(0);
    for (const field of emr.credential_fields) {
      expect(field).toStrictEqual({ name: expect.any(String), label: expect.any(String), secret: expect.any(Boolean) });
    }
    expect(emr.capabilities.length).toBeGreaterThan(0);
    for (const capability of emr.capabilities) expect(capability).toEqual(expect.any(String));
  }
  const larkspur = body.emrs.find((emr: { emr_name: string }) => emr.emr_name === 'larkspur');
  expect(larkspur.display_name).toBe('Larkspur');
  expect(larkspur.credential_fields.map(({ name }: { name: string }) => name)).toStrictEqual(['username', 'password']);
  expect(larkspur.capabilities).toContain('createTelephoneEncounter');
  for (const header of ['client_id', 'client_secret']) {
    const response = await fixture.api.call('GET', '/link/emrs', { headers: { ...headers, [header]: null } });
    expectApiError(response, 401, 'Invalid client credentials.');
  }
});

test(row('DEC-101'), async () => {
  // Faults without an effect, which disappear when the EMR is called.
  for (const operation of ['login', 'login_code']) await setFault(fixture.api, operation, 'delay', { delay_ms: 1 });
  const waiting = async () => {
    const { faults } = (await fixture.api.control('GET', '/control/faults')).body;
    return faults.filter(({ operation }: { operation: string }) => operation.startsWith('login')).length;
  };
  const token = await steps.linkToken();
  expect(await waiting()).toBe(2);
  expect((await steps.signIn(token, 1)).status).toBe(200);
  expect(await waiting()).toBe(0);
});

test(row('DEC-102'), async () => {
  const token = await steps.linkToken();
  // Only after the password is correct.
  const credentials = { username: findUsername(2), password: 'wrong' };
  const early = await steps.signIn(token, 2, { credentials, one_time_code: undefined });
  expect([early.status, early.body.code]).toStrictEqual([400, 'emr_credentials_wrong']);
  const response = await steps.signIn(token, 2, { one_time_code: undefined });
  expectApiError(response, 400, /one-time code/, 'one_time_code');
  expect(response.body.code).toBe('emr_code_required');
  expect((await steps.signIn(token, 2)).status).toBe(200);
});

test(row('DEC-105'), async () => {
  const dark = `http://127.0.0.1:${await freePort()}`;
  const nowhere = await steps.linkToken({ emr_instance_domain: dark });
  const token = await steps.linkToken();
  const before = await countLinkRows();
  const username = findUsername(3);
  for (const [link_token, fields, status] of [
    [token, { credentials: { username, password: 'wrong' } }, 400],
    [token, { credentials: { username } }, 400],
    [token, { one_time_code: undefined }, 400],
    [token, { one_time_code: '000000' }, 400],
    [nowhere, {}, 503],
  ] as const) {
    expect((await steps.signIn(link_token, 3, fields)).status).toBe(status);
    expect(await countLinkRows()).toStrictEqual(before);
  }
  expect((await steps.signIn(token, 3)).status).toBe(200);
  expect(await countLinkRows()).not.toStrictEqual(before);
});

test(row('DEC-106'), async () => {
  const org_id = 'fresh-org';
  expect((await steps.signIn(await steps.linkToken({ org_id }), 4)).status).toBe(200);
  const jobs = await fixture.owner`SELECT jobs.type FROM jobs JOIN organizations ON organizations.id = organization_id
    WHERE org_id = ${org_id}`;
  expect(jobs.map(({ type }) => type)).toStrictEqual(['sync']);
});

test(row('DEC-107'), async () => {
  const org_id = 'mistyped-org';
  const dark = `http://127.0.0.1:${await freePort()}`;
  const wrong = await steps.linkToken({ org_id, emr_instance_domain: dark });
  expect((await steps.signIn(wrong, 5)).status).toBe(503);
  expect(await organizations(org_id)).toHaveLength(0);
  const right = await steps.linkToken({ org_id });
  expect(await organizations(org_id)).toHaveLength(0);
  expect((await steps.signIn(right, 5)).status).toBe(200);
  expect((await organizations(org_id)).map((each) => each.emr_address)).toStrictEqual([fixture.sandbox.larkspur.url]);
  // The address is now fixed, and another one is rejected.
  const body = { user_id: 'u', org_id, emr_instance_domain: dark };
  expect((await fixture.api.call('POST', '/link/token/create', { body, headers })).status).toBe(400);
});

test(row('DEC-108'), async () => {
  for (const domain of ['emr.example.org', 'emr.example.org:8443']) {
    const org_id = `bare ${domain}`;
    await steps.linkToken({ org_id, emr_instance_domain: domain });
    const [row] = await fixture.owner`SELECT emr_address FROM link_tokens WHERE org_id = ${org_id}`;
    expect(row?.emr_address).toBe(`https://${domain}`);
  }
  // Without a scheme the address means https, and the test EMR only serves http.
  const host = new URL(fixture.sandbox.larkspur.url).host;
  const body = { user_id: 'u', org_id: 'o', emr_name: 'larkspur', emr_instance_domain: host };
  const response = await fixture.api.call('POST', '/link/token/create', { body, headers });
  const linked = response.status === 200 ? (await steps.signIn(response.body.token, 6)).status : response.status;
  expect(linked).not.toBe(200);
});

test(row('DEC-109'), async () => {
  const who = { user_id: 'again', org_id: 'again-org' };
  const first = await fixture.api.link({ ...who, staff: 7 });
  const accounts = () => fixture.owner`SELECT id FROM accounts WHERE user_id = 'again'`;
  const [account] = await accounts();
  for (const staff of [7, 7]) expect(await fixture.api.link({ ...who, staff })).toBe(first);
  expect([...(await accounts())]).toStrictEqual([account]);
  await until('the token to work', async () => {
    return (await apiAs(fixture, { access_token: first }).call('GET', '/v1/settings')).status === 200;
  });
  expect(await fixture.api.link({ ...who, user_id: 'another', staff: 7 })).not.toBe(first);
  expect(await fixture.api.link({ ...who, org_id: 'another-org', staff: 7 })).not.toBe(first);
});
