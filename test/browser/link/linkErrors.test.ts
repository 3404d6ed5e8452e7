import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endings, focused, type LinkFixture, startLink, untilAlert, untilClosed } from './linkFixture.ts';

let fixture: LinkFixture;
beforeAll(async () => {
  fixture = await startLink();
});
afterAll(() => fixture.close());

describe('errors', () => {
  test('a wrong password clears only the password; a wrong code stays selected', async () => {
    const { username, password } = fixture.person(3);
    const window = await fixture.open();
    const frame = await window.start(await fixture.steps.linkToken());
    await focused(frame, 'username');
    await window.type(username, 'Tab');
    await window.type('not the password');
    await untilAlert(frame, /Incorrect username or password/);
    await focused(frame, 'password');
    expect(await frame.inputValue('input[name="username"]')).toBe(username);
    expect(await frame.inputValue('input[name="password"]')).toBe('');
    await window.type(password);
    await focused(frame, 'code');
    await window.type('000000');
    await untilAlert(frame, /Incorrect or expired code/);
    await focused(frame, 'code');
    expect(await frame.inputValue('input[name="code"]')).toBe('000000');
    // It is selected, so typing replaces it.
    await window.type(fixture.product.api.code(3));
    await untilClosed(window);
    expect((await endings(window)).map(([kind]) => kind)).toStrictEqual(['success']);
    const errors = (await window.calls()).filter(([, name]) => name === 'error');
    expect(errors.map(([, , details]) => details)).toStrictEqual([
      { code: 'emr_credentials_wrong' },
      { code: 'emr_code_wrong' },
    ]);
    await window.close();
  });

  test('empty fields are reported before anything is sent, and Back keeps the username', async () => {
    const { username, password } = fixture.person(3);
    const window = await fixture.open();
    const frame = await window.start(await fixture.steps.linkToken());
    await focused(frame, 'username');
    await window.page.keyboard.press('Tab');
    await window.type(password);
    await untilAlert(frame, /Fill in all fields/);
    await focused(frame, 'username');
    // Nothing was sent, so the password stays.
    expect(await frame.inputValue('input[name="password"]')).toBe(password);
    await frame.fill('input[name="password"]', '');
    await frame.focus('input[name="username"]');
    await window.type(username);
    await focused(frame, 'password');
    expect(window.sent.filter(({ url }) => url.endsWith('/sign-in'))).toStrictEqual([]);
    await window.type(password);
    await focused(frame, 'code');
    await window.page.keyboard.press('Enter');
    await untilAlert(frame, /Enter the code/);
    await frame.locator('button', { hasText: 'Back' }).focus();
    await window.page.keyboard.press('Enter');
    await focused(frame, 'password');
    expect(await frame.inputValue('input[name="username"]')).toBe(username);
    await window.close();
  });

  test.each([
    ['en', /This account belongs to Avery Deskwell\. Sign in as that user, or link a new account\./],
    ['es', /Esta cuenta pertenece a Avery Deskwell\. Inicie sesión con ese usuario o vincule una cuenta nueva\./],
  ])('another EMR user than that of the account is rejected with its name (%s)', async (language, text) => {
    const { username, password } = fixture.person(6);
    const { org_id, user_id } = fixture.product.sandbox;
    const window = await fixture.open();
    const frame = await window.start(await fixture.steps.linkToken({ org_id, user_id, language }));
    await focused(frame, 'username');
    await window.type(username, 'Tab');
    await window.type(password);
    await focused(frame, 'code');
    await window.type(fixture.product.api.code(6));
    await untilAlert(frame, text);
    await window.close();
  });

  test('a locked account works again after it is unlocked', async () => {
    const { username, password } = fixture.person(4);
    const window = await fixture.open();
    const frame = await window.start(await fixture.steps.linkToken());
    await focused(frame, 'username');
    await window.type(username, 'Tab');
    for (let n = 0; n < 5; n += 1) {
      const response = window.page.waitForResponse('**/sign-in');
      await frame.focus('input[name="password"]');
      await window.type(`wrong ${n}`);
      await response;
      await frame.waitForSelector('form[aria-busy="false"]');
    }
    await untilAlert(frame, /locked this account.*Wait a while/s);
    await fixture.larkspur`UPDATE lockouts SET locked_until = now() - interval '1 second'`;
    expect(await frame.inputValue('input[name="username"]')).toBe(username);
    await frame.focus('input[name="password"]');
    await window.type(password);
    await focused(frame, 'code');
    await window.close();
  });

  test('an unreachable EMR works again when it is back', async () => {
    const { username, password } = fixture.person(5);
    const window = await fixture.open();
    const frame = await window.start(await fixture.steps.linkToken());
    await focused(frame, 'username');
    await window.type(username, 'Tab');
    const fault = { operation: 'get_practice', kind: 'error_500', times: 1000 };
    await fixture.product.api.control('POST', '/control/faults', fault);
    await window.type(password);
    await untilAlert(frame, /Cannot reach Larkspur right now/);
    // The password was cleared and must be entered again.
    await focused(frame, 'password');
    await fixture.product.api.control('DELETE', '/control/faults');
    await window.type(password);
    await focused(frame, 'code');
    await fixture.product.api.control('POST', '/control/faults', fault);
    await window.type(fixture.product.api.code(5));
    await untilAlert(frame, /Cannot reach Larkspur right now/);
    await fixture.product.api.control('DELETE', '/control/faults');
    // The code is still there.
    await frame.waitForSelector('button[type="submit"]:focus');
    await window.page.keyboard.press('Enter');
    await untilClosed(window);
    expect((await endings(window)).map(([kind]) => kind)).toStrictEqual(['success']);
    await window.close();
  });

  test('an unreachable service works again when it is back', async () => {
    const window = await fixture.open();
    await window.page.route('**/link/v1/session', (route) => route.abort(), { times: 1 });
    const frame = await window.start(await fixture.steps.linkToken());
    await frame.waitForSelector('button:focus');
    await expect.poll(() => frame.locator('.lead').innerText()).toMatch(/Cannot reach the service/);
    await window.page.keyboard.press('Enter');
    await focused(frame, 'username');
    await window.close();
  });

  test.each([
    ['expired', 'link_expired', /has expired/],
    ['used', 'link_used', /already used/],
    ['unknown', 'link_unknown', /not valid/],
  ])('a link that is %s shows why, and can be closed', async (state, reason, words) => {
    const window = await fixture.open();
    const token = state === 'unknown' ? 'lt_nonsense' : await fixture.steps.linkToken({ org_id: `${state}-org` });
    if (state === 'used') expect((await fixture.steps.signIn(token, 6)).status).toBe(200);
    await fixture.product.owner`UPDATE link_tokens SET expires_at = now() WHERE org_id = 'expired-org'`;
    const frame = await window.start(token);
    await frame.waitForSelector('button:focus');
    await expect.poll(() => frame.locator('h1').innerText()).toMatch(words);
    await expect.poll(() => frame.locator('.lead').innerText()).toMatch(/start again/);
    await window.page.keyboard.press('Enter');
    await untilClosed(window);
    expect(await endings(window)).toStrictEqual([['exit', reason]]);
    await window.close();
  });

  test('a link that was used in another window meanwhile', async () => {
    const window = await fixture.open();
    const token = await fixture.steps.linkToken();
    const frame = await window.start(token);
    await focused(frame, 'username');
    expect((await fixture.steps.signIn(token, 6)).status).toBe(200);
    await window.type('anybody', 'Tab');
    await window.type('anything');
    await frame.waitForSelector('.badge');
    await expect.poll(() => frame.locator('h1').innerText()).toMatch(/already used/);
    await window.close();
  });
});

