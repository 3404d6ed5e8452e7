import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectApiError, newClient, type OtherClient } from '../../api/support.ts';
import type { Api, ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { type LinkSteps, linkSteps } from '../../linking/linkSteps.ts';
import { pauseSyncs } from '../support/pauseSyncs.ts';

let fixture: TestSandbox;
let steps: LinkSteps;
let other: OtherClient;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  await pauseSyncs(fixture);
  steps = linkSteps(fixture);
  other = await newClient(fixture, { callback_urls: ['https://app.example.org/linked'] });
});
afterAll(() => fixture.close());

type Fields = Record<string, unknown>;
const create = (
  body: Fields,
  api: Api = fixture.api,
  headers: Record<string, string | null> = { access_token: null },
) => api.call('POST', '/link/token/create', { body, headers });
/** A request for a user of the sandbox's organization, which is linked already. */
const inOld = (fields: Fields = {}) => ({ user_id: 'user-1', org_id: fixture.sandbox.org_id, ...fields });
/** A request for the first user of a new organization. */
const inNew = (fields: Fields = {}) => ({
  user_id: 'user-1',
  org_id: 'new-org',
  emr_name: 'larkspur',
  emr_instance_domain: fixture.sandbox.larkspur.url,
  ...fields,
});
const tokens = async () => (await fixture.owner`SELECT FROM link_tokens`).length;
/** Checks the error response, and that no token was created. */
async function expectNoToken(response: Promise<ApiResponse>, message: string | RegExp, field: string, status = 400) {
  const before = await tokens();
  expectApiError(await response, status, message, field);
  expect(await tokens()).toBe(before);
}

test(row('LNK-01'), async () => {
  expect((await create(inOld())).status).toBe(200);
  for (const header of ['client_id', 'client_secret']) {
    const response = await create(inOld(), fixture.api, { access_token: null, [header]: null });
    expectApiError(response, 401, 'Invalid client credentials.');
  }
  const { client_id, client_secret } = fixture.sandbox;
  for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x']) {
    const headers = { access_token: null, client_id, client_secret, 'content-type': type };
    expectApiError(await create(inOld(), fixture.api, headers), 415, 'Content-Type must be application/json.');
  }
});

test(row('LNK-02'), async () => {
  for (const user_id of [undefined, null, '']) {
    await expectNoToken(create(inOld({ user_id })), 'Missing required field: user_id', 'user_id');
  }
  for (const user_id of [5, true, ['x']]) {
    await expectNoToken(create(inOld({ user_id })), 'user_id must be a string', 'user_id');
  }
  const first = await fixture.api.link({ user_id: 'unique-1', staff: 1 });
  expect(await fixture.api.link({ user_id: 'unique-2', staff: 1 })).not.toBe(first);
  expect(await fixture.api.link({ user_id: 'unique-1', staff: 1 })).toBe(first);
});

test(row('LNK-03'), async () => {
  for (const user_id of ['jane@example.org', 'Jane <jane@example.org>', '+1 202 555 0143', '202-555-0143']) {
    await expectNoToken(create(inOld({ user_id })), /^user_id .*personal data/, 'user_id');
  }
  for (const user_id of ['user-12345', '8842', '2025550143', '0190b7a4-7c1e-7cc3-98c4-dc0c0c07398f']) {
    expect((await create(inOld({ user_id }))).status, user_id).toBe(200);
  }
});

test(row('LNK-04'), async () => {
  for (const org_id of [undefined, null, '']) {
    await expectNoToken(create(inOld({ org_id })), 'Missing required field: org_id', 'org_id');
  }
  await expectNoToken(create(inOld({ org_id: 5 })), 'org_id must be a string', 'org_id');
  const org_id = 'Chosen by the client / 17';
  await fixture.api.link({ user_id: 'chosen', org_id, staff: 2 });
  await fixture.api.link({ user_id: 'chosen', staff: 2 });
  const accounts =
    await fixture.owner`SELECT org_id FROM accounts JOIN organizations ON organizations.id = organization_id
    WHERE user_id = 'chosen' ORDER BY accounts.id`;
  expect(accounts.map((each) => each.org_id)).toStrictEqual([org_id, fixture.sandbox.org_id]);
});

test(row('LNK-05'), async () => {
  const org_id = 'named-org';
  const missing = 'Missing required field: emr_name';
  await expectNoToken(create(inNew({ org_id, emr_name: undefined })), missing, 'emr_name');
  await expectNoToken(create(inNew({ org_id, emr_name: 5 })), 'emr_name must be a string', 'emr_name');
  const token = (await create(inNew({ org_id }))).body.token;
  // Neither a token nor a failed sign-in links the organization.
  await expectNoToken(create(inNew({ org_id, emr_name: undefined })), missing, 'emr_name');
  expect((await steps.signIn(token, 3, { one_time_code: '000000' })).status).toBe(400);
  await expectNoToken(create(inNew({ org_id, emr_name: undefined })), missing, 'emr_name');
  expect((await steps.signIn(token, 3)).status).toBe(200);
  expect((await create(inNew({ org_id, emr_name: undefined }))).status).toBe(200);
  expect((await create(inNew({ org_id, user_id: 'user-2', emr_name: undefined }))).status).toBe(200);
});

