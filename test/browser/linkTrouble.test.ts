import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endings, focused, type LinkPlace, startLinkPlace, untilAlert, untilClosed } from './linkPlace.ts';

let place: LinkPlace;
beforeAll(async () => {
  place = await startLinkPlace();
});
afterAll(() => place.close());

describe('what goes wrong is told, and can be mended', () => {
  test('a wrong password and a wrong code: what was typed stays, but for the password', async () => {
    const { username, password } = place.person(3);
    const window = await place.open();
    const frame = await window.start(await place.steps.linkToken());
    await focused(frame, 'username');
    await window.type(username, 'Tab');
    await window.type('not the password');
    await untilAlert(frame, /did not accept this user name and password/);
    await focused(frame, 'password');
    expect(await frame.inputValue('input[name="username"]')).toBe(username);
    expect(await frame.inputValue('input[name="password"]')).toBe('');
    await window.type(password);
    await focused(frame, 'code');
    await window.type('000000');
    await untilAlert(frame, /wrong or too old/);
    await focused(frame, 'code');
    expect(await frame.inputValue('input[name="code"]')).toBe('000000');
    // It is selected, so that the next one takes its place.
    await window.type(place.world.api.code(3));
    await untilClosed(window);
    expect((await endings(window)).map(([kind]) => kind)).toStrictEqual(['success']);
    const errors = (await window.calls()).filter(([, name]) => name === 'error');
    expect(errors.map(([, , details]) => details)).toStrictEqual([
      { code: 'emr_credentials_wrong' },
      { code: 'emr_code_wrong' },
    ]);
    await window.page.context().close();
  });

  test('what is left empty is asked for before anything is sent; Back keeps the user name', async () => {
    const { username, password } = place.person(3);
    const window = await place.open();
    const frame = await window.start(await place.steps.linkToken());
    await focused(frame, 'username');
    await window.page.keyboard.press('Tab');
    await window.type(password);
    await untilAlert(frame, /every field/);
    await focused(frame, 'username');
    // Nothing was sent, so nothing is emptied either.
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
    await window.page.context().close();
  });

  test('a locked account, and the same one when it is locked no more', async () => {
    const { username, password } = place.person(4);
    const window = await place.open();
    const frame = await window.start(await place.steps.linkToken());
    await focused(frame, 'username');
    await window.type(username, 'Tab');
    for (let n = 0; n < 5; n += 1) {
      const answered = window.page.waitForResponse('**/sign-in');
      await frame.focus('input[name="password"]');
      await window.type(`wrong ${n}`);
      await answered;
      await frame.waitForSelector('form[aria-busy="false"]');
    }
    await untilAlert(frame, /has locked this account.*Wait a while/s);
    await place.larkspur`UPDATE lockouts SET locked_until = now() - interval '1 second'`;
    expect(await frame.inputValue('input[name="username"]')).toBe(username);
    await frame.focus('input[name="password"]');
    await window.type(password);
    await focused(frame, 'code');
    await window.page.context().close();
  });

  test('an EMR that cannot be reached, and then can', async () => {
    const { username, password } = place.person(5);
    const window = await place.open();
    const frame = await window.start(await place.steps.linkToken());
    await focused(frame, 'username');
    await window.type(username, 'Tab');
    const fault = { operation: 'get_practice', kind: 'error_500', times: 1000 };
    await place.world.api.control('POST', '/control/faults', fault);
    await window.type(password);
    await untilAlert(frame, /cannot be reached right now/);
    // The password is never kept, so the next key belongs there.
    await focused(frame, 'password');
    await place.world.api.control('DELETE', '/control/faults');
    await window.type(password);
    await focused(frame, 'code');
    await place.world.api.control('POST', '/control/faults', fault);
    await window.type(place.world.api.code(5));
    await untilAlert(frame, /cannot be reached right now/);
    await place.world.api.control('DELETE', '/control/faults');
    // Here nothing has to be typed again.
    await frame.waitForSelector('button[type="submit"]:focus');
    await window.page.keyboard.press('Enter');
    await untilClosed(window);
    expect((await endings(window)).map(([kind]) => kind)).toStrictEqual(['success']);
    await window.page.context().close();
  });

  test('a service that cannot be reached, and then can', async () => {
    const window = await place.open();
    await window.page.route('**/link/v1/session', (route) => route.abort(), { times: 1 });
    const frame = await window.start(await place.steps.linkToken());
    await frame.waitForSelector('button:focus');
    expect(await frame.locator('.lead').innerText()).toMatch(/no connection to the service/);
    await window.page.keyboard.press('Enter');
    await focused(frame, 'username');
    await window.page.context().close();
  });

  test.each([
    ['expired', 'link_expired', /has expired/],
    ['used', 'link_used', /already used/],
    ['unknown', 'link_unknown', /not valid/],
  ])('a link that is %s: said plainly, with a way out', async (state, reason, words) => {
    const window = await place.open();
    const token = state === 'unknown' ? 'lt_nonsense' : await place.steps.linkToken({ org_id: `${state}-org` });
    if (state === 'used') expect((await place.steps.signIn(token, 6)).status).toBe(200);
    await place.world.owner`UPDATE link_tokens SET expires_at = now() WHERE org_id = 'expired-org'`;
    const frame = await window.start(token);
    await frame.waitForSelector('button:focus');
    expect(await frame.locator('h1').innerText()).toMatch(words);
    expect(await frame.locator('.lead').innerText()).toMatch(/start again/);
    await window.page.keyboard.press('Enter');
    await untilClosed(window);
    expect(await endings(window)).toStrictEqual([['exit', reason]]);
    await window.page.context().close();
  });

  test('a link that another window uses up meanwhile', async () => {
    const window = await place.open();
    const token = await place.steps.linkToken();
    const frame = await window.start(token);
    await focused(frame, 'username');
    expect((await place.steps.signIn(token, 6)).status).toBe(200);
    await window.type('anybody', 'Tab');
    await window.type('anything');
    await frame.waitForSelector('.badge');
    expect(await frame.locator('h1').innerText()).toMatch(/already used/);
    await window.page.context().close();
  });
});

