import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../journeys/support.ts';
import { chooseFromMenu, type DashboardFixture, expectAccessible, startDashboard } from './fixture.ts';

let fixture: DashboardFixture;
beforeAll(async () => {
  fixture = await startDashboard();
});
afterAll(() => fixture?.close());

const dialog = (page: Page) => page.getByRole('dialog');
const submit = (page: Page) => dialog(page).getByRole('button', { name: 'Erase', exact: true });
const confirmation = (page: Page) => dialog(page).getByLabel(/^Enter .* to confirm$/);
/** The counted rows of one kind of data. */
const counted = (page: Page, data: string) =>
  dialog(page)
    .getByRole('table', { name: 'To be erased' })
    .getByRole('row', { name: new RegExp(`^${data} \\d+$`) });

/** Whether the browser lets the form be sent. */
const isConfirmed = (page: Page) =>
  confirmation(page).evaluate((input) => (input as unknown as { checkValidity(): boolean }).checkValidity());

/** Submits with another text, which must not be sent. */
async function expectRefused(page: Page, text: string): Promise<void> {
  await confirmation(page).fill(text);
  await submit(page).click();
  expect(await isConfirmed(page), text).toBe(false);
}

test('erases a patient after showing how much is stored, and asking for the MRN', async () => {
  const { api, owner, sandbox } = fixture.product;
  const { patient_mrn } = sandbox.example;
  const [patient] = await owner<{ id: string; last_name: string }[]>`
    SELECT id, doc ->> 'last_name' AS last_name FROM patients WHERE mrn = ${patient_mrn}`;
  const { body } = await api.callIn();
  await api.untilEvent(body.job_id);
  const page = await fixture.open('/{client}/records');
  const sent: string[] = [];
  page.on('request', (request) => request.url().endsWith('/erase') && sent.push(request.postData() ?? ''));
  await page
    .getByRole('link', { name: /^Patients/ })
    .first()
    .click();
  await page.getByLabel('MRN').fill(patient_mrn);
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: new RegExp(`^${patient?.last_name}, `) }).click();
  await chooseFromMenu(page, 'Erase patient');
  await counted(page, 'Patients').waitFor();
  await counted(page, 'Jobs').waitFor();
  await expectAccessible(page);

  await submit(page).click();
  for (const text of [`${patient_mrn}0`, patient_mrn.toLowerCase(), '.*']) await expectRefused(page, text);
  expect(sent, 'only the count').toStrictEqual(['{"dry_run":true}']);
  expect(await owner`SELECT FROM patients WHERE id = ${patient?.id ?? ''}`).toHaveLength(1);

  await confirmation(page).fill(patient_mrn);
  await submit(page).click();
  await page.getByRole('heading', { level: 2, name: 'Patients' }).waitFor();
  await until('the patient to be erased', async () => {
    return (await owner`SELECT FROM patients WHERE id = ${patient?.id ?? ''}`).length === 0;
  });
  expect(sent).toStrictEqual(['{"dry_run":true}', '{"dry_run":false}']);
  expect(await owner`SELECT FROM events WHERE ${patient_mrn} = ANY (mrns)`).toHaveLength(0);
  expect(fixture.consoleErrors(page)).toStrictEqual([]);
});

test('erases a practice only if its ID is entered, also one with special characters', async () => {
  const { api, owner } = fixture.product;
  const org_id = 'north-west (2)';
  await api.link({ user_id: 'erased-user', org_id, staff: 5 });
  const page = await fixture.open('/{client}/accounts');
  const practice = page.getByRole('region', { name: org_id, exact: true });
  await chooseFromMenu(practice, 'Erase practice', org_id);
  await counted(page, 'Accounts').waitFor();
  await dialog(page).getByText('Linked accounts (will be unlinked first): 1').waitFor();
  await expectAccessible(page);
  for (const text of ['anything', 'north-west', 'north_west (2)']) await expectRefused(page, text);
  await confirmation(page).fill(org_id);
  await submit(page).click();
  await practice.waitFor({ state: 'detached' });
  expect(await owner`SELECT FROM organizations WHERE org_id = ${org_id}`).toHaveLength(0);
  expect(fixture.consoleErrors(page)).toStrictEqual([]);
});
