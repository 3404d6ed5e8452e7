import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { type LinkSteps, linkSteps } from './linkSteps.ts';

let fixture: TestSandbox;
let steps: LinkSteps;
beforeAll(async () => {
  fixture = await startSandbox({ small: true, sync_after_link: false });
  steps = linkSteps(fixture);
});
afterAll(() => fixture.close());

describe('concurrent first links of a new organization', () => {
  test.each(['crowd-a', 'crowd-b', 'crowd-c'])(
    '%s create one organization, one account per user and one token per account',
    async (org_id) => {
      const users = ['crowd-1', 'crowd-2', 'crowd-1', 'crowd-2', 'crowd-3'];
      const tokens = [];
      for (const user_id of users) tokens.push(await steps.linkToken({ user_id, org_id }));
      const linked = await Promise.all(tokens.map((token) => steps.signIn(token, 9)));
      expect(linked.map((response) => response.status)).toStrictEqual(Array(5).fill(200));
      const access = await Promise.all(linked.map((response) => steps.exchange(response.body.public_token)));
      const [first, second, third, fourth, fifth] = access.map((response) => response.body.token);
      expect([third, fourth]).toStrictEqual([first, second]);
      expect(new Set([first, second, fifth]).size).toBe(3);
      expect(await fixture.owner`SELECT FROM organizations WHERE org_id = ${org_id}`).toHaveLength(1);
    },
  );
});

describe('a slow EMR', () => {
  test('delays only sign-ins to that EMR', async () => {
    await Promise.all(Array.from({ length: 20 }, () => fixture.api.call('GET', '/v1/webhook')));
    // Half of the time after which a call to the EMR fails.
    const fault = { operation: 'login', kind: 'delay', delay_ms: 5000, times: 8 };
    await fixture.api.control('POST', '/control/faults', fault);
    const tokens = await Promise.all(Array.from({ length: 8 }, () => steps.linkToken()));
    let waiting = 8;
    const links = tokens.map((token) => steps.signIn(token, 10).finally(() => (waiting -= 1)));
    // The faults are used up when all eight requests are waiting at the EMR.
    const faults = async () => (await fixture.api.control('GET', '/control/faults')).body.faults;
    await expect.poll(faults).toStrictEqual([]);
    const responses = await Promise.all(Array.from({ length: 8 }, () => fixture.api.call('GET', '/v1/providers')));
    expect(responses.map((response) => response.status)).toStrictEqual(Array(8).fill(200));
    expect(waiting).toBe(8);
    expect((await Promise.all(links)).map((response) => response.status)).toStrictEqual(Array(8).fill(200));
  });
});

describe('a sign-in with an Idempotency-Key', () => {
  test('replays its response although the link token is used up', async () => {
    const token = await steps.linkToken();
    const { username, password } = fixture.sandbox.larkspur.staff[9] ?? {};
    const body = { link_token: token, credentials: { username, password }, one_time_code: fixture.api.code(9) };
    const sent = { body, headers: { access_token: null, 'idempotency-key': token } };
    const send = () => fixture.api.call('POST', '/sandbox/public_token/create', sent);
    const first = await send();
    const again = await send();
    expect([first.status, again.status]).toStrictEqual([200, 200]);
    expect(again.body).toStrictEqual(first.body);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  });
});