test(row('LNK-06'), async () => {
  const org_id = 'placed-org';
  const bare = inNew({ org_id, emr_instance_domain: undefined });
  const missing = 'Missing required field: emr_instance_domain';
  await expectNoToken(create(bare), missing, 'emr_instance_domain');
  for (const [emr_instance_domain, rule] of [
    [5, 'emr_instance_domain must be a string'],
    ['not an address', /^emr_instance_domain must be/],
  ] as const) {
    await expectNoToken(create({ ...bare, emr_instance_domain }), rule, 'emr_instance_domain');
  }
  const token = (await create(inNew({ org_id }))).body.token;
  await expectNoToken(create(bare), missing, 'emr_instance_domain');
  expect((await steps.signIn(token, 4)).status).toBe(200);
  expect((await create(bare)).status).toBe(200);
  expect((await create({ ...bare, user_id: 'user-2' })).status).toBe(200);
});

test(row('LNK-07'), async () => {
  // A FHIR server may be below a path; a Larkspur practice is not.
  const bare = 'https://emr.example.org';
  const deep = 'https://emr.example.org/practice/r4';
  const at = (emr_name: string, emr_instance_domain: string) => create(inNew({ emr_name, emr_instance_domain }));
  expect((await at('larkspur', bare)).status).toBe(200);
  const field = 'emr_instance_domain';
  await expectNoToken(
    at('larkspur', deep),
    'emr_instance_domain must be the address of the practice without a path.',
    field,
  );
  expect((await at('fhir', deep)).status).toBe(200);
  const message = 'emr_instance_domain must be the base address of the FHIR server.';
  await expectNoToken(at('fhir', `${deep}?practice=1`), message, field);
});

test(row('LNK-09'), async () => {
  const { status, body } = await create(inNew({ org_id: 'created-org' }));
  expect(status).toBe(200);
  expect(body).toStrictEqual({ success: true, token: expect.any(String) });
  expect((await steps.signIn(body.token, 5)).status).toBe(200);
});

test(row('DEC-073'), async () => {
  for (const user_id of [
    'jane@example.org',
    'JANE.DOE+x@MAIL.EXAMPLE.ORG',
    'Jane Doe <jane@example.org>',
    'user:jane@example.co.uk',
  ]) {
    await expectNoToken(create(inOld({ user_id })), /^user_id must not contain personal data/, 'user_id');
  }
  expect((await create(inOld({ user_id: 'jane@clinic' }))).status).toBe(200);
});

test(row('DEC-074'), async () => {
  for (const user_id of [
    '+1 202 555 0143',
    '+12025550143',
    '(202) 555-0143',
    '202.555.0143',
    '[202] 555 0143',
    '202\u2013555\u20130143',
    ' +12025550143 ',
    '1-202-555-0143',
    '1 (202) 555-0143',
    '(202)555-0143',
    '202-555-0143 ext. 12',
    'tel:+1-202-555-0143',
    '+44 (0)20 7946 0958',
    '0044 20 7946 0958',
    '(020) 7946 0958',
  ]) {
    await expectNoToken(create(inOld({ user_id })), /^user_id must not contain personal data/, 'user_id');
  }
  for (const user_id of [
    ...['8842', '12345678', '2025550143', '12025550143', '20255501431234567'],
    ...['12345678-1234-1234-1234-123456789012', '1.2.840.113619', 'user-202-555-0143', '202-555-0143-2'],
    ...['2024-001-17', '2024-001', '2024-11-17', '2024 001 17', '12-34-56-78', '1000-2000-3000', '555-0143', '(7)'],
    ...['202-555-01432', '2025-550-143', '+12', '00-12', '+1 202 555 0143 A'],
  ]) {
    expect((await create(inOld({ user_id }))).status, user_id).toBe(200);
  }
});

test(row('DEC-075'), async () => {
  const { emrs } = (await fixture.api.call('GET', '/link/emrs', { headers: { access_token: null } })).body;
  expect(emrs.length).toBeGreaterThan(0);
  for (const emr_name of ['epic', 'lark spur', '__proto__', 'Larkspurs']) {
    const response = await create(inNew({ emr_name }));
    expectApiError(response, 400, /not supported/, 'emr_name');
    for (const each of emrs) expect(response.body.message).toContain(each.emr_name);
    await expectNoToken(create(inOld({ emr_name })), /not supported/, 'emr_name');
  }
});

test(row('DEC-076'), async () => {
  const neither = inNew({ emr_name: undefined, emr_instance_domain: undefined });
  await expectNoToken(create(neither), 'Missing required field: emr_name', 'emr_name');
  const named = { ...neither, emr_name: 'larkspur' };
  await expectNoToken(create(named), 'Missing required field: emr_instance_domain', 'emr_instance_domain');
  expect((await create({ ...named, emr_instance_domain: fixture.sandbox.larkspur.url })).status).toBe(200);
  // Organizations belong to one client; for another client this one is new.
  await expectNoToken(create(inOld(), other.api), 'Missing required field: emr_name', 'emr_name');
});

test(row('DEC-077'), async () => {
  const emr_instance_domain = fixture.sandbox.larkspur.url;
  for (const fields of [
    {},
    { emr_name: 'larkspur' },
    { emr_instance_domain },
    { emr_name: 'larkspur', emr_instance_domain },
  ]) {
    const { status, body } = await create(inOld({ user_id: 'omitted', ...fields }));
    expect(status).toBe(200);
    expect((await steps.signIn(body.token, 6)).status).toBe(200);
  }
});

test(row('DEC-078'), async () => {
  const name = 'emr_name does not match the EMR of this organization.';
  await expectNoToken(create(inOld({ emr_name: 'fhir' })), name, 'emr_name');
  const place = 'emr_instance_domain does not match the EMR address of this organization.';
  for (const emr_instance_domain of ['https://elsewhere.example.org', 'http://127.0.0.1:1']) {
    await expectNoToken(create(inOld({ emr_instance_domain })), place, 'emr_instance_domain');
  }
});
