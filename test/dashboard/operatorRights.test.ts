import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { findProblems } from '../../src/product/alerts/conditions.ts';
import { readQueueDepth } from '../../src/product/jobs/queueDepth.ts';
import { resetOperator } from '../../src/product/operators/localAccounts.ts';
import { newClient } from '../api/support.ts';
import {
  newOperator,
  outdateSignIns,
  sendAnonymously,
  signIn,
  signInOperator,
  type TestOperator,
} from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { polling } from './eventsFixture.ts';
import { callEndpoint, listPaths, operator_endpoints } from './walkEndpoints.ts';

let fixture: TestSandbox;
let owner: TestOperator;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  owner = await signInOperator(fixture);
});
afterAll(() => fixture?.close());
beforeEach(async () => {
  await fixture.owner`DELETE FROM sign_in_attempts`;
});

let invited = 0;
async function invite(by: TestOperator, access: object = { role: 'owner' }): Promise<string> {
  const { status, body } = await by.post('invitations', { email: `guest-${++invited}@example.test`, ...access });
  expect(status, JSON.stringify(body)).toBe(200);
  return new URL(body.invitation.link).hash.slice(1);
}

function accept(token: string) {
  return sendAnonymously(fixture, 'invitations/accept', { token, name: 'Guest', password: 'a password of their own' });
}

/** Links carry their token in the fragment. */
function readToken(url: string): string {
  return new URLSearchParams(new URL(url).hash.slice(1)).get('token') ?? '';
}

const invalid = { status: 410, body: { code: 'invitation_invalid' } };

describe('what an operator has prepared is void once the operator', () => {
  const ends = {
    'is disabled': (id: string) => owner.patch(`operators/${id}`, { disabled: true }),
    'is demoted': (id: string) => owner.patch(`operators/${id}`, { role: 'operator' }),
    'is reset by an owner': (id: string) => owner.post(`operators/${id}/reset`),
    'is reset on the server': async (id: string) => {
      expect(await resetOperator(fixture.ctx, id, async () => {})).toBeTypeOf('string');
      return { status: 200 };
    },
  };
  test.each(Object.entries(ends))('%s', async (_, end) => {
    const preparing = await newOperator(fixture, 'owner');
    const victim = await newOperator(fixture, 'operator');
    const invitation = await invite(preparing);
    const { password } = (await preparing.post(`operators/${victim.id}/reset`)).body;
    const pretending = await signInOperator(fixture, { email: victim.email, password });
    const { body } = await preparing.post('clients/{client}/links', { user_id: 'u', org_id: 'o-void', ...larkspur() });
    const link_token = readToken(body.link.url);
    const linkStatus = async () => (await fetchLink(link_token)).status;
    expect(await linkStatus()).toBe(200);

    expect((await end(preparing.id)).status).toBe(200);
    expect(await sendAnonymously(fixture, 'invitations/find', { token: invitation })).toMatchObject(invalid);
    expect(await accept(invitation)).toMatchObject(invalid);
    expect((await signIn(fixture, { email: victim.email, password })).body.code).toBe('operator_password_expired');
    expect((await pretending.get('session')).body.session).toBeNull();
    expect(await linkStatus()).not.toBe(200);
    expect((await preparing.get('session')).body.session).toBeNull();
  });

  test('what an operator has prepared stays valid when the operator may do more than before', async () => {
    const preparing = await newOperator(fixture, 'operator');
    const { body } = await preparing.post('clients/{client}/links', { user_id: 'u', org_id: 'o-more', ...larkspur() });
    expect((await owner.patch(`operators/${preparing.id}`, { role: 'owner' })).status).toBe(200);
    expect((await fetchLink(readToken(body.link.url))).status).toBe(200);
  });
});

test('an invitation that is being accepted while its inviter is being disabled makes nobody an owner', async () => {
  const inviter = await newOperator(fixture, 'owner');
  const token = await invite(inviter);
  const accepting = await fixture.owner.begin(async (tx) => {
    await tx`UPDATE operators SET disabled_at = now() WHERE id = ${inviter.id}`;
    const response = accept(token);
    // It has found the invitation, and waits for the inviter.
    await vi.waitFor(async () => {
      const waiting = await fixture.owner`SELECT FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND query LIKE '%FOR SHARE%' AND datname = current_database()`;
      expect(waiting).toHaveLength(1);
    }, polling);
    return { response };
  });
  expect(await accepting.response).toMatchObject(invalid);
});

