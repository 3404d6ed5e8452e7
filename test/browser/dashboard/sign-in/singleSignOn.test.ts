import { afterAll, beforeAll, expect, test } from 'vitest';
import { providerSettings, startProvider, type TestProvider } from '../../../harness/servers/identityProvider.ts';
import { chooseFromMenu, type DashboardFixture, expectAccessible, startDashboard } from '../fixture.ts';

let provider: TestProvider;
let fixture: DashboardFixture;
beforeAll(async () => {
  provider = await startProvider();
  const env = { ...providerSettings(provider, 'owners=owner'), OIDC_LABEL: 'Sign in with Example ID' };
  fixture = await startDashboard({ env });
  // So that the operator need not confirm the identity right after signing in.
  provider.reports_auth_time = true;
  await provider.allowRedirect(fixture.product.sandbox.base_url);
});
afterAll(async () => {
  await fixture?.close();
  await provider?.close();
});

// The provider is another site for the browser, so this also checks that it accepts and sends the cookies.
test('single sign-on explains a refusal, returns to the page, and signs out at the provider', async () => {
  const context = await fixture.browser.newContext();
  const page = await context.newPage();
  const { url } = fixture.product.sandbox.dashboard;
  await page.goto(`${url}/settings/me`);
  const button = page.getByRole('button', { name: 'Sign in with Example ID' });
  provider.current = { sub: 'p1', email: 'p1@example.test', name: 'Synthetic Owner', roles: [] };
  await button.click();
  await expect.poll(() => page.getByRole('alert').innerText()).toContain('You have no role in Chartwire');
  expect(page.url()).toBe(url);
  await expectAccessible(page);
  await page.reload();
  await button.waitFor();
  await expect.poll(() => page.getByRole('alert').count()).toBe(0);

  provider.current = { ...provider.current, roles: ['owners'] };
  await page.goto(`${url}/settings/me`);
  await button.click();
  await page.getByText('You use single sign-on.').waitFor();
  expect(page.url()).toBe(`${url}/settings/me`);
  await expectAccessible(page);
  await page.getByRole('tab', { name: 'Operators' }).click();
  const { email } = fixture.product.sandbox.dashboard;
  await chooseFromMenu(page, 'Allow single sign-on', email);
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Allow', exact: true }).click();
  await page.getByRole('button', { name: 'Stop linking' }).waitFor();

  await page.getByRole('button', { name: 'Synthetic Owner' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.waitForURL((at) => at.origin === provider.issuer);
  await page.goto(url);
  await button.waitFor();
  await context.close();
});
