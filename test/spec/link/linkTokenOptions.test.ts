import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectApiError, newClient, type OtherClient, startProduction } from '../../api/support.ts';
import type { Api } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { pauseSyncs } from '../support/pauseSyncs.ts';

let fixture: TestSandbox;
let other: OtherClient;
let foreign_token: string;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  await pauseSyncs(fixture);
  other = await newClient(fixture, { callback_urls: ['https://app.example.org/linked'] });
  foreign_token = await other.api.link({ user_id: 'their-user', org_id: 'their-org', staff: 1 });
});
afterAll(() => fixture.close());

const headers = { access_token: null };
const create = (body: Record<string, unknown>, api: Api = fixture.api) =>
  api.call('POST', '/link/token/create', { body, headers });
const mine = () => ({
  user_id: fixture.sandbox.user_id,
  org_id: fixture.sandbox.org_id,
  access_token: fixture.sandbox.access_token,
});
const theirs = () => ({ user_id: 'their-user', org_id: 'their-org', access_token: foreign_token });
const newOrganization = (fields: Record<string, unknown> = {}) => ({
  user_id: 'user-1',
  org_id: 'new-org',
  emr_name: 'larkspur',
  emr_instance_domain: 'https://emr.example.org',
  ...fields,
});
const tokens = async () => (await fixture.owner`SELECT FROM link_tokens`).length;

test(row('DEC-079'), async () => {
  const before = await tokens();
  for (const access_token of [foreign_token, 'nonsense']) {
    expectApiError(await create({ ...mine(), access_token }), 404, 'User not found.', 'access_token');
  }
  expectApiError(await create(theirs()), 404, 'User not found.', 'access_token');
  expectApiError(await create(mine(), other.api), 404, 'User not found.', 'access_token');
  expect(await tokens()).toBe(before);
  expect((await create(theirs(), other.api)).status).toBe(200);
});

test(row('DEC-080'), async () => {
  await fixture.api.link({ user_id: 'colleague', staff: 2 });
  await fixture.api.link({ org_id: 'second-org', staff: 2 });
  const before = await tokens();
  for (const fields of [
    { user_id: 'colleague' },
    { user_id: 'nobody' },
    { org_id: 'second-org' },
    { org_id: 'none' },
  ]) {
    expectApiError(await create({ ...mine(), ...fields }), 404, 'User not found.', 'access_token');
  }
  expect(await tokens()).toBe(before);
  expect((await create(mine())).status).toBe(200);
});

test(row('DEC-081'), async () => {
  const callback_url = 'https://app.example.org/linked';
  expect((await create(newOrganization(), other.api)).status).toBe(200);
  expect((await create(newOrganization({ callback_url }), other.api)).status).toBe(200);
  const before = await tokens();
  const apiError = 'callback_url is not registered for this client.';
  for (const url of ['https://app.example.org/', `${callback_url}/x`, 'https://evil.example.org']) {
    expectApiError(await create(newOrganization({ callback_url: url }), other.api), 400, apiError, 'callback_url');
  }
  expectApiError(await create(newOrganization({ callback_url })), 400, apiError, 'callback_url');
  const rule = 'callback_url must be a string';
  expectApiError(await create(newOrganization({ callback_url: 5 }), other.api), 400, rule, 'callback_url');
  expect(await tokens()).toBe(before);
});

test(row('DEC-082'), async () => {
  for (const language of [undefined, 'en', 'es', '', null])
    expect((await create(newOrganization({ language }))).status).toBe(200);
  const before = await tokens();
  for (const language of ['EN', 'fr', 'en-US', 1]) {
    expectApiError(await create(newOrganization({ language })), 400, 'language must be one of: en, es', 'language');
  }
  expect(await tokens()).toBe(before);
});

test(row('DEC-083'), async () => {
  for (const emr_name of ['larkspur', 'Larkspur', 'LARKSPUR', 'larKSpur']) {
    expect((await create(newOrganization({ emr_name }))).status, emr_name).toBe(200);
    const { user_id, org_id } = mine();
    expect((await create({ user_id, org_id, emr_name })).status, emr_name).toBe(200);
  }
});

test(row('DEC-085'), async () => {
  const production = await startProduction({
    OUTBOUND_ALLOW_EMR: 'emr.internal,10.1.2.3:8443',
    OUTBOUND_ALLOW_WEBHOOKS: 'emr.internal,10.1.2.3:8443',
  });
  try {
    for (const api of [fixture.api, production.api]) {
      for (const address of [
        'https://emr.example.org',
        'https://emr.internal',
        'https://10.1.2.3:8443',
        'https://10.1.2.4:8443',
        'https://10.0.0.8',
        'https://172.16.0.1',
        'https://192.168.1.1',
        'https://169.254.169.254',
        'https://127.0.0.1',
        'https://localhost',
        'https://[::1]',
        'https://[fe80::1]',
        'https://[::ffff:10.0.0.1]',
        'https://0x0a000001',
        'http://127.0.0.1:4100',
        'http://emr.example.org',
        'ftp://emr.example.org',
        'https://user:pass@emr.example.org',
      ]) {
        const asEmr = await create(newOrganization({ emr_instance_domain: address }), api);
        const asHook = await api.call('POST', '/v1/webhook', { body: { webhook_url: address }, headers });
        expect(asEmr.status, address).toBe(asHook.status);
        const rule = (response: typeof asEmr, field: string) => response.body.message?.replace(`${field} `, '');
        if (asEmr.status === 200) continue;
        expect(asEmr.status, address).toBe(400);
        expect(rule(asEmr, 'emr_instance_domain'), address).toBe(rule(asHook, 'webhook_url'));
      }
    }
    const guarded = await create(newOrganization({ emr_instance_domain: 'https://10.0.0.8' }));
    const message = 'emr_instance_domain points to a private or local address.';
    expectApiError(guarded, 400, message, 'emr_instance_domain');
  } finally {
    await production.close();
  }
});
