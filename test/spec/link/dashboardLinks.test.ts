import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LinkFixture, startLink } from '../../browser/link/linkFixture.ts';
import { signInOperator, type TestOperator } from '../../harness/operator.ts';
import { row } from '../../harness/row.ts';
import { tokenIn } from '../../linking/linkSteps.ts';

let fixture: LinkFixture;
let operator: TestOperator;
beforeAll(async () => {
  fixture = await startLink();
  operator = await signInOperator(fixture.product);
});
afterAll(() => fixture?.close());

/** Creates a link in the dashboard and follows it; returns the final text and the URLs that the page loaded. */
async function linkByDashboard(user_id: string, staff: number) {
  const { org_id } = fixture.product.sandbox;
  const { body } = await operator.post('clients/{client}/links', { org_id, user_id });
  const address = new URL(body.link.url);
  expect(address.pathname).toBe('/link');
  const window = await fixture.openHosted(tokenIn(body.link.url));
  await fixture.signIn(window, await window.frame(), staff);
  await window.page.waitForSelector('.badge.good');
  const text = await window.page.innerText('main');
  await window.close();
  return { text, loaded: window.sent.map(({ url }) => url) };
}

async function revealToken(user_id: string): Promise<string> {
  const [row] = await fixture.product.owner<{ id: string }[]>`SELECT id FROM accounts WHERE user_id = ${user_id}`;
  const { body } = await operator.post(`clients/{client}/accounts/${row?.id}/reveal`);
  return body.access_token;
}

async function opens(access_token: string): Promise<boolean> {
  return (await fixture.product.api.call('GET', '/v1/providers', { headers: { access_token } })).status === 200;
}

test(row('LNK-17'), async () => {
  const { text, loaded } = await linkByDashboard('shared-link', 1);
  expect(text).toContain('is linked');
  expect(loaded.filter((url) => url.includes('/link/v1/link.js'))).toStrictEqual([]);
  const linked = await fixture.product.owner`SELECT FROM accounts WHERE user_id = 'shared-link' AND status = 'active'`;
  expect(linked).toHaveLength(1);
});

test(row('LNK-18'), async () => {
  await linkByDashboard('read-there', 2);
  expect(await opens(await revealToken('read-there'))).toBe(true);
});

test(row('DEC-017'), async () => {
  const access_token = await fixture.product.api.link({ user_id: 'by-api', staff: 3 });
  expect(await revealToken('by-api')).toBe(access_token);
});

test(row('DEC-099'), async () => {
  const { text } = await linkByDashboard('ends-there', 4);
  expect(text).toMatch(/account is linked.*close this window/s);
  expect(text).not.toContain('pt_');
  expect(await opens(await revealToken('ends-there'))).toBe(true);
});
