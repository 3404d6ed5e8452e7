import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { finishedCall, rejectedCall } from '../../dashboard/finishedCalls.ts';
import { clinicRows } from '../../spec/support/emrRecords.ts';
import { type DashboardFixture, expectAccessible, startDashboard } from './fixture.ts';

let fixture: DashboardFixture;
beforeAll(async () => {
  fixture = await startDashboard();
});
afterAll(() => fixture?.close());

/** Opens the palette, types the text and waits for the option that Enter would choose. */
async function type(page: Page, text: string, first: string): Promise<void> {
  const input = page.getByRole('combobox', { name: 'Go to' });
  await input.waitFor({ state: 'detached' });
  await page.keyboard.press('Control+k');
  // The input gets the focus after it is shown.
  await page.locator('[role=combobox]:focus').and(input).waitFor();
  await page.keyboard.type(text);
  await page.getByRole('option', { selected: true }).filter({ hasText: first }).waitFor();
}

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();

test('the palette reaches jobs, events, requests, patients, accounts, pages and documents by keyboard alone', async () => {
  const { api, sandbox } = fixture.product;
  const { patient_mrn } = sandbox.example;
  const { job_id } = await finishedCall(fixture.product);
  const { event_id } = await api.untilEvent(job_id);
  const request_id = (await api.call('GET', '/v1/staff')).headers.get('x-request-id') ?? '';
  const [patient] = await clinicRows(fixture.product, 'patients', { mrn: patient_mrn });
  const page = await fixture.open();
  await heading(page, 'Overview');
  await page.keyboard.press('Control+k');
  await page.getByRole('option', { name: 'Audit log' }).waitFor();
  await expectAccessible(page);
  await page.keyboard.press('Escape');
  await page.getByRole('combobox', { name: 'Go to' }).waitFor({ state: 'detached' });

  await type(page, String(job_id), `Job ${job_id}`);
  await page.keyboard.press('Enter');
  await heading(page, 'Telephone encounter · Succeeded');

  await type(page, request_id, 'Request with this ID');
  await page.keyboard.press('Enter');
  const request = page.getByRole('dialog', { name: 'GET /v1/staff' });
  await request.waitFor();
  await page.keyboard.press('Escape');
  await request.waitFor({ state: 'detached' });

  await type(page, event_id, 'Request with this ID');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 2, name: 'telephone_encounter.created' }).waitFor();

  await type(page, 'aud', 'Audit log');
  await page.keyboard.press('Enter');
  await heading(page, 'Audit log');

  await type(page, sandbox.user_id, `${sandbox.org_id} · ${sandbox.user_id}`);
  await page.keyboard.press('Enter');
  await heading(page, 'Jobs');
  await page.waitForURL(/account_id=/);

  // By MRN: the jobs of the patient, and the patient. Neither URL nor history contains the MRN.
  await type(page, patient_mrn, 'Find patients');
  const selected = page.getByRole('option', { selected: true });
  for (const [key, text] of [
    ['ArrowDown', `Jobs for MRN ${patient_mrn}`],
    ['ArrowUp', 'Find patients'],
    ['ArrowDown', `Jobs for MRN ${patient_mrn}`],
  ] as const) {
    await page.keyboard.press(key);
    await selected.filter({ hasText: text }).waitFor();
    // What screen readers announce.
    const announced = await page.getByRole('combobox', { name: 'Go to' }).getAttribute('aria-activedescendant');
    expect(await selected.getAttribute('id')).toBe(announced);
  }
  await page.keyboard.press('Enter');
  await expect.poll(() => page.getByRole('textbox', { name: 'Patient MRN' }).inputValue()).toBe(patient_mrn);
  await page.getByRole('cell', { name: patient_mrn }).first().waitFor();
  for (const text of [patient_mrn, patient.birthDate, `${patient.firstName} ${patient.lastName}`]) {
    const is_name = !/\d/.test(text);
    await type(page, text, is_name ? `${patient.lastName}, ` : 'Find patients');
    // A text that can only be a name is looked for by itself.
    if (!is_name) await page.keyboard.press('Enter');
    await page
      .getByRole('option', { name: new RegExp(`${patient.lastName}, ${patient.firstName}.*${patient_mrn}`) })
      .waitFor();
    await page.keyboard.press('Escape');
  }
  await type(page, patient_mrn, 'Find patients');
  await page.keyboard.press('Enter');
  await page.getByRole('option', { selected: true, name: `${patient.lastName}, ` }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: new RegExp(`${patient.firstName}.*${patient.lastName}`) }).waitFor();
  expect(`${page.url()} ${await page.evaluate('JSON.stringify(history.state)')}`).not.toContain(patient_mrn);

  await type(page, 'api ref', 'API reference');
  const opened = page.waitForEvent('popup');
  await page.keyboard.press('Enter');
  const reference = await opened;
  await reference.waitForURL(`${sandbox.base_url}/docs/reference`);
  await reference.close();
  expect(fixture.consoleErrors(page)).toStrictEqual([]);
});

