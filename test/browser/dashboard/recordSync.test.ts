import { afterAll, beforeAll, expect, test } from 'vitest';
import { endPauses, endRetries, setFault, untilFailedAttempt } from '../../journeys/support.ts';
import { type DashboardFixture, expectAccessible, startDashboard } from './fixture.ts';

let fixture: DashboardFixture;
beforeAll(async () => {
  fixture = await startDashboard();
});
afterAll(() => fixture?.close());

/** The path of the sandbox's only organization. */
async function recordsPath(): Promise<string> {
  const [organization] = await fixture.product.owner<{ id: string }[]>`SELECT id FROM organizations`;
  return `/{client}/records/${organization?.id}`;
}

test('shows appointments in the clinic’s time zone, wherever the operator is', async () => {
  const { api, sandbox } = fixture.product;
  const { patient_mrn: mrn, provider_id: provider, location_id: location } = sandbox.example;
  const year = new Date().getUTCFullYear() + 2;
  for (const datetime of [`${year}-07-09T22:00:00-04:00`, `${year}-12-09T09:30:00-05:00`]) {
    const { body } = await api.call('POST', '/v1/appointments', {
      body: { mrn, provider, location, type: 'FU', datetime },
    });
    await api.untilEvent(body.job_id);
  }
  const path = `${await recordsPath()}/appointments?start_date=${year}-07-01`;
  const page = await fixture.open(path, { timezoneId: 'Asia/Tokyo', locale: 'en-US' });
  const table = page.getByRole('table', { name: 'Appointments' });
  await table.getByRole('columnheader', { name: 'Start (practice time)' }).waitFor();
  await table.getByText(`Jul 9, ${year}, 10:00 PM EDT`).waitFor();
  await table.getByText(`Dec 9, ${year}, 9:30 AM EST`).waitFor();
  await table.getByRole('row').filter({ hasText: 'EDT' }).click();
  await page.getByRole('heading', { name: /10:00\sPM EDT$/ }).waitFor();
  expect(fixture.consoleErrors(page)).toStrictEqual([]);
  await page.context().close();
});

test('shows how current a list is, what the EMR refused, and the progress of the first sync', async () => {
  const { api, owner } = fixture.product;
  const page = await fixture.open(`${await recordsPath()}/claims`);
  await page.getByText(/^Synced \d+ (s|min|h) ago/).waitFor();

  const refused_in = await api.sync();
  await owner`UPDATE job_steps SET detail = '{"refused": "Not for this user."}'
    WHERE job_id = ${refused_in} AND name = 'claims'`;
  await page.reload();
  await page.getByText('The EMR refused access to this list during the last sync').waitFor();
  const link = page.getByRole('link', { name: 'last sync' });
  await expect.poll(() => link.getAttribute('href')).toMatch(new RegExp(`/jobs/${refused_in}$`));
  await expectAccessible(page, { within: 'main' });

  await owner`UPDATE sync_passes SET first_read_at = NULL WHERE kind IN ('claims', 'orders')`;
  await page.reload();
  const progress = page.getByRole('status').filter({ hasText: 'First sync in progress' });
  await progress.getByText('10 of 12 record types complete.').waitFor();
  await expectAccessible(page, { within: 'main' });

  await setFault(api, 'list_providers', 'error_500', { times: 1_000 });
  const { body } = await api.call('POST', '/v1/sync', { body: {} });
  await untilFailedAttempt(api, body.job_id);
  await endRetries(owner, body.job_id);
  await endPauses(owner);
  await api.untilEvent(body.job_id);
  const alert = page.getByRole('alert').filter({ hasText: 'Last sync failed' });
  await alert.getByText('EMR unavailable').waitFor();
  expect(fixture.consoleErrors(page)).toStrictEqual([]);
});
