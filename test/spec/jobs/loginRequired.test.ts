import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { appliedMarkers, createMarker, patient, until, untilFinished } from '../../journeys/support.ts';
import { completeCall } from '../support/completedJobs.ts';
import { withJobsPaused } from '../support/pauseJobs.ts';
import { readHeaders, register, untilReceived } from '../webhooks/receivers.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());
afterEach(async () => {
  await fixture.api.link({ access_token: fixture.sandbox.access_token });
  await until('the parked jobs to finish', async () => {
    const [row] = await fixture.owner<{ left: number }[]>`
      SELECT count(*) AS left FROM jobs WHERE finished_at IS NULL AND type <> 'sync'`;
    return row?.left === 0;
  });
});

type Accepted = { job_id: number; telephone_encounter_id: string };

/** Expires the link after calls for `count` patients were accepted, before any of them runs. */
async function expireWith(count: number): Promise<Accepted[]> {
  const accepted: Accepted[] = [];
  await withJobsPaused(fixture, async () => {
    for (let n = 1; n <= count; n += 1) {
      const response = await fixture.api.callIn({ patient_mrn: patient(n).mrn });
      expect(response.status, JSON.stringify(response.body)).toBe(200);
      accepted.push(response.body);
    }
    await fixture.api.control('POST', '/control/sessions/expire', { mode: 'link' });
  });
  await until('the account to need a login', async () => (await fixture.api.call('GET', '/v1/staff')).status === 403);
  await until('every job to be parked', async () => (await countParked(accepted)) === count);
  return accepted;
}

async function countParked(accepted: Accepted[]): Promise<number> {
  const ids = accepted.map(({ job_id }) => job_id);
  return (await fixture.owner`SELECT FROM jobs WHERE parked AND state = 'queued' AND id = ANY (${ids})`).length;
}

async function loginEvents(): Promise<ApiResponse['body'][]> {
  return (await fixture.api.call('GET', '/v1/webhook-events?event_type=login_required')).body.webhook_events;
}

const relink = () => fixture.api.link({ access_token: fixture.sandbox.access_token });

test(row('ERR-01'), async () => {
  const { api } = fixture;
  const hook = { webhook_url: 'http://10.0.0.1/' };
  const key = { 'idempotency-key': 'error bodies' };
  await api.callIn({ patient_mrn: 'LK999999' }, key);
  const refused = [
    [400, await api.callIn({ patient_mrn: undefined })],
    [400, await api.callIn({ unknown: 1 })],
    [400, await api.call('POST', '/v1/telephone-encounters', { body: '{' })],
    [400, await api.call('POST', '/v1/webhook', { body: hook })],
    [400, await api.call('GET', '/v1/patients?unknown=1')],
    [401, await api.call('GET', '/v1/staff', { headers: { client_secret: 'wrong' } })],
    [401, await api.call('GET', '/v1/staff', { headers: { access_token: 'wrong' } })],
    [401, await api.call('GET', '/v1/staff', { headers: { access_token: null } })],
    [404, await api.callIn({ provider_id: 'nobody' })],
    [404, await api.call('GET', '/v1/jobs/999999999')],
    [404, await api.call('GET', '/v1/no-such-path')],
    [415, await api.call('POST', '/v1/documents', { body: {} })],
    [422, await api.callIn({}, key)],
  ] as const;
  for (const [status, response] of refused) {
    expect([response.status, response.body.success], JSON.stringify(response.body)).toStrictEqual([status, false]);
    expect(response.body.message).toMatch(/\S/);
    expect(response.body).not.toHaveProperty('error');
  }
  await expireWith(1);
  expect((await api.callIn()).body).toHaveProperty('error', 'login_required');
});

test(row('ERR-02'), async () => {
  await expireWith(1);
  for (const response of [await fixture.api.callIn(), await fixture.api.call('GET', '/v1/patients')]) {
    expect(response.status).toBe(403);
    expect(response.body).toStrictEqual({
      success: false,
      error: 'login_required',
      message: expect.stringMatching(/account link has expired/i),
    });
  }
});

test(row('EVT-31'), async () => {
  const { receiver } = await register(fixture);
  await completeCall(fixture);
  await untilReceived(receiver, 1);
  await expireWith(1);
  await untilReceived(receiver, 2);
  const types = receiver.received.map(({ body }) => JSON.parse(body).type);
  expect(types).toStrictEqual(['telephone_encounter.created', 'login_required']);
});