describe('update mode', () => {
  test('asks only for the one-time code', async () => {
    const window = await fixture.open();
    const frame = await window.start(await fixture.expiredAccount('updated', 7));
    await frame.waitForSelector('button[type="submit"]:focus');
    await expect.poll(() => frame.locator('input').count()).toBe(0);
    await expect.poll(() => frame.locator('h1').innerText()).toBe('Reconnect Larkspur');
    await expect.poll(() => frame.locator('.consent').count()).toBe(0);
    await window.page.keyboard.press('Enter');
    await focused(frame, 'code');
    await expect.poll(() => frame.locator('input').count()).toBe(1);
    await window.type(fixture.product.api.code(7));
    await untilClosed(window);
    const [[kind, public_token] = []] = await endings(window);
    expect(kind).toBe('success');
    const access_token = (await fixture.steps.exchange(String(public_token))).body.token;
    const response = await fixture.product.api.call('GET', '/v1/providers', { headers: { access_token } });
    expect(response.status).toBe(200);
    await window.close();
  });

  test('asks for new credentials if the saved ones are rejected, with the username filled in', async () => {
    const { username, password } = fixture.person(8);
    const window = await fixture.open();
    const token = await fixture.expiredAccount('moved', 8);
    await fixture.larkspur`UPDATE staff SET user_name = 'new-name' WHERE user_name = ${username}`;
    const frame = await window.start(token);
    await frame.waitForSelector('button[type="submit"]:focus');
    await window.page.keyboard.press('Enter');
    await focused(frame, 'password');
    await expect.poll(() => frame.locator('.lead').innerText()).toMatch(/no longer accepts the saved password/);
    expect(await frame.inputValue('input[name="username"]')).toBe(username);
    await frame.fill('input[name="username"]', 'new-name');
    await frame.focus('input[name="password"]');
    await window.type(password);
    await focused(frame, 'code');
    await window.type(fixture.product.api.code(8));
    await untilClosed(window);
    expect((await endings(window)).map(([kind]) => kind)).toStrictEqual(['success']);
    await window.close();
  });
});
