import { afterAll, beforeAll, expect, test } from 'vitest';
import { newOperator } from '../../harness/operator.ts';
import { type DashboardFixture, expectAccessible, startDashboard, wideTables } from './fixture.ts';

let fixture: DashboardFixture;
beforeAll(async () => {
  fixture = await startDashboard({ env: { FOUR_EYES: 'erasure,credentials' } });
});
afterAll(() => fixture?.close());

test('an owner reviews what another one has requested, and approves it', async () => {
  const { product } = fixture;
  const other = await newOperator(product, 'owner');
  const created = await other.post('clients', { name: 'No longer used', mode: 'test' });
  await other.post(`clients/${created.body.client_id}/erase`, { dry_run: false });
  const page = await fixture.open('/approvals');
  const menu = page.getByRole('navigation', { name: 'Pages' });
  await menu.getByLabel('1 waiting for you').waitFor();
  const table = page.getByRole('table', { name: 'Open approvals' });
  await table.getByText(other.email).waitFor();
  await expectAccessible(page);
  await page.setViewportSize({ width: 1024, height: 800 });
  await expect.poll(() => wideTables(page), { message: 'tables that scroll sideways' }).toStrictEqual([]);
  await page.setViewportSize({ width: 1280, height: 800 });
  await table.getByRole('button', { name: 'Review' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('It runs as soon as you approve it.').waitFor();
  await dialog.getByText('No longer used').waitFor();
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('table', { name: 'Ended approvals' }).getByText('Executed').waitFor();
  await page.getByText('Nothing is waiting for approval.').waitFor();
  await expectAccessible(page);
  expect(await menu.getByLabel('1 waiting for you').count()).toBe(0);
});

test('a request says that it waits, and its author gets the secret after the approval', async () => {
  const { product } = fixture;
  const other = await newOperator(product, 'owner');
  const page = await fixture.open(`/settings/clients/${product.sandbox.client_id}`);
  await page.getByRole('button', { name: 'Create secret' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
  await page.getByRole('dialog').getByText('A second person must approve this.').waitFor();
  await expectAccessible(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  const [approval] = (await other.get('approvals')).body.approvals;
  const { content_hash } = approval;
  expect((await other.post(`approvals/${approval.id}/approve`, { content_hash })).status).toBe(200);
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Approvals' }).click();
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByRole('dialog').getByText('The result is shown once.').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Run' }).click();
  await page.getByRole('dialog').getByText('Client secret', { exact: true }).waitFor();
  expect(await page.getByRole('dialog').locator('code').innerText()).toMatch(/^cs_test_/);
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Done' }).click();
  expect(fixture.consoleErrors(page)).toStrictEqual([]);
});

test('an owner reviews who has access, and attests it', async () => {
  const leaving = await newOperator(fixture.product, 'read_only');
  const { client_id } = fixture.product.sandbox;
  const guest = await newOperator(fixture.product, 'read_only', { clients: [{ client_id, role: 'operator' }] });
  const page = await fixture.open('/settings/access');
  await page.getByRole('table', { name: 'Access', exact: true }).getByText(leaving.email).waitFor();
  const row = (text: string) => page.getByRole('row').filter({ hasText: text });
  await row(leaving.email).getByText('Read-only in all clients').waitFor();
  // Clients by their names, and not as words of their IDs.
  await row(guest.email).getByText('Operator in Sandbox').waitFor();
  await row('Client secret').first().getByText('Read and write').waitFor();
  await expectAccessible(page);
  await page.setViewportSize({ width: 1024, height: 800 });
  await expect.poll(() => wideTables(page), { message: 'tables that scroll sideways' }).toStrictEqual([]);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByRole('button', { name: 'Start review' }).click();
  const decision = page.getByRole('radiogroup', { name: `Decision about ${leaving.email}` });
  await decision.getByText('Remove').click();
  await page.getByRole('button', { name: 'Confirm the rest' }).click();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Attest' }).click();
  await page.getByRole('dialog').getByText('1 of them to be removed').waitFor();
  await page.getByLabel('Note').fill('Second quarter');
  await expectAccessible(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Attest' }).click();
  await page.getByRole('table', { name: 'Reviewed access' }).getByText('Still has access').waitFor();
  await page.getByText('Second quarter').waitFor();
  await expectAccessible(page);
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('tab', { name: 'Access review' }).click();
  await page.getByRole('table', { name: 'Reviews' }).getByRole('link', { name: 'Open' }).waitFor();
  expect(fixture.consoleErrors(page)).toStrictEqual([]);
});
