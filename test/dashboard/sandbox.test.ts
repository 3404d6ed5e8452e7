import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startService } from '../../src/main.ts';
import { signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { until } from '../journeys/support.ts';

let fixture: TestSandbox;
let operator: TestOperator;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  operator = await signInOperator(fixture);
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

type Switch = { id: string; group: string; label: string; description: string; on: boolean; once: boolean };
const state = async () => (await operator.get('sandbox')).body.sandbox;
const find = async (id: string): Promise<Switch> => (await state()).switches.find((each: Switch) => each.id === id);
const faults = async () => (await fixture.api.control('GET', '/control/faults')).body.faults;
const turn = (id: string, to: string) => operator.post(`sandbox/faults/${id}`, { to });

test('responses contain the passwords of the made-up staff, but neither the control token nor what codes are made from', async () => {
  const { larkspur } = fixture.sandbox;
  const reported = JSON.stringify((await operator.get('sandbox')).body);
  expect(reported).not.toContain(larkspur.control_token);
  for (const { password, totp_secret } of larkspur.staff) {
    expect(reported).toContain(password);
    expect(reported).not.toContain(totp_secret);
  }
});

describe('a fault', () => {
  test('can be turned on and off with every switch', async () => {
    const { switches } = await state();
    expect(switches.length).toBeGreaterThan(10);
    expect(new Set(switches.map(({ group }: Switch) => group))).toStrictEqual(new Set(['down', 'lost', 'refused']));
    for (const { id, label, description } of switches as Switch[]) {
      expect(label && description).toBeTruthy();
      expect((await turn(id, 'on')).status, id).toBe(200);
      expect(await find(id), id).toMatchObject({ on: true, once: false });
      expect(await faults(), id).toHaveLength(1);
      await turn(id, 'off');
      expect(await faults(), id).toHaveLength(0);
    }
  });

  test('set to once turns off after one request', async () => {
    await turn('refuse', 'once');
    expect(await find('refuse')).toMatchObject({ on: true, once: true });
    const { body } = await fixture.api.callIn();
    expect((await fixture.api.untilEvent(body.job_id)).event_type).toBe('telephone_encounter.failed');
    expect(await find('refuse')).toMatchObject({ on: false });
  });

  test('turned off leaves the others on; clearing removes all, including those set by other means', async () => {
    await turn('slow', 'on');
    await turn('html', 'on');
    await fixture.api.control('POST', '/control/faults', { operation: 'list_claims', kind: 'error_500', times: 1 });
    await turn('slow', 'off');
    expect(await find('html')).toMatchObject({ on: true });
    expect(await state()).toMatchObject({ other_faults: 1 });
    expect((await operator.delete('sandbox/faults')).status).toBe(200);
    expect(await faults()).toHaveLength(0);
  });

  test('a fault without a switch returns 404', async () => {
    expect((await turn('lightning', 'on')).status).toBe(404);
    expect((await turn('slow', 'sideways')).status).toBe(400);
  });
});

describe('the staff', () => {
  test('are listed with their current one-time codes', async () => {
    const { staff, seconds_left } = await state();
    expect(staff).toHaveLength(fixture.sandbox.larkspur.staff.length);
    expect(staff[0].code).toMatch(/^\d{6}$/);
    expect(seconds_left).toBeGreaterThan(0);
    expect(seconds_left).toBeLessThanOrEqual(30);
  });

  test('cannot sign in while locked, and can after unlocking', async () => {
    const person = fixture.sandbox.larkspur.staff[5];
    const login = async () =>
      (
        await fetch(`${fixture.sandbox.larkspur.url}/api/login`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ userName: person?.username, password: person?.password }),
        })
      ).status;
    await operator.post('sandbox/lockouts', { user_name: person?.username, locked: true });
    expect(await login()).toBe(423);
    expect((await state()).staff[5].locked_until).toEqual(expect.any(String));
    await operator.post('sandbox/lockouts', { user_name: person?.username, locked: false });
    expect(await login()).toBe(200);
    expect((await state()).staff[5].locked_until).toBeNull();
  });
});

test('the sample write creates a job that ends in the chart', async () => {
  const { status, body } = await operator.post('sandbox/first-write');
  expect(status).toBe(200);
  expect(body.client_id).toBe(fixture.sandbox.client_id);
  expect((await fixture.api.untilEvent(body.job_id)).event_type).toBe('telephone_encounter.created');
});

test('read-only operators cannot change anything', async () => {
  await fixture.owner`UPDATE operators SET role = 'read_only'`;
  expect((await operator.get('sandbox')).status).toBe(200);
  for (const [path, body] of [
    ['sandbox/faults/slow', { to: 'on' }],
    ['sandbox/sessions/expire', { mode: 'link' }],
    ['sandbox/lockouts', { user_name: 'avery', locked: true }],
    ['sandbox/reset', {}],
    ['sandbox/first-write', {}],
  ] as const) {
    expect((await operator.post(path, body)).status, path).toBe(403);
  }
  expect((await operator.delete('sandbox/faults')).status).toBe(403);
  // Like the one-time codes, which they may read.
  const chart = { client_id: fixture.sandbox.client_id, mrn: fixture.sandbox.example.patient_mrn };
  expect((await operator.post('sandbox/open', chart)).status).toBe(200);
  await fixture.owner`UPDATE operators SET role = 'support'`;
  expect((await operator.post('sandbox/open', chart)).status).toBe(403);
  await fixture.owner`UPDATE operators SET role = 'owner'`;
});

test('expired sessions are renewed; expired links need re-linking before the sample write', async () => {
  await operator.post('sandbox/sessions/expire', { mode: 'session' });
  const renewed = await operator.post('sandbox/first-write');
  expect((await fixture.api.untilEvent(renewed.body.job_id)).event_type).toBe('telephone_encounter.created');
  await operator.post('sandbox/sessions/expire', { mode: 'link' });
  await operator.post('sandbox/first-write');
  await until('the account to be expired', async () => (await operator.post('sandbox/first-write')).status === 403);
  await fixture.api.link({ access_token: fixture.sandbox.access_token });
  // The waiting writes run now, and the next test counts writes.
  await until('all jobs to finish', async () => {
    return (await fixture.owner`SELECT FROM jobs WHERE finished_at IS NULL LIMIT 1`).length === 0;
  });
});

test('a reset removes everything that was written', async () => {
  const before = await fixture.api.ledger();
  expect(before.length).toBeGreaterThan(0);
  expect((await operator.post('sandbox/reset')).status).toBe(200);
  expect(await fixture.api.ledger()).toHaveLength(0);
});

test('the endpoints do not exist outside sandbox mode', async () => {
  const service = await startService({ ...fixture.ctx.config, sandbox: false }, { role: 'api', print: () => {} });
  const response = await fetch(`${service.base_url}/dashboard/api/sandbox`, { headers: { cookie: operator.cookie } });
  expect(response.status).toBe(404);
  await service.close();
});
