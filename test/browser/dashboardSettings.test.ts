import { Secret, TOTP } from 'otpauth';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DashboardPlace, expectSound, signIn, startDashboardPlace } from './dashboardPlace.ts';

let place: DashboardPlace;
beforeAll(async () => {
  place = await startDashboardPlace();
});
afterAll(() => place?.close());

describe('the settings page', () => {
  test('makes a client, shows its secret once, and saves how Link looks for it', async () => {
    const page = await place.open('/settings/clients');
    await page.getByRole('button', { name: 'Add a client' }).click();
    await expectSound(page);
    await page.getByLabel('Name').fill('Front desk');
    await page.getByLabel('Mode').selectOption('test');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('The secret is not shown again').waitFor();
    expect(await page.getByRole('dialog').innerText()).toMatch(/cs_test_/);
    await expectSound(page);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('link', { name: 'Front desk' }).click();
    await page.getByLabel('Pages that may show Link').fill('not an origin');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').first().waitFor();
    await expectSound(page);
    await page.getByLabel('Pages that may show Link').fill('https://app.example.org');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect
      .poll(async () => (await place.world.owner`SELECT frame_origins FROM clients WHERE name = 'Front desk'`)[0])
      .toMatchObject({ frame_origins: ['https://app.example.org'] });
    await page.getByRole('button', { name: 'Make a new secret' }).click();
    await page.getByRole('button', { name: 'Make it' }).click();
    await page.getByText('It is not shown again').waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('button', { name: 'End' }).count()).toBe(2);
    expect(place.complaints(page)).toStrictEqual([]);
    await page.context().close();
  });

  test('lets an operator in, who sets up a second factor and signs in with it', async () => {
    const page = await place.open('/settings/operators');
    await page.getByRole('button', { name: 'Add an operator' }).click();
    await page.getByLabel('Name').fill('Night shift');
    await page.getByLabel('E-mail').fill('night@example.org');
    await page.getByLabel('Role', { exact: true }).selectOption('read_only');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('It is not shown again').waitFor();
    const password = await page.getByRole('dialog').locator('code').innerText();
    await page.context().close();

    const context = await place.browser.newContext();
    const theirs = await context.newPage();
    await theirs.goto(`${place.world.sandbox.dashboard.url}/settings/me`);
    await signIn(theirs, { email: 'night@example.org', password });
    await theirs.getByText('Somebody else has seen your password').waitFor();
    await theirs.getByRole('button', { name: 'Set it up' }).click();
    const secret = await theirs.locator('code').innerText();
    await expectSound(theirs);
    const code = (steps: number) =>
      new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 });
    await theirs.getByLabel('The code your app shows now').fill(code(0));
    await theirs.getByLabel('Your password').fill(password);
    await theirs.getByRole('button', { name: 'Turn it on' }).click();
    await theirs.getByText('On: signing in also takes a code').waitFor();
    await expectSound(theirs);
    await theirs.getByRole('button', { name: 'Night shift' }).click();
    await theirs.getByRole('menuitem', { name: 'Sign out' }).click();
    await signIn(theirs, { email: 'night@example.org', password });
    const field = theirs.getByLabel('Code of your authenticator app');
    await field.waitFor();
    await expectSound(theirs);
    await field.fill('000000');
    await theirs.keyboard.press('Enter');
    await expect.poll(() => theirs.getByRole('alert').innerText()).toContain('Incorrect code');
    await field.fill(code(1));
    await theirs.keyboard.press('Enter');
    await theirs.getByRole('navigation', { name: 'Pages' }).waitFor();
    // What takes another role is not offered.
    await theirs.getByRole('tab', { name: 'Operators' }).click();
    await theirs.getByRole('cell', { name: 'night@example.org' }).waitFor();
    expect(await theirs.getByRole('button', { name: 'Add an operator' }).count()).toBe(0);
    await context.close();
  });

  test('replaces the master key, and says how long things are kept', async () => {
    const page = await place.open('/settings/encryption');
    await page.getByRole('button', { name: 'Replace the master key' }).click();
    await expectSound(page);
    await page.getByRole('button', { name: 'Replace it' }).click();
    await page.getByText('keys are under the new master key').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('tab', { name: 'Retention' }).click();
    await page.getByRole('cell', { name: 'Audit trail' }).waitFor();
    await expectSound(page);
    await page.context().close();
  });
});
