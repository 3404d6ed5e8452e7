import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sealAudit } from '../../../src/product/audit/seals.ts';
import { collectDisclosures } from '../../../src/product/disclosures/disclosures.ts';
import { type DashboardFixture, expectAccessible, startDashboard } from './fixture.ts';

let fixture: DashboardFixture;
let mrn = '';
beforeAll(async () => {
  fixture = await startDashboard();
  const { api, sandbox, ctx } = fixture.product;
  mrn = sandbox.example.patient_mrn;
  const { body } = await api.callIn();
  await api.untilEvent(body.job_id);
  await api.call('GET', `/v1/patients?mrn=${mrn}`);
  await sealAudit(ctx);
  await collectDisclosures(ctx);
});
afterAll(() => fixture?.close());

test('the page of disclosures searches by MRN without putting it in a URL, and exports the result', async () => {
  const page = await fixture.open('/{client}/disclosures');
  const urls: string[] = [];
  page.on('request', (request) => urls.push(request.url()));
  await page.getByText('Search by MRN, or open a patient').waitFor();
  await expectAccessible(page);
  await page.getByRole('textbox', { name: 'Patient MRN' }).fill(mrn);
  await page.keyboard.press('Enter');
  await page.getByRole('cell', { name: 'patients.list' }).first().waitFor();
  await page.getByText('All practices of the client with this MRN.').waitFor();
  await expectAccessible(page);
  await page.getByRole('combobox', { name: 'Practice' }).selectOption({ index: 1 });
  await page.getByText('All practices of the client with this MRN.').waitFor({ state: 'detached' });
  await page.getByRole('combobox', { name: 'What' }).selectOption('emr');
  await page.getByRole('cell', { name: 'job.telephone_encounter.create' }).waitFor();
  await expect.poll(() => page.getByRole('cell', { name: 'patients.list' }).count()).toBe(0);
  for (const [format, content] of [
    ['csv', /"emr","EMR of the practice"/],
    ['json', /"recipient":"EMR of the practice"/],
  ] as const) {
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: `Export ${format.toUpperCase()}` }).click();
    const text = await readFile((await (await download).path()) ?? '', 'utf8');
    expect(text).toMatch(content);
    expect(text).not.toContain('patients.list');
  }
  expect(urls.filter((url) => url.includes(mrn))).toStrictEqual([]);
  expect(page.url()).not.toContain(mrn);
  expect(fixture.consoleErrors(page)).toStrictEqual([]);
});

test('the page of a patient leads to the patient’s disclosures, by keyboard too', async () => {
  const { owner } = fixture.product;
  const [patient] = await owner<{ id: string; organization_id: string }[]>`
    SELECT id, organization_id FROM patients WHERE mrn = ${mrn}`;
  const page = await fixture.open(`/{client}/records/${patient?.organization_id}/patients/${patient?.id}`);
  const link = page.getByRole('link', { name: 'Who received this data' });
  await link.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('cell', { name: 'patients.list' }).first().waitFor();
  expect(new URL(page.url()).searchParams.get('patient_id')).toBe(patient?.id);
  expect(page.url()).not.toContain(mrn);
  await page.getByRole('textbox', { name: 'Patient MRN' }).fill('NOBODY');
  await page.keyboard.press('Enter');
  await page.getByText('No disclosures in this period.').waitFor();
  await page.getByText('No patient with this MRN is among the records of the practice.').waitFor();
  await expectAccessible(page);
  expect(page.url()).not.toContain('patient_id');
});

test('without the permission, neither the menu nor the page of a patient offers disclosures', async () => {
  const { owner, sandbox } = fixture.product;
  await owner`UPDATE operators SET may_see_disclosures = false WHERE email = ${sandbox.dashboard.email}`;
  const page = await fixture.open('/{client}/overview');
  await page.getByRole('link', { name: 'Records' }).waitFor();
  expect(await page.getByRole('link', { name: 'Disclosures' }).count()).toBe(0);
  await fixture.open('/{client}/disclosures');
  await page.getByText('This page does not exist.').waitFor();
  await owner`UPDATE operators SET may_see_disclosures = true WHERE email = ${sandbox.dashboard.email}`;
});
