import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DashboardFixture, expectAccessible, startDashboard } from './dashboardFixture.ts';

let fixture: DashboardFixture;
let mrn = '';
beforeAll(async () => {
  fixture = await startDashboard();
  const { api, sandbox } = fixture.product;
  mrn = sandbox.example.patient_mrn;
  const { body } = await api.callIn();
  await api.untilEvent(body.job_id);
  await api.call('GET', '/v1/no-such-thing');
  await api.call('GET', '/v1/patients?page_size=5');
});
afterAll(() => fixture?.close());

describe('audit log page', () => {
  test('searches by MRN without putting it in a URL, and exports the result', async () => {
    const page = await fixture.open('/audit');
    const urls: string[] = [];
    page.on('request', (request) => urls.push(request.url()));
    await page.getByRole('cell', { name: 'telephone-encounters.create' }).first().waitFor();
    await expectAccessible(page);
    await page.getByRole('textbox', { name: 'Patient MRN' }).fill(mrn);
    await page.keyboard.press('Enter');
    await page
      .getByRole('cell', { name: 'job.telephone_encounter.create' })
      .or(page.getByRole('cell', { name: /^job\./ }))
      .first()
      .waitFor();
    await expect.poll(() => page.getByRole('cell', { name: 'operator.sign_in' }).count()).toBe(0);
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
    await page.getByRole('cell', { name: 'operator.sign_in' }).first().waitFor();
    await expect.poll(() => page.getByRole('cell', { name: 'telephone-encounters.create' }).count()).toBe(0);
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