test('an owner who is disabled after the session was checked cannot invite anyone', async () => {
  const inviter = await newOperator(fixture, 'owner');
  const inviting = await fixture.owner.begin(async (tx) => {
    await tx`UPDATE operators SET disabled_at = now() WHERE id = ${inviter.id}`;
    const response = inviter.post('invitations', { email: 'late@example.test', role: 'owner' });
    await vi.waitFor(async () => {
      const waiting = await fixture.owner`SELECT FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND query LIKE '%FOR SHARE%' AND datname = current_database()`;
      expect(waiting).toHaveLength(1);
    }, polling);
    return { response };
  });
  expect((await inviting.response).body.code).toBe('operator_session_over');
  expect(await fixture.owner`SELECT FROM operator_invitations WHERE email = 'late@example.test'`).toHaveLength(0);
});

test('two owners who reset each other at the same time do not deadlock', async () => {
  const [one, other] = [await newOperator(fixture, 'owner'), await newOperator(fixture, 'owner')];
  const responses = await Promise.all([
    one.post(`operators/${other.id}/reset`),
    other.post(`operators/${one.id}/reset`),
  ]);
  for (const { status } of responses) expect([200, 401]).toContain(status);
});

describe('a fresh sign-in', () => {
  test('is required by every endpoint that declares it, and by no other', async () => {
    const me = await newOperator(fixture, 'owner');
    await outdateSignIns(fixture, me.email);
    for (const endpoint of operator_endpoints.filter(({ method }) => method !== 'GET')) {
      // They end the session, or what other tests use.
      if (['dashboard.session.delete', 'dashboard.sandbox.reset'].includes(endpoint.id)) continue;
      const [path = ''] = listPaths(endpoint, { clients: [fixture.sandbox.client_id] });
      const { body } = await callEndpoint(fixture, me, endpoint, path);
      expect([endpoint.id, body.code === 'operator_sign_in_again']).toStrictEqual([
        endpoint.id,
        endpoint.fresh_sign_in === true,
      ]);
    }
  });

  test('is given by confirming the password, after which the same request succeeds', async () => {
    const me = await newOperator(fixture, 'owner');
    await outdateSignIns(fixture, me.email);
    expect((await me.post('clients/{client}/keys')).body.code).toBe('operator_sign_in_again');
    expect((await me.post('session/renew', { password: me.password })).status).toBe(200);
    expect((await me.post('clients/{client}/keys')).status).toBe(200);
  });
});

test('a live stream ends as soon as its operator is disabled, and follows a change of clients', async () => {
  const other = await newClient(fixture);
  const me = await newOperator(fixture, 'operator');
  const ended = await openStream(me);
  expect((await owner.patch(`operators/${me.id}`, { disabled: true })).status).toBe(200);
  // Long before the next heartbeat.
  await vi.waitFor(() => expect(ended.text()).toContain('event: over'), polling);
  expect(ended.text()).not.toContain('heartbeat');

  const scoped = await newOperator(fixture, 'operator', {
    clients: [{ client_id: other.client_id, role: 'operator' }],
  });
  const stream = await openStream(scoped);
  const [client] = await fixture.owner<{ id: string }[]>`
    SELECT replace(id::text, '-', '') AS id FROM clients WHERE public_id = ${other.client_id}`;
  // Without the sessions' end, so that only the scope changes.
  await fixture.owner`DELETE FROM operator_clients WHERE operator_id = ${scoped.id}`;
  fixture.ctx.notifications.notify('chartwire_operators', scoped.id);
  fixture.ctx.notifications.notify('chartwire_jobs', client?.id ?? '');
  const everyone = await openStream(owner);
  fixture.ctx.notifications.notify('chartwire_jobs', client?.id ?? '');
  await vi.waitFor(() => expect(everyone.text()).toContain('data: jobs'), polling);
  expect(stream.text()).not.toContain('data: jobs');
});

