import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { finishedCall } from '../../dashboard/finishedCalls.ts';
import { respondWith, startReceiver } from '../../harness/servers/receiver.ts';
import { postponeDeliveries } from '../../journeys/support.ts';
import { addClinicRow, clinicRows } from '../../spec/support/emrRecords.ts';
import { type DashboardFixture, expectAccessible, startDashboard } from './fixture.ts';

let fixture: DashboardFixture;
beforeAll(async () => {
  fixture = await startDashboard();
});
afterAll(() => fixture?.close());

test('an operator finds each of three causes within three clicks of the overview, and fixes them', async () => {
  const { api, sandbox, owner } = fixture.product;
  const { patient_mrn, provider_id, location_id } = sandbox.example;

  // A dead webhook, a wrong medication and a taken time.
  const receiver = await startReceiver(respondWith(503, { 'content-type': 'text/plain' }, 'upstream is down'));
  await api.call('POST', '/v1/webhook', { body: { webhook_url: receiver.url }, headers: { access_token: null } });
  const refill = await finishedCall(fixture.product, { patient_mrn, refill_medication_name: 'Unlistedol' });
  // In July, New York is four hours behind UTC.
  const year = new Date().getUTCFullYear() + 2;
  const block = await addClinicRow(fixture.product, 'blocks', {
    providerId: provider_id,
    startsAt: `07/09/${year} 10:00`,
    minutes: 60,
    reason: 'Away',
  });
  const visit = { mrn: patient_mrn, provider: provider_id, location: location_id, type: 'FU' };
  const datetime = `${year}-07-09T10:00:00-04:00`;
  const body = { ...visit, datetime, prevent_double_booking: 'true' };
  const booked = await api.call('POST', '/v1/appointments', { body });
  await api.untilEvent(booked.body.job_id);

  // Signs in, like every first page of the fixture.
  const page = await fixture.open();
  const overview = page.getByRole('link', { name: 'Overview', exact: true });
  const attention = page.getByRole('region', { name: 'Needs attention' });
  const clicks = await countClicks(page);
  await attention.getByRole('article', { name: '1 × Medication not found' }).waitFor();
  await expectAccessible(page);

  // One click: the endpoint, its error and the response.
  await attention.getByRole('link', { name: receiver.url, exact: true }).click();
  await page.getByRole('alert').getByText('The receiver responded with 503.').waitFor();
  await page.getByText('upstream is down').waitFor();
  expect(await clicks()).toBe(1);
  await postponeDeliveries(owner);
  receiver.respond = respondWith(200);
  await page.getByRole('button', { name: 'Send pending now' }).click();
  await page.getByText('Enabled', { exact: true }).waitFor();

  // Two clicks: the list, the job. The clinic removes the block, and the request is sent again.
  await overview.click();
  await clicks();
  await attention.getByRole('link', { name: 'View 1 × Time not available' }).click();
  await page.getByRole('row').filter({ hasText: 'slot_taken' }).click();
  await page.getByRole('heading', { level: 1, name: 'Appointment · Failed' }).waitFor();
  await page.getByRole('alert').getByText('not free').waitFor();
  expect(await clicks()).toBe(2);
  await api.control('DELETE', `/control/blocks/${block.blockId}`);
  await page.getByRole('link', { name: 'Edit and send again' }).click();
  await page.getByRole('button', { name: 'Send again' }).click();
  await page.getByRole('heading', { level: 1, name: 'Appointment · Succeeded' }).waitFor();

  // No click: the row names the medications. The clinic adds the missing one, and the request is sent again.
  await overview.click();
  await clicks();
  const problem = attention.getByRole('article', { name: '1 × Medication not found' });
  await problem.getByText('Available medications:').waitFor();
  expect(await clicks()).toBe(0);
  const [patient] = await clinicRows(fixture.product, 'patients', { mrn: patient_mrn });
  await addClinicRow(fixture.product, 'medications', { patientId: patient.patientId, name: 'Unlistedol' });
  await problem.getByRole('link', { name: `Correct job ${refill.job_id}` }).click();
  await page.getByRole('table', { name: 'Other jobs for this patient' }).waitFor();
  await page.getByRole('link', { name: 'Edit and send again' }).click();
  await page.getByRole('button', { name: 'Send again' }).click();
  await page.getByRole('heading', { level: 1, name: 'Telephone encounter · Succeeded' }).waitFor();
  await overview.click();

  await attention.getByText('All clear').waitFor();
  expect(fixture.consoleErrors(page)).toStrictEqual([]);
  await receiver.close();
});

/** Counts the operator's clicks since the last call. */
async function countClicks(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(`
    globalThis.clicks = 0;
    // A row passes a click on to its link; that one is not the operator's.
    document.addEventListener('click', ({ isTrusted }) => { if (isTrusted) globalThis.clicks += 1; }, true);
  `);
  return async () => {
    const counted = await page.evaluate<number>('globalThis.clicks');
    await page.evaluate('globalThis.clicks = 0');
    return counted;
  };
}
