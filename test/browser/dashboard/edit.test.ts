import { afterAll, beforeAll, expect, test } from 'vitest';
import { finishedCall } from '../../dashboard/finishedCalls.ts';
import { createMarker, pauseAfterFailure, setFault, signInToLarkspur } from '../../journeys/support.ts';
import { type DashboardFixture, expectAccessible, startDashboard } from './fixture.ts';

let fixture: DashboardFixture;
beforeAll(async () => {
  fixture = await startDashboard();
});
afterAll(() => fixture?.close());

test('an unknown medication is repaired by Edit and send again', async () => {
  const { api, sandbox } = fixture.product;
  const failed = await finishedCall(fixture.product, {
    refill_medication_name: 'Unobtainium',
    message: 'Out of pills.',
  });
  const page = await fixture.open(`/{client}/jobs?state=unfixed`);
  const row = page.getByRole('row').filter({ hasText: 'Medication not found' });
  await row.getByText("Medication 'Unobtainium' not found.").waitFor();
  // Running the same request again cannot help.
  expect(await row.getByRole('checkbox').count()).toBe(0);
  await row.getByRole('link', { name: String(failed.job_id), exact: true }).click();

  // The EMR's sentence is the headline, and the request has names.
  const notice = page.getByRole('alert').filter({ hasText: 'Medication not found' });
  await notice.getByText("Medication 'Unobtainium' not found.").waitFor();
  await page
    .getByRole('region', { name: 'Request' })
    .getByText(/\w+.* \(501\)/)
    .waitFor();
  expect(await page.getByRole('button', { name: 'Run again' }).count()).toBe(0);
  await expectAccessible(page);
  await page.getByRole('link', { name: 'Edit and send again' }).click();

  await page.getByRole('heading', { level: 1, name: 'Edit and send again' }).waitFor();
  const listed = page.getByRole('group', { name: 'Values that Larkspur accepts' }).getByRole('button');
  await listed.first().waitFor();
  await expectAccessible(page);
  // A value that the service rejects is reported at its field, and nothing is sent.
  await page.getByRole('button', { name: 'Dry run' }).click();
  await page.getByText('Dry run: it would fail again').waitFor();
  await page.getByRole('button', { name: 'Show 5 empty fields' }).click();
  await page.getByRole('textbox', { name: 'Reason' }).fill('Refill');
  await page.getByRole('textbox', { name: 'Patient MRN' }).fill('');
  await page.getByRole('button', { name: 'Send again' }).click();
  await page.getByText('Correct the marked field').waitFor();
  await page.getByText('This field is required.').waitFor();
  await expectAccessible(page);
  await page.getByRole('textbox', { name: 'Patient MRN' }).fill(sandbox.example.patient_mrn);
  const medication = (await listed.first().textContent()) ?? '';
  await listed.first().click();
  await page.getByText('Changed: ').waitFor();
  await page.getByRole('button', { name: 'Dry run' }).click();
  await page.getByText('Dry run: it would succeed').waitFor();
  await page.getByRole('button', { name: 'Send again' }).click();

  await page.getByRole('heading', { level: 1, name: 'Telephone encounter · Succeeded' }).waitFor();
  const job_id = Number(/jobs\/(\d+)/.exec(page.url())?.[1]);
  expect(job_id).toBeGreaterThan(failed.job_id);
  await page
    .getByText('Sent again from')
    .getByRole('link', { name: `Job ${failed.job_id}` })
    .click();
  await page
    .getByText('Edited copy:')
    .getByRole('link', { name: `Job ${job_id}` })
    .waitFor();
  expect(await page.getByRole('link', { name: 'Edit and send again' }).count()).toBe(0);
  await expectAccessible(page);

  const { data } = await api.untilEvent(job_id);
  const chart = await signInToLarkspur(sandbox, api);
  const encounter = await chart.encounter(data.emr_encounter_id);
  expect(JSON.stringify(encounter)).toContain(medication.split(' ')[0]);
  expect(JSON.stringify(encounter)).toContain('Out of pills.');
  const applied = (await api.ledger()).filter(({ marker }) => marker === createMarker(data.telephone_encounter_id));
  expect(applied).toHaveLength(1);
  expect(fixture.consoleErrors(page)).toStrictEqual([]);
});

test('a job that is retried says how often, at which step and why, and repeated attempts are one line', async () => {
  const { api, owner } = fixture.product;
  await setFault(api, 'create_telephone_encounter', 'error_500', { times: 99 });
  await setFault(api, 'find_receipt', 'error_500', { times: 99 });
  const { body } = await api.callIn({ patient_mrn: 'LK100004' });
  await pauseAfterFailure(owner, body.job_id);
  // As after half an hour.
  await owner`UPDATE jobs SET attempts = 24 WHERE id = ${body.job_id}`;
  await owner`INSERT INTO job_steps (job_id, client_id, attempt, name, kind, detail)
    SELECT id, client_id, n, step.name, 'note', step.detail::json FROM jobs CROSS JOIN generate_series(2, 24) AS n
      CROSS JOIN (VALUES (1, 'started', NULL), (2, 'retry', '{"reason":"Larkspur responded with an error (500).","in_ms":60000}'))
        AS step (position, name, detail) WHERE id = ${body.job_id} ORDER BY n, step.position`;
  const page = await fixture.open('/{client}/jobs?state=retrying');
  const row = page.getByRole('row').filter({ hasText: 'Retrying (attempt 24)' });
  await row.getByText('Failing step: create encounter').waitFor();
  await page.getByText('1 job · live').waitFor();
  await expectAccessible(page);
  await row.getByRole('link', { name: String(body.job_id), exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Telephone encounter · Retrying (attempt 24)' }).waitFor();
  await page.getByText('failing since').waitFor();
  await page.getByText('23 attempts failed the same way. While checking whether the write was saved.').waitFor();
  const lines = page.getByRole('list', { name: 'Timeline' }).getByRole('listitem');
  const collapsed = await lines.count();
  expect(collapsed).toBeLessThan(8);
  await page.getByRole('button', { name: 'Show the attempts' }).click();
  await expect.poll(() => lines.count()).toBe(collapsed + 46);
  await expectAccessible(page);

  // An unknown status is no error.
  const list = await fixture.open('/{client}/jobs?state=broken');
  await list.getByText('There is no status “broken”').waitFor();
  await list.getByRole('row').filter({ hasText: 'Retrying (attempt 24)' }).waitFor();
});