describe('a temporary password', () => {
  test('is accepted for 72 hours', async () => {
    const { id, email } = await newOperator(fixture, 'operator');
    const { password } = (await owner.post(`operators/${id}/reset`)).body;
    expect((await signIn(fixture, { email, password })).status).toBe(200);
    await fixture.owner`UPDATE operators SET password_expires_at = password_expires_at - interval '72 hours' WHERE id = ${id}`;
    expect((await signIn(fixture, { email, password })).body.code).toBe('operator_password_expired');
    expect((await signIn(fixture, { email, password: 'another one' })).body.code).toBe('operator_credentials_wrong');
  });

  test('does not expire once it was changed', async () => {
    const { id, email } = await newOperator(fixture, 'operator');
    const { password } = (await owner.post(`operators/${id}/reset`)).body;
    const me = await signInOperator(fixture, { email, password });
    const new_password = 'one of my own choice';
    expect((await me.post('me/password', { new_password })).status).toBe(200);
    const [row] = await fixture.owner`SELECT password_expires_at FROM operators WHERE id = ${id}`;
    expect(row).toStrictEqual({ password_expires_at: null });
  });
});

test('a new owner is an alert for a day, however the role was given', async () => {
  const queues = await readQueueDepth(fixture.ctx.db);
  const subjects = async () =>
    (await findProblems(fixture.ctx.db.system, queues, fixture.ctx)).filter(({ code }) => code === 'owner_added');
  const by_invitation = await newOperator(fixture, 'owner');
  const promoted = await newOperator(fixture, 'operator');
  expect((await owner.patch(`operators/${promoted.id}`, { role: 'owner' })).status).toBe(200);
  const alerts = await subjects();
  for (const { email } of [by_invitation, promoted]) {
    expect(alerts.map(({ summary }) => summary)).toContain(`${email} became an owner.`);
  }
  expect(alerts.map(({ summary }) => summary)).not.toContain(`${fixture.sandbox.dashboard.email} became an owner.`);
  await owner.patch(`operators/${promoted.id}`, { name: 'Still an owner' });
  await fixture.owner`UPDATE operators SET owner_since = owner_since - interval '24 hours'`;
  expect(await subjects()).toStrictEqual([]);
});

describe('an operator who is support in one client and more in another', () => {
  test('gets the audit log of the other client as CSV', async () => {
    const other = await newClient(fixture);
    const clients = [
      { client_id: fixture.sandbox.client_id, role: 'support' as const },
      { client_id: other.client_id, role: 'read_only' as const },
    ];
    const mixed = await newOperator(fixture, 'support', { clients });
    const shown = await mixed.get('audit.csv');
    expect(shown.status, JSON.stringify(shown.body)).toBe(200);
    expect(shown.body.split('\n')[0]).toContain('actor');
    const mrn = { patient_mrn: 'A-1' };
    expect((await mixed.post('audit/search.csv', mrn)).status).toBe(200);
  });
});

test('support sees where webhooks go, but not the secrets in their URLs', async () => {
  const secret = 'T0KEN-in-the-path';
  const webhook_url = `https://hooks.example.test/services/${secret}?key=${secret}`;
  const { status, body } = await owner.post('clients/{client}/webhooks', { webhook_url });
  expect(status, JSON.stringify(body)).toBe(200);
  const clients = [{ client_id: fixture.sandbox.client_id, role: 'support' as const }];
  const support = await newOperator(fixture, 'support', { clients });
  const one = (await support.get(`clients/{client}/webhooks/${body.webhook_id}`)).body.webhook;
  expect(one.url).toBe('https://hooks.example.test/•••');
  const read_only = await newOperator(fixture, 'read_only');
  expect((await read_only.get(`clients/{client}/webhooks/${body.webhook_id}`)).body.webhook.url).toBe(webhook_url);
  for (const path of ['clients/{client}/webhooks', 'clients/{client}/overview', 'clients/{client}/receiver']) {
    expect(JSON.stringify((await support.get(path)).body), path).not.toContain(secret);
  }
});

function larkspur() {
  return { emr_name: 'larkspur', emr_instance_domain: 'larkspur.example.test' };
}

function fetchLink(token: string): Promise<Response> {
  const { base_url } = fixture.sandbox;
  return fetch(`${base_url}/link/v1/session`, { headers: { 'link-token': token } });
}

/** Opens an operator's live stream and returns what has arrived. */
async function openStream({ cookie }: TestOperator): Promise<{ text: () => string }> {
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  const url = `${fixture.sandbox.base_url}/dashboard/api/live`;
  const { status, body } = await fetch(url, { headers: { cookie }, signal: ending.signal });
  expect(status).toBe(200);
  let text = '';
  const read = async () => {
    for await (const part of body ?? []) text += Buffer.from(part).toString();
  };
  // It ends with the test.
  read().catch(() => undefined);
  return { text: () => text };
}