describe('update mode', () => {
  test('asks for nothing but the one-time code', async () => {
    const window = await place.open();
    const frame = await window.start(await place.expiredAccount('updated', 7));
    await frame.waitForSelector('button[type="submit"]:focus');
    expect(await frame.locator('input').count()).toBe(0);
    expect(await frame.locator('h1').innerText()).toBe('Reconnect Larkspur');
    await window.page.keyboard.press('Enter');
    await focused(frame, 'code');
    expect(await frame.locator('input').count()).toBe(1);
    await window.type(place.world.api.code(7));
    await untilClosed(window);
    const [[kind, public_token] = []] = await endings(window);
    expect(kind).toBe('success');
    const access_token = (await place.steps.exchange(String(public_token))).body.token;
    const answer = await place.world.api.call('GET', '/v1/providers', { headers: { access_token } });
    expect(answer.status).toBe(200);
    await window.page.context().close();
  });

  test('asks for the credentials where the saved ones are no longer good, with the user name filled in', async () => {
    const { username, password } = place.person(8);
    const window = await place.open();
    const token = await place.expiredAccount('moved', 8);
    await place.larkspur`UPDATE staff SET user_name = 'new-name' WHERE user_name = ${username}`;
    const frame = await window.start(token);
    await frame.waitForSelector('button[type="submit"]:focus');
    await window.page.keyboard.press('Enter');
    await focused(frame, 'password');
    expect(await frame.locator('.lead').innerText()).toMatch(/no longer accepts the saved password/);
    expect(await frame.inputValue('input[name="username"]')).toBe(username);
    await frame.fill('input[name="username"]', 'new-name');
    await frame.focus('input[name="password"]');
    await window.type(password);
    await focused(frame, 'code');
    await window.type(place.world.api.code(8));
    await untilClosed(window);
    expect((await endings(window)).map(([kind]) => kind)).toStrictEqual(['success']);
    await window.page.context().close();
  });
});
