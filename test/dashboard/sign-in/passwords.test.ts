import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkNewPassword } from '../../../src/product/operators/localAccounts.ts';
import { dashboardEndpoints } from '../../../src/surfaces/dashboard/endpoints.ts';
import { newOperator, outdateSignIns, signIn, signInOperator, type TestOperator } from '../../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';

let fixture: TestSandbox;
let owner: TestOperator;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  owner = await signInOperator(fixture);
});
afterAll(() => fixture?.close());

describe('a new password', () => {
  const operator = { email: 'night.shift.nurse@example.org', name: 'Night Shift Nurse' };
  const check = (password: string) => checkNewPassword(password, operator, 'new_password');

  test.each([
    ['is too short', 'eleven char', 'must have at least 12 characters'],
    ['is too short, though its UTF-16 form is not', '\u{1F511}'.repeat(11), 'must have at least 12 characters'],
    ['is too long', 'a b'.repeat(43), 'can have at most 128 characters'],
    ['is the email address', 'Night.Shift.Nurse@example.org', 'must not be your name or email address'],
    ['is the local part of the email address', 'night.shift.nurse', 'must not be your name or email address'],
    ['is the name with digits', 'NIGHT shift nurse 1', 'must not be your name or email address'],
    ['is common', '1Qaz2wsx3edc', 'is easy to guess. Choose one that fewer people use'],
    ['is common in full-width characters', '\uff51werty123456', 'is easy to guess. Choose one that fewer people use'],
    ['is common with digits and punctuation', 'Sunshine2026!', 'is easy to guess. Choose one that fewer people use'],
  ])('is rejected if it %s', async (_, password, rule) => {
    const error = { code: 'invalid_field', field: 'new_password', message: `The new password ${rule}` };
    await expect(check(password)).rejects.toMatchObject(error);
  });

  test.each(['twelve chars', 'correct horse battery staple', 'x'.repeat(64) + 'y'.repeat(64)])(
    'is accepted: %s',
    async (password) => {
      await expect(check(password)).resolves.toBeUndefined();
    },
  );
});

test('an operator with a temporary password can only change it, confirm it or sign out', async () => {
  const { id: operator_id, email } = await newOperator(fixture, 'owner');
  const { password } = (await owner.post(`operators/${operator_id}/reset`)).body;
  const me = await signInOperator(fixture, { email, password });
  expect((await me.get('session')).body.session).toMatchObject({ pending_setup: 'password' });
  const declared = dashboardEndpoints({ live: { open: unasked }, findSandboxEmr: () => undefined });
  const allowed = ['dashboard.session.delete', 'dashboard.session.renew', 'dashboard.me.password'];
  const others = declared.filter(({ id, auth }) => auth !== 'none' && !allowed.includes(id));
  for (const { id, method, path } of others) {
    const url = path.replace('{client_id}', '{client}').replaceAll(/\{(?!client\})\w+\}/g, '0'.repeat(32));
    const send = { GET: me.get, POST: me.post, PATCH: me.patch, DELETE: me.delete }[method];
    expect(await send(url), id).toMatchObject({ status: 403, body: { code: 'operator_password_temporary' } });
  }
  expect((await me.post('me/password', { new_password: password })).body).toMatchObject({
    code: 'invalid_field',
    message: 'The new password must differ from the current one',
  });
  expect((await me.get('clients')).status).toBe(403);
  expect((await me.post('me/password', { new_password: 'one of my own choice' })).status).toBe(200);
  expect((await me.get('session')).body.session).toMatchObject({ pending_setup: null });
  expect((await me.get('clients')).status).toBe(200);
});

test('the sandbox owner in sandbox.json has nothing to set up', async () => {
  expect((await owner.get('session')).body.session).toMatchObject({ pending_setup: null });
});

test('changing the password requires a recent sign-in and ends all other sessions', async () => {
  const here = await newOperator(fixture, 'operator');
  const { email, password } = here;
  const there = await signInOperator(fixture, { email, password });
  const change = (new_password: string) => here.post('me/password', { new_password });
  await outdateSignIns(fixture, email);
  expect(await change('a long enough one')).toMatchObject({ status: 403, body: { code: 'operator_sign_in_again' } });
  expect((await here.post('session/renew')).body).toMatchObject({ code: 'missing_field', field: 'password' });
  expect((await here.post('session/renew', { password: 'wrong' })).body.code).toBe('operator_credentials_wrong');
  expect((await change('a long enough one')).body.code).toBe('operator_sign_in_again');
  expect((await here.post('session/renew', { password })).status).toBe(200);
  expect((await change('short')).body).toMatchObject({ code: 'invalid_field', field: 'new_password' });
  expect((await there.get('clients')).status).toBe(200);
  expect((await change('a long enough one')).status).toBe(200);
  expect((await there.get('clients')).status).toBe(401);
  expect((await here.get('clients')).status).toBe(200);
  expect((await signIn(fixture, { email, password: 'a long enough one' })).status).toBe(200);
});

function unasked(): never {
  throw new Error('Not called in this test.');
}
