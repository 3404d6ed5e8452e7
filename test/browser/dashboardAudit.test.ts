import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DashboardPlace, expectSound, startDashboardPlace } from './dashboardPlace.ts';

let place: DashboardPlace;
let mrn = '';
beforeAll(async () => {
  place = await startDashboardPlace();
  const { api, sandbox } = place.world;
  mrn = sandbox.example.patient_mrn;
  const { body } = await api.callIn();
  await api.untilEvent(body.job_id);
  await api.call('GET', '/v1/no-such-thing');
  await api.call('GET', '/v1/patients?page_size=5');
});
afterAll(() => place?.close());

describe('the audit page', () => {
  test('finds who read or wrote a patient’s record by an MRN that never stands in an address, and saves it as a file', async () => {
    const page = await place.open('/audit');
    const addresses: string[] = [];
    page.on('request', (request) => addresses.push(request.url()));
    await page.getByRole('cell', { name: 'telephone-encounters.create' }).first().waitFor();
    await expectSound(page);
    await page.getByLabel('Patient, by exact MRN').fill(mrn);
    await page.getByRole('button', { name: 'Find' }).click();
    await page
      .getByRole('cell', { name: 'job.telephone_encounter.create' })
      .or(page.getByRole('cell', { name: /^job\./ }))
      .first()
      .waitFor();
    await expect.poll(() => page.getByRole('cell', { name: 'operator.sign_in' }).count()).toBe(0);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export as CSV' }).click();
    const text = await readFile((await (await download).path()) ?? '', 'utf8');
    expect(text).toContain('telephone-encounters.create');
    expect(text).not.toContain('operator.sign_in');
    expect(addresses.filter((address) => address.includes(mrn))).toStrictEqual([]);
    expect(page.url()).not.toContain(mrn);
    expect(place.complaints(page)).toStrictEqual([]);
    await page.context().close();
  });

  test('filters by address, and verifies the chain before and after somebody tampered with it', async () => {
    const page = await place.open('/audit?actor_kind=operator');
    await page.getByRole('cell', { name: 'operator.sign_in' }).first().waitFor();
    expect(await page.getByRole('cell', { name: 'telephone-encounters.create' }).count()).toBe(0);
    await expect
      .poll(async () => (await place.world.owner`SELECT FROM audit_records WHERE position = 2`).length)
      .toBe(1);
    await page.getByRole('button', { name: 'Verify the chain' }).click();
    await page.getByText('are as they were written').waitFor();
    await expectSound(page);
    await place.world.owner`UPDATE audit_records SET outcome = 'nothing happened' WHERE position = 2`;
    await page.getByRole('button', { name: 'Verify the chain' }).click();
    await page.getByText('Record 2 was changed').waitFor();
    await expectSound(page);
    await page.context().close();
  });
});

test('the requests page shows what was asked and how it was answered, and filters by the answer', async () => {
  const page = await place.open('/requests');
  await page.getByRole('cell', { name: 'GET patients.list' }).first().waitFor();
  await expectSound(page);
  await page.getByLabel('Answer').selectOption('4xx');
  await expect.poll(() => page.getByRole('cell', { name: 'GET patients.list' }).count()).toBe(0);
  expect(page.url()).toContain('status=4xx');
  expect(place.complaints(page)).toStrictEqual([]);
  await page.context().close();
});
