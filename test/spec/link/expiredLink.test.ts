import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { type Received, type Receiver, startReceiver } from '../../harness/servers/receiver.ts';
import { until } from '../../journeys/support.ts';
import { type LinkSteps, linkSteps } from '../../linking/linkSteps.ts';
import { type ExpiredAccount, expireAccount } from '../support/expireAccount.ts';
import { pauseSyncs } from '../support/pauseSyncs.ts';
import { availableWhileExpired, type Operation, readOperations } from '../support/publishedOperations.ts';

let fixture: TestSandbox;
let steps: LinkSteps;
let v1: Operation[];
/** An account that stays expired in all tests. */
let expired: ExpiredAccount;
let receiver: Receiver;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  await pauseSyncs(fixture);
  steps = linkSteps(fixture);
  v1 = await readOperations(fixture.api, '/v1/');
  receiver = await startReceiver();
  const body = { webhook_url: receiver.url, event_types: ['login_required'] };
  await fixture.api.call('POST', '/v1/webhook', { body });
  expired = await expireAccount(fixture, 'expired-user', 3);
});
afterAll(async () => {
  await receiver.close();
  await fixture.close();
});

/** The request body for a link token in update mode. */
const relinkPurpose = ({ user_id, access_token }: ExpiredAccount) => ({
  user_id,
  org_id: fixture.sandbox.org_id,
  access_token,
});
const create = (body: Record<string, unknown>) =>
  fixture.api.call('POST', '/link/token/create', { body, headers: { access_token: null } });

const apiError = { success: false, error: 'login_required', message: expect.stringContaining('expired') };

test(row('AUT-06'), async () => {
  const { api, access_token } = await expireAccount(fixture, 'renewed-user', 4);
  for (const operation of v1) {
    const response = await api.call(operation.method, operation.url);
    if (availableWhileExpired(operation)) expect(response.status, operation.path).not.toBe(403);
    else expect([response.status, response.body], operation.path).toStrictEqual([403, apiError]);
  }
  await fixture.api.link({ user_id: 'renewed-user', staff: 4, access_token });
  for (const operation of v1) {
    expect((await api.call(operation.method, operation.url)).status, operation.path).not.toBe(403);
  }
});

test(row('AUT-07'), async () => {
  const response = await expired.api.call('GET', '/v1/patients');
  expect([response.status, response.body.error]).toStrictEqual([403, 'login_required']);
  const event = await until('the webhook', async () => {
    const sent = receiver.received.map((each: Received) => JSON.parse(each.body));
    return sent.find((event) => event.data.user_id === expired.user_id);
  });
  expect(event).toMatchObject({ type: 'login_required', data: { org_id: fixture.sandbox.org_id } });
});

test(row('DEC-045'), async () => {
  const refused = v1.filter((each) => !availableWhileExpired(each));
  expect(refused.length).toBeGreaterThan(20);
  for (const { method, url } of refused) {
    const response = await expired.api.call(method, url);
    expect([response.status, response.body], url).toStrictEqual([403, apiError]);
  }
});

test(row('DEC-046'), async () => {
  const { api } = expired;
  const events = await api.call('GET', '/v1/webhook-events');
  expect(events.status).toBe(200);
  const [{ id, event_type }] = events.body.webhook_events;
  expect(event_type).toBe('login_required');
  expect((await api.call('POST', `/v1/webhook-events/${id}/resend`)).status).toBe(200);
  const [job] = await fixture.owner`SELECT jobs.id FROM jobs JOIN accounts ON accounts.id = account_id
    WHERE user_id = ${expired.user_id} AND jobs.type = 'patient.fetch'`;
  expect((await api.call('GET', `/v1/jobs/${job?.id}`)).body.job.status).toBe('queued');
  expect((await api.call('GET', '/v1/webhook')).status).toBe(200);
  const hook = { webhook_url: 'http://127.0.0.1:9/while-expired' };
  const { webhook_id } = (await api.call('POST', '/v1/webhook', { body: hook })).body;
  expect((await api.call('POST', `/v1/webhook/${webhook_id}/rotate-secret`)).status).toBe(200);
  expect((await api.call('POST', '/v1/webhook/rotate-secret')).status).toBe(200);
  expect((await api.call('DELETE', `/v1/webhook/${webhook_id}`)).status).toBe(200);
});

test(row('LNK-08'), async () => {
  const account = await expireAccount(fixture, 'typed-user', 5);
  const purpose = relinkPurpose(account);
  for (const access_token of [5, true, [account.access_token]]) {
    expectApiError(await create({ ...purpose, access_token }), 400, 'access_token must be a string', 'access_token');
  }
  expectApiError(await create({ ...purpose, access_token: 'nonsense' }), 404, 'User not found.', 'access_token');
  // Without `access_token` the account is not known, so all credentials are required.
  const first = await steps.linkToken({ ...purpose, access_token: undefined });
  const untyped = await steps.signIn(first, account.staff, { credentials: undefined });
  expectApiError(untyped, 400, 'Missing required field: credentials.username');
  // With `access_token` the stored credentials of the account are used.
  const again = await steps.linkToken(purpose);
  expect((await steps.signIn(again, account.staff, { credentials: undefined })).status).toBe(200);
  expect((await account.api.call('GET', '/v1/providers')).status).toBe(200);
});

test(row('LNK-20'), async () => {
  const purpose = relinkPurpose(expired);
  for (const field of ['user_id', 'org_id']) {
    const response = await create({ ...purpose, [field]: undefined });
    expectApiError(response, 400, `Missing required field: ${field}`, field);
  }
  const { status, body } = await create(purpose);
  expect(status).toBe(200);
  expect(body).toStrictEqual({ success: true, token: expect.stringMatching(/^lt_/) });
});

test(row('LNK-22'), async () => {
  const account = await expireAccount(fixture, 'unchanged-user', 6);
  const linked = await steps.signIn(await steps.linkToken(relinkPurpose(account)), account.staff);
  expect(linked.status).toBe(200);
  // No exchange is needed: the old access token works again.
  const { status, body } = await account.api.call('GET', '/v1/patients');
  expect([status, body.success]).toStrictEqual([200, true]);
  expect((await steps.exchange(linked.body.public_token)).body.token).toBe(account.access_token);
});

test(row('LNK-23'), async () => {
  const account = await expireAccount(fixture, 'renewed-again', 7);
  const send = async () => {
    const responses = [];
    for (const { method, url } of v1) responses.push(await account.api.call(method, url));
    return responses.filter(({ status, body }) => status === 403 || body.error === 'login_required').length;
  };
  expect(await send()).toBe(v1.filter((each) => !availableWhileExpired(each)).length);
  expect((await steps.signIn(await steps.linkToken(relinkPurpose(account)), account.staff)).status).toBe(200);
  expect(await send()).toBe(0);
  const { job_id } = (await account.api.callIn()).body;
  expect((await account.api.untilEvent(job_id)).event_type).toBe('telephone_encounter.created');
});
