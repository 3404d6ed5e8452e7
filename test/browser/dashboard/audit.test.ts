import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../journeys/support.ts';
import { type DashboardFixture, expectAccessible, startDashboard } from './fixture.ts';

let fixture: DashboardFixture;
let mrn = '';
beforeAll(async () => {
  fixture = await startDashboard();
  const { api, sandbox } = fixture.product;
  mrn = sandbox.example.patient_mrn;
  const { body } = await api.callIn();
  await api.untilEvent(body.job_id);
  await api.call('GET', '/v1/no-such-thing');
  await api.call('GET', '/v1/jobs/999999');
  // Reads are grouped by minute.
  await until('the first half of a minute', async () => new Date().getSeconds() < 30 || undefined);
  for (let n = 0; n < 3; n++) await api.call('GET', '/v1/patients?page_size=5');
});
afterAll(() => fixture?.close());

describe('audit log page', () => {
  test('searches by MRN without putting it in a URL, and exports the result', async () => {
    const page = await fixture.open('/audit');
    const urls: string[] = [];
    page.on('request', (request) => urls.push(request.url()));
    const cell = (name: string) => page.getByRole('cell', { name, exact: true });
    await cell('Created a telephone encounter (1 patient)').first().waitFor();
    await cell('Tried to retrieve a job').waitFor();
    await page.getByText('Not found (404)').waitFor();
    // Three reads of one minute are one row; what the owner reads in the log is not shown.
    await cell('Viewed patients (5 patients), 3 times').waitFor();
    expect(await page.getByText('Viewed audit records').count()).toBe(0);
    await expectAccessible(page);
    await page.getByRole('switch', { name: 'Show my own reading of this log' }).check();
    await page.getByText('Viewed audit records').first().waitFor();
    await page.getByRole('switch', { name: 'Show my own reading of this log' }).uncheck();
    await expect.poll(() => page.getByText('Viewed audit records').count()).toBe(0);

    // What is stored, for auditors.
    await page.getByRole('link', { name: 'Viewed patients (5 patients), 3 times' }).click();
    const drawer = page.getByRole('dialog', { name: 'Viewed patients (5 patients)' });
    await expect.poll(() => drawer.getByText('patients.list', { exact: true }).count()).toBe(3);
    await drawer.getByText('200', { exact: true }).first().waitFor();
    await expectAccessible(page, { within: '[role=dialog]' });
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });

    await page.getByRole('textbox', { name: 'Patient MRN' }).fill(mrn);
    await page.keyboard.press('Enter');
    await page
      .getByRole('cell', { name: /^Finished the job “.+” \(1 patient\)$/ })
      .first()
      .waitFor();
    await expect.poll(() => cell('Signed in to the dashboard').count()).toBe(0);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export CSV' }).click();
    const text = await readFile((await (await download).path()) ?? '', 'utf8');
    expect(text).toContain('telephone-encounters.create');
    expect(text).not.toContain('operator.sign_in');
    expect(urls.filter((url) => url.includes(mrn))).toStrictEqual([]);
    expect(page.url()).not.toContain(mrn);
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
  });

  test('reads filters from the URL and detects a changed record', async () => {
    const page = await fixture.open('/audit?actor_kind=operator');
    await page.getByRole('cell', { name: 'Signed in to the dashboard' }).first().waitFor();
    await expect.poll(() => page.getByRole('cell', { name: /telephone encounter/ }).count()).toBe(0);
    await expect
      .poll(async () => (await fixture.product.owner`SELECT FROM audit_records WHERE position = 2`).length)
      .toBe(1);
    await page.getByRole('button', { name: 'Verify integrity' }).click();
    await page.getByText('unchanged, in order and complete').waitFor();
    await expectAccessible(page);
    await fixture.product.owner`UPDATE audit_records SET outcome = 'nothing happened' WHERE position = 2`;
    await page.getByRole('button', { name: 'Verify integrity' }).click();
    await page.getByText('Record 2 was changed').waitFor();
    await expectAccessible(page);
  });
});
