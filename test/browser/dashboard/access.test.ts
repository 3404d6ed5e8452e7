import { afterAll, beforeAll, expect, test } from 'vitest';
import { rejectedCall } from '../../dashboard/finishedCalls.ts';
import { type DashboardFixture, expectAccessible, startDashboard, wideTables } from './fixture.ts';

let fixture: DashboardFixture;
beforeAll(async () => {
  fixture = await startDashboard();
});
afterAll(() => fixture?.close());

test('an invited support operator sees patient details only after giving a reason', async () => {
  const { product } = fixture;
  const { job_id } = await rejectedCall(product);
  const { patient_mrn } = product.sandbox.example;
  const owner = await fixture.open('/settings/operators');
  await owner.getByRole('button', { name: 'Invite operator' }).click();
  await owner.getByLabel('Email').fill('helper@example.org');
  await owner.getByLabel('Selected clients').check();
  await owner.getByRole('group', { name: 'Role per client' }).getByRole('combobox').selectOption('support');
  await owner.getByLabel('Can reveal patient details').check();
  await expectAccessible(owner);
  await owner.getByRole('button', { name: 'Create invitation' }).click();
  await owner.getByText('It works once').waitFor();
  const link = await owner.getByRole('dialog').locator('code').innerText();
  await owner.getByRole('button', { name: 'Done' }).click();
  await owner.getByRole('table', { name: 'Pending invitations' }).getByText('helper@example.org').waitFor();
  await expectAccessible(owner);
  await owner.setViewportSize({ width: 1024, height: 800 });
  await expect.poll(() => wideTables(owner), { message: 'tables that scroll sideways' }).toStrictEqual([]);
  await owner.setViewportSize({ width: 1280, height: 800 });

  const context = await fixture.browser.newContext();
  const page = await context.newPage();
  await page.goto(link);
  await page.getByText('Sandbox owner invited you to this dashboard for selected clients.').waitFor();
  await page.getByLabel('Name').fill('Helper');
  await page.getByRole('textbox', { name: 'Password' }).fill('a password of their own');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Create account' }).click();
  const menu = page.getByRole('navigation', { name: 'Pages' });
  await menu.waitFor();
  expect(page.url()).not.toContain('oi_');
  await expect
    .poll(() => menu.getByRole('link').allInnerTexts())
    .toStrictEqual(['Overview', 'Accounts', 'Jobs', 'Events & webhooks', 'Requests', 'Settings']);

  await menu.getByRole('link', { name: 'Jobs' }).click();
  await page.getByRole('cell', { name: '•••', exact: true }).first().waitFor();
  await page.getByRole('link', { name: String(job_id), exact: true }).click();
  await page.getByText('Patient details are hidden').waitFor();
  await expect.poll(() => page.getByRole('alert', { name: 'Rejected by the EMR' }).innerText()).not.toContain('•••');
  // Whether a write was saved is no patient detail.
  await page.getByText('Create encounter: not saved.').waitFor();
  await expect.poll(() => page.getByRole('main').innerText()).not.toContain(patient_mrn);
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Reveal patient details…' }).click();
  await page.getByLabel('Reason').fill('The practice asked why it failed');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Reveal', exact: true }).click();
  await page.getByRole('main').getByText(patient_mrn).first().waitFor();
  await expect.poll(() => page.getByText('Patient details are hidden').count()).toBe(0);

  await page.getByRole('link', { name: 'View record' }).click();
  await page.getByText('Patient details are hidden').waitFor();
  await page.getByRole('link', { name: String(job_id), exact: true }).waitFor();
  await expect.poll(() => page.getByRole('main').innerText()).not.toContain(patient_mrn);
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Reveal patient details…' }).click();
  await page.getByLabel('Reason').fill('The practice asked about the chart');
  await page.getByRole('button', { name: 'Reveal', exact: true }).click();
  await page.getByRole('heading', { name: 'Demographics' }).waitFor();
  await page.getByRole('main').getByText(patient_mrn).first().waitFor();
  await expect.poll(() => page.getByRole('heading', { name: 'Appointments' }).count()).toBe(0);
  await expectAccessible(page);

  await page.goto(link);
  await page.getByRole('alert').getByText('This invitation was used or revoked').waitFor();
  await context.close();

  await owner.goto(`${product.sandbox.dashboard.url}/audit?action=dashboard.reveals.create`);
  await expect.poll(() => owner.getByText(/^Operator · .*127\.0\.0\.1$/).count()).toBe(2);
  await expectAccessible(owner);
  const drawer = owner.getByRole('dialog');
  for (const [n, reason] of ['The practice asked about the chart', 'The practice asked why it failed'].entries()) {
    await owner
      .getByRole('row')
      .nth(n + 1)
      .getByRole('link')
      .first()
      .click();
    await drawer.getByText(reason).waitFor();
    await owner.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
  }
  expect(fixture.consoleErrors(owner)).toStrictEqual([]);
});

test('signs an operator in and rejects a wrong password', async () => {
  const context = await fixture.browser.newContext();
  const page = await context.newPage();
  await page.goto(fixture.product.sandbox.dashboard.url);
  await expectAccessible(page);
  await page.getByLabel('Email').fill(fixture.product.sandbox.dashboard.email);
  await page.locator('input[name="password"]').fill('not this one');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.getByRole('alert').innerText()).toContain('Incorrect email or password');
  await expectAccessible(page);
  await page.locator('input[name="password"]').fill(fixture.product.sandbox.dashboard.password);
  await page.keyboard.press('Enter');
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  await page.reload();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  await page.getByRole('button', { name: 'Sandbox owner' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByLabel('Email').waitFor();
  await context.close();
});