test('the palette finds guides by their titles, and runs actions', async () => {
  const page = await fixture.open('/{client}/jobs');
  await heading(page, 'Jobs');
  await type(page, 'accounting of dis', 'Accounting of disclosures');
  const opened = page.waitForEvent('popup');
  await page.keyboard.press('Enter');
  const guide = await opened;
  await guide.waitForURL(`${fixture.product.sandbox.base_url}/docs/disclosures`);
  await guide.close();

  // The short word too, and not as the name of a patient.
  await type(page, 'docs', 'Guides');
  await page.getByRole('option', { name: 'API reference' }).waitFor();
  await page.keyboard.press('Escape');

  await page.emulateMedia({ colorScheme: 'light' });
  await type(page, 'dark', 'Switch to dark mode');
  await page.keyboard.press('Enter');
  await page.waitForSelector('html[data-mantine-color-scheme="dark"]');
  await page.evaluate(`localStorage.removeItem('mantine-color-scheme-value')`);

  await type(page, 'create li', 'Create link');
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Create link' });
  await dialog.getByLabel('Organization').waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });

  // Offered only where the job can run again.
  await page.keyboard.press('Control+k');
  await page.getByRole('option', { name: 'Create link' }).waitFor();
  expect(await page.getByRole('option', { name: 'Run this job again' }).count()).toBe(0);
  await page.keyboard.press('Escape');
  const { job_id } = await rejectedCall(fixture.product);
  await type(page, String(job_id), `Job ${job_id}`);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Run again' }).waitFor();
  await type(page, 'run this', 'Run this job again');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: `Run job ${job_id} again` }).waitFor();
  await page.keyboard.press('Escape');

  await type(page, 'first wr', 'Send first write');
  await page.keyboard.press('Enter');
  await page
    .getByRole('alert')
    .filter({ hasText: /Accepted as job \d+\./ })
    .waitFor();
  await page.getByRole('list', { name: 'Timeline' }).waitFor();
  expect(fixture.consoleErrors(page)).toStrictEqual([]);
});

test('lists its shortcuts under “?”, and those of one key can be turned off', async () => {
  const page = await fixture.open();
  await heading(page, 'Overview');
  await page.keyboard.press('g');
  await page.keyboard.press('j');
  await heading(page, 'Jobs');
  // Not while typing.
  await page.getByRole('textbox', { name: 'Patient MRN' }).fill('?');
  await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  await page.getByRole('heading', { level: 1 }).click();
  await page.keyboard.press('?');
  const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await list.getByRole('row', { name: 'Jobs g j' }).waitFor();
  await expectAccessible(page, { within: '[role=dialog]' });
  await list.getByLabel('Single-key shortcuts').uncheck();
  await page.keyboard.press('Escape');
  await list.waitFor({ state: 'detached' });
  await page.keyboard.press('g');
  await page.keyboard.press('o');
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Go to' }).waitFor();
  await heading(page, 'Jobs');
});
