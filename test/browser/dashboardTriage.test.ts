import { afterAll, beforeAll, expect, test } from 'vitest';
import { finishedCall } from '../dashboard/finishedCalls.ts';
import { respondWith, startReceiver } from '../harness/receiver.ts';
import { addClinicRow } from '../spec/support/emrRecords.ts';
import { type DashboardFixture, expectAccessible, startDashboard } from './dashboardFixture.ts';

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
  const refill = { patient_mrn, refill_medication_name: 'Unlistedol' };
  await finishedCall(fixture.product, refill);
  const in_ten_days = new Date(Date.now() + 10 * 86_400_000).toISOString();
  const [year, month, day] = in_ten_days.slice(0, 10).split('-');
  const block = await addClinicRow(fixture.product, 'blocks', {
    providerId: provider_id,
    startsAt: `${month}/${day}/${year} 10:00`,
    minutes: 60,
    reason: 'Away',
  });
  const visit = { mrn: patient_mrn, provider: provider_id, location: location_id, type: 'FU' };
  const datetime = `${year}-${month}-${day}T10:00:00`;
  const body = { ...visit, datetime, prevent_double_booking: 'true' };
  const booked = await api.call('POST', '/v1/appointments', { body });
  await api.untilEvent(booked.body.job_id);

  // Signs in, like every first page of the fixture.
  const page = await fixture.open();
  const overview = page.getByRole('link', { name: 'Overview', exact: true });
  const attention = page.getByRole('region', { name: 'Needs attention' });
  await expectAccessible(page);

  // One click: the endpoint, its error and the response.
  await attention.getByRole('link', { name: receiver.url, exact: true }).click();
  await page.getByRole('alert').getByText('The receiver responded with 503.').waitFor();
  await page.getByText('upstream is down').waitFor();
  receiver.respond = respondWith(200);
  await owner`UPDATE deliveries SET ready_at = now() + interval '5 hours' WHERE status = 'pending'`;
  await page.getByRole('button', { name: 'Send waiting now' }).click();
  await page.getByText('Enabled', { exact: true }).waitFor();

  // Two clicks: the list, the job. The block is removed in the EMR, and the job is run again.
  await overview.click();
  await attention.getByRole('link', { name: 'View 1 × Time not available' }).click();
  await page.getByRole('row').filter({ hasText: 'slot_taken' }).click();
  await page.getByRole('heading', { level: 1, name: 'Appointment · Failed' }).waitFor();
  await page.getByRole('alert').getByText('not free').waitFor();
  await api.control('DELETE', `/control/blocks/${block.blockId}`);
  await page.getByRole('button', { name: 'Run again' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Run again' }).click();
  await page.getByRole('heading', { level: 1, name: 'Appointment · Succeeded' }).waitFor();

  // Two clicks: the cause names the medications, and the application sends one of them.
  await overview.click();
  await attention.getByRole('link', { name: 'View 1 × Medication not found' }).click();
  await page.getByRole('row').filter({ hasText: 'medication_not_found' }).click();
  const cause = await page.getByRole('alert').getByText('Available medications:').innerText();
  const [, refill_medication_name = ''] = /Available medications: ([^,.]+)/.exec(cause) ?? [];
  const { job_id } = await finishedCall(fixture.product, { ...refill, refill_medication_name });
  await page.getByRole('table', { name: 'Other jobs of this patient' }).waitFor();
  await expect.poll(async () => (await api.job(job_id)).status).toBe('succeeded');

  await overview.click();
  await attention.getByText('1 × Medication not found').waitFor();
  expect(await attention.getByText('Time not available').count()).toBe(0);
  expect(await attention.getByText(receiver.url).count()).toBe(0);
  expect(fixture.consoleErrors(page)).toStrictEqual([]);
  await page.close();
  await receiver.close();
});