test(row('DEC-290'), async () => {
  const before = await loginEvents();
  await fixture.api.control('POST', '/control/sessions/expire', { mode: 'session' });
  const { accepted, event } = await completeCall(fixture);
  expect(event.event_type).toBe('telephone_encounter.created');
  const job = await fixture.api.job(accepted.job_id);
  expect(job).toMatchObject({ status: 'succeeded', attempts: 1 });
  expect(job.timeline.map(({ step }: { step: string }) => step)).not.toContain('parked');
  expect((await fixture.api.call('GET', '/v1/staff')).status).toBe(200);
  expect(await loginEvents()).toStrictEqual(before);
});

test(row('DEC-291'), async () => {
  const accepted = await expireWith(3);
  const [account] = await fixture.owner`SELECT status FROM accounts WHERE user_id = ${fixture.sandbox.user_id}`;
  expect(account?.status).toBe('login_required');
  expect((await fixture.api.call('GET', '/v1/staff')).body.error).toBe('login_required');
  expect(await countParked(accepted)).toBe(3);
  for (const { job_id, telephone_encounter_id } of accepted) {
    expect((await fixture.api.job(job_id)).status).toBe('queued');
    expect(await appliedMarkers(fixture.api)).not.toContain(createMarker(telephone_encounter_id));
  }
});

test(row('DEC-292'), async () => {
  const { receiver } = await register(fixture, { event_types: ['login_required'] });
  const before = (await loginEvents()).length;
  const accepted = await expireWith(5);
  await untilReceived(receiver, 1);
  expect(await loginEvents()).toHaveLength(before + 1);
  for (let n = 0; n < 3; n += 1) expect((await fixture.api.callIn()).status).toBe(403);
  await relink();
  await untilFinished(
    fixture.owner,
    accepted.map(({ job_id }) => job_id),
  );
  expect(await loginEvents()).toHaveLength(before + 1);
  expect(receiver.received).toHaveLength(1);
  await expireWith(1);
  await untilReceived(receiver, 2);
  expect(await loginEvents()).toHaveLength(before + 2);
});

test(row('DEC-293'), async () => {
  await expireWith(1);
  const [event] = await loginEvents();
  const { access_token_reference_id, user_id, org_id } = fixture.sandbox;
  expect(event.data).toStrictEqual({
    access_token_reference_id,
    user_id,
    org_id,
    emr_name: 'larkspur',
    reason: expect.stringMatching(/Larkspur requires a new one-time code/),
  });
});

test(row('DEC-294'), async () => {
  const accepted = await expireWith(4);
  expect(await relink()).toBe(fixture.sandbox.access_token);
  const ids = accepted.map(({ job_id }) => job_id);
  await untilFinished(fixture.owner, ids);
  const applied = await appliedMarkers(fixture.api);
  for (const { job_id, telephone_encounter_id } of accepted) {
    expect((await fixture.api.job(job_id)).status).toBe('succeeded');
    const own = createMarker(telephone_encounter_id);
    expect(applied.filter((marker) => marker === own)).toHaveLength(1);
  }
  expect(await countParked(accepted)).toBe(0);
});

test(row('DEC-301'), async () => {
  const { receiver } = await register(fixture, { event_types: ['login_required'] });
  const [{ job_id } = { job_id: 0 }] = await expireWith(1);
  await untilReceived(receiver, 1);
  const [event] = await loginEvents();
  expect(event).not.toHaveProperty('job_id');
  expect(JSON.parse(receiver.received[0]?.body ?? '')).not.toHaveProperty('job_id');
  const { body } = await fixture.api.call('GET', `/v1/webhook-events?job_id=${job_id}`);
  expect(body.webhook_events).toStrictEqual([]);
});

test('the event is signed and has the complete envelope, and the write succeeds after re-linking', async () => {
  const { receiver, secret } = await register(fixture, { event_types: ['login_required'] });
  const [accepted] = await expireWith(1);
  await untilReceived(receiver, 1);
  const { access_token_reference_id, user_id, org_id } = fixture.sandbox;
  const sent = new Webhook(secret).verify(receiver.received[0]?.body ?? '', readHeaders(receiver, 0));
  expect(sent).toStrictEqual({
    id: expect.stringMatching(/^[0-9a-f]{32}$/),
    object: 'event',
    created: expect.any(String),
    type: 'login_required',
    access_token_reference_id,
    data: { access_token_reference_id, user_id, org_id, emr_name: 'larkspur', reason: expect.any(String) },
  });
  await relink();
  const event = await fixture.api.untilEvent(accepted?.job_id ?? 0);
  expect(event.event_type).toBe('telephone_encounter.created');
  expect(receiver.received).toHaveLength(1);
});
