import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { disableInactiveOperators } from '../../../src/product/operators/inactivity.ts';
import { runHere } from '../../cli/support.ts';
import { newOperator, sendAnonymously, signIn, signInOperator, type TestOperator } from '../../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';

let fixture: TestSandbox;
let owner: TestOperator;
beforeAll(async () => {
  fixture = await startSandbox({ small: true, env: { OPERATOR_INACTIVE_DAYS: '90' } });
});
afterAll(() => fixture?.close());
beforeEach(async () => {
  await fixture.owner`DELETE FROM sign_in_attempts`;
  await fixture.owner`UPDATE operators SET last_used_at = now(), disabled_at = NULL, inactive = false`;
  owner = await signInOperator(fixture);
});

/** As if the operator was last here so long ago. */
async function leave(email: string, days: number): Promise<void> {
  await fixture.owner`UPDATE operators SET last_used_at = now() - make_interval(days => ${days}),
    active_from = now() - interval '10 years' WHERE email = ${email}`;
}

async function readState(email: string) {
  const [row] = await fixture.owner<{ disabled: boolean; inactive: boolean }[]>`
    SELECT disabled_at IS NOT NULL AS disabled, inactive FROM operators WHERE email = ${email}`;
  return row;
}
const disabled_state = { disabled: true, inactive: true };
const active_state = { disabled: false, inactive: false };

test('the periodic task disables who was not here for OPERATOR_INACTIVE_DAYS, and nobody else', async () => {
  const [away, here] = [await newOperator(fixture, 'operator'), await newOperator(fixture, 'operator')];
  await leave(away.email, 91);
  await leave(here.email, 89);
  const disabled = await disableInactiveOperators(fixture.ctx);
  expect(disabled.map((id) => id.replaceAll('-', ''))).toStrictEqual([away.id]);
  expect(await readState(away.email)).toStrictEqual(disabled_state);
  expect(await readState(here.email)).toStrictEqual(active_state);
  expect((await away.get('clients')).status).toBe(401);
  const records = await fixture.owner`SELECT actor, outcome, detail FROM audit_records
    WHERE action = 'operator.disable' AND replace(subject, '-', '') = ${away.id}`;
  expect([...records]).toStrictEqual([{ actor: 'inactivity', outcome: 'disabled', detail: { days: 90 } }]);
});

test('what a disabled operator has prepared becomes void', async () => {
  const away = await newOperator(fixture, 'owner');
  const invited = await away.post('invitations', { email: 'invited@example.test', role: 'support' });
  await leave(away.email, 91);
  await disableInactiveOperators(fixture.ctx);
  const token = new URL(invited.body.invitation.link).hash.slice(1);
  expect((await sendAnonymously(fixture, 'invitations/find', { token })).status).toBe(410);
});

test('a sign-in after the time is refused with the reason, even if the task has not run', async () => {
  const away = await newOperator(fixture, 'operator');
  await leave(away.email, 91);
  for (const _attempt of [1, 2]) {
    const { status, body } = await signIn(fixture, away);
    expect([status, body.code]).toStrictEqual([403, 'operator_inactive']);
  }
  expect(await readState(away.email)).toStrictEqual(disabled_state);
  // A wrong password does not show that the account exists.
  expect((await signIn(fixture, { ...away, password: 'another password' })).body.code).toBe(
    'operator_credentials_wrong',
  );
});

test('the owner who was active last stays, however long ago that was', async () => {
  const second = await newOperator(fixture, 'owner');
  await fixture.owner`UPDATE operators SET disabled_at = now() WHERE role = 'owner' AND email NOT IN
    (${fixture.sandbox.dashboard.email}, ${second.email})`;
  await leave(fixture.sandbox.dashboard.email, 400);
  await leave(second.email, 500);
  // Both at once: the lock keeps two tasks from disabling one owner each.
  await Promise.all([disableInactiveOperators(fixture.ctx), disableInactiveOperators(fixture.ctx)]);
  expect(await readState(fixture.sandbox.dashboard.email)).toStrictEqual(active_state);
  expect(await readState(second.email)).toStrictEqual(disabled_state);
});

test('a new operator, or one who was enabled, has the whole time from then on', async () => {
  const away = await newOperator(fixture, 'operator');
  await leave(away.email, 91);
  await disableInactiveOperators(fixture.ctx);
  const enabled = await owner.patch(`operators/${away.id}`, { disabled: false });
  expect(enabled.status).toBe(200);
  expect(await disableInactiveOperators(fixture.ctx)).toStrictEqual([]);
  expect((await signIn(fixture, away)).status).toBe(200);
});

test('the command enables an operator whom nobody else can enable, and records it', async () => {
  const away = await newOperator(fixture, 'operator');
  await leave(away.email, 91);
  await disableInactiveOperators(fixture.ctx);
  const { code, stdout } = await runHere(['operators', 'enable', '--email', away.email, '--json'], fixture.env);
  expect([code, JSON.parse(stdout)]).toStrictEqual([0, { email: away.email, enabled: true }]);
  expect((await signIn(fixture, away)).status).toBe(200);
  const [record] = await fixture.owner`SELECT actor FROM audit_records
    WHERE action = 'operator.enable' AND replace(subject, '-', '') = ${away.id}`;
  expect(record?.actor).toBe('command line');
  const again = await runHere(['operators', 'enable', '--email', away.email], fixture.env);
  expect([again.code, again.stderr]).toStrictEqual([
    1,
    `There is no disabled operator with the email address '${away.email}'.\n`,
  ]);
});

test('an action counts as use, a background request does not', async () => {
  const operator = await newOperator(fixture, 'operator');
  const past = async () => {
    await fixture.owner`UPDATE operators SET last_used_at = now() - interval '80 days' WHERE email = ${operator.email}`;
    await fixture.owner`UPDATE operator_sessions SET seen_at = now() - interval '1 minute'`;
  };
  const used = async () => {
    const [row] = await fixture.owner<{ used: boolean }[]>`
      SELECT last_used_at > now() - interval '1 hour' AS used FROM operators WHERE email = ${operator.email}`;
    return row?.used;
  };
  await past();
  await operator.get('clients', { 'x-background': '1' });
  expect(await used()).toBe(false);
  await operator.get('clients');
  expect(await used()).toBe(true);
});

test('without the setting, nobody is disabled', async () => {
  const away = await newOperator(fixture, 'operator');
  await leave(away.email, 3_000);
  const config = { ...fixture.ctx.config, operator_inactive_days: 0 };
  expect(await disableInactiveOperators({ ...fixture.ctx, config })).toStrictEqual([]);
  expect(await readState(away.email)).toStrictEqual(active_state);
});
