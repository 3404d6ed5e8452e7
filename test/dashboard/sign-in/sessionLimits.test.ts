import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { loadConfig } from '../../../src/catalog/settings/config.ts';
import { newOperator, signIn, signInOperator, type TestOperator } from '../../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  const env = {
    OPERATOR_SESSION_IDLE_MINUTES: '5',
    OPERATOR_SESSION_HOURS: '2',
    OPERATOR_SESSIONS_MAX: '2',
  };
  fixture = await startSandbox({ small: true, env });
});
afterAll(() => fixture?.close());
beforeEach(async () => {
  await fixture.owner`DELETE FROM sign_in_attempts`;
});

async function age(email: string, column: 'seen_at' | 'created_at', past: string): Promise<void> {
  await fixture.owner`UPDATE operator_sessions SET ${fixture.owner(column)} = now() - ${past}::interval
    WHERE operator_id = (SELECT id FROM operators WHERE email = ${email})`;
}
const isOpen = async (operator: TestOperator) => (await operator.get('clients')).status === 200;

test('a session ends after the minutes of OPERATOR_SESSION_IDLE_MINUTES without an action', async () => {
  const operator = await newOperator(fixture, 'operator');
  await age(operator.email, 'seen_at', '4 minutes 50 seconds');
  expect(await isOpen(operator)).toBe(true);
  await age(operator.email, 'seen_at', '5 minutes 1 second');
  expect(await isOpen(operator)).toBe(false);
});

test('a session ends OPERATOR_SESSION_HOURS after the sign-in', async () => {
  const operator = await newOperator(fixture, 'operator');
  await age(operator.email, 'created_at', '1 hour 59 minutes');
  expect(await isOpen(operator)).toBe(true);
  expect((await operator.get('me/sessions')).body.sessions).toHaveLength(1);
  await age(operator.email, 'created_at', '2 hours 1 second');
  expect(await isOpen(operator)).toBe(false);
});

test('a sign-in beyond OPERATOR_SESSIONS_MAX ends the oldest session, with a record', async () => {
  const first = await newOperator(fixture, 'operator');
  const other = await newOperator(fixture, 'operator');
  await age(first.email, 'created_at', '1 minute');
  const second = await signInOperator(fixture, first);
  const stream = await fetch(`${fixture.sandbox.base_url}/dashboard/api/live`, { headers: { cookie: first.cookie } });
  const live = stream.text();
  const third = await signInOperator(fixture, first);
  expect(await Promise.all([first, second, third, other].map(isOpen))).toStrictEqual([false, true, true, true]);
  expect(await live).toContain('event: over');
  const records = await fixture.owner`SELECT outcome, detail FROM audit_records
    WHERE action = 'operator.sessions_max' AND actor = ${first.email}`;
  expect([...records]).toStrictEqual([{ outcome: 'ended', detail: { sessions: 1 } }]);
});

test('an expired session does not count', async () => {
  const first = await newOperator(fixture, 'operator');
  await signInOperator(fixture, first);
  await age(first.email, 'seen_at', '6 minutes');
  const [second, third] = [await signInOperator(fixture, first), await signInOperator(fixture, first)];
  expect(await Promise.all([second, third].map(isOpen))).toStrictEqual([true, true]);
});

test('two sessions remain after many sign-ins at the same moment', async () => {
  const operator = await newOperator(fixture, 'operator');
  const responses = await Promise.all(Array.from({ length: 6 }, () => signIn(fixture, operator)));
  expect(responses.map(({ status }) => status)).toContain(200);
  const open = await fixture.owner`SELECT FROM operator_sessions JOIN operators ON operators.id = operator_id
    WHERE email = ${operator.email}`;
  expect(open).toHaveLength(2);
});

test('by default, sessions have the limits they always had', () => {
  const {
    OPERATOR_SESSION_IDLE_MINUTES: _,
    OPERATOR_SESSION_HOURS: __,
    OPERATOR_SESSIONS_MAX: ___,
    ...env
  } = fixture.env;
  expect(loadConfig(env)).toMatchObject({
    operator_session_idle_minutes: 15,
    operator_session_hours: 12,
    operator_sessions_max: 0,
    operator_inactive_days: 0,
    four_eyes: [],
  });
  expect(() => loadConfig({ ...env, OPERATOR_SESSION_HOURS: '25' })).toThrow('OPERATOR_SESSION_HOURS');
});
