import { beforeAll, expect, test } from 'vitest';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

test(row('DAT-03'), async () => {
  const first = await fixture.api.link({ user_id: 'rotated-at-once', staff: 5 });
  const readStatus = async (access_token: string) =>
    (await fixture.api.call('GET', '/v1/settings', { headers: { access_token } })).status;
  const rotate = (access_token: string, body: object) =>
    fixture.api.call('POST', '/v1/account/rotate-token', { body, headers: { access_token } });

  const second = (await rotate(first, { immediately: false })).body.access_token;
  expect([await readStatus(first), await readStatus(second)]).toStrictEqual([200, 200]);
  const rotated = await rotate(second, { immediately: true });
  expect(rotated.body).toMatchObject({ message: 'Access token replaced. The old one is no longer valid.' });
  const statuses = [await readStatus(first), await readStatus(second), await readStatus(rotated.body.access_token)];
  expect(statuses).toStrictEqual([401, 401, 200]);
  expect((await rotate(rotated.body.access_token, { immediately: 'true' })).status).toBe(400);
});
