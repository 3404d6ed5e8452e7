import { text } from 'node:stream/consumers';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { finishedCall, lostCall, rejectedCall } from '../../dashboard/finishedCalls.ts';
import { keepMessages } from '../../harness/browser.ts';
import { signInOperator } from '../../harness/operator.ts';
import { setFault, until } from '../../journeys/support.ts';
import { type DashboardFixture, expectAccessible, startDashboard } from './fixture.ts';

let fixture: DashboardFixture;
beforeAll(async () => {
  fixture = await startDashboard();
});
afterAll(() => fixture?.close());
beforeEach(() => fixture.product.api.control('DELETE', '/control/faults'));

const row = (page: Page, job_id: number) =>
  page.getByRole('row').filter({ has: page.getByRole('link', { name: String(job_id), exact: true }) });
const timeline = (page: Page) => page.getByRole('list', { name: 'Timeline' });

const expectNoErrors = (page: Page) => expect(fixture.consoleErrors(page)).toStrictEqual([]);

describe('job list', () => {
  test('updates live and links to a job’s timeline', async () => {
    // The widest duration has to fit on a phone.
    await fixture.product.owner`UPDATE jobs SET finished_at = created_at + interval '23 hours 59 minutes'
      WHERE type = 'sync'`;
    const page = await fixture.open('/{client}/jobs');
    await page.getByRole('cell', { name: 'Sync' }).first().waitFor();
    await expectAccessible(page);
    const { job_id } = await finishedCall(fixture.product, { reason: 'Seen live' });
    await row(page, job_id).getByText('Succeeded').waitFor();
    await row(page, job_id).getByText(fixture.product.sandbox.example.patient_mrn).waitFor();
    // The whole row is a link.
    await row(page, job_id).getByText('Succeeded').click();
    await page.getByRole('heading', { level: 1, name: 'Telephone encounter · Succeeded' }).waitFor();
    await timeline(page).getByText('Create encounter: saved, EMR record').waitFor();
    await page.getByText('telephone_encounter.created').waitFor();
    await page.getByText('Seen live').waitFor();
    const opening = page.waitForEvent('popup');
    await page.getByRole('button', { name: 'Open in Larkspur' }).click();
    const chart = await opening;
    // Signed in, at the new entry.
    await chart.locator(':target').getByText('Seen live').waitFor();
    await chart.close();
    expect(await copied(page, 'Copy ID')).toBe(String(job_id));
    const curl = await copied(page, 'Copy as curl');
    expect(curl).toMatch(/^curl -X POST 'http:.*\/v1\/telephone-encounters'/);
    expect(curl).toContain('"reason":"Seen live"');
    expect(curl).toContain('-H "client_secret: $CLIENT_SECRET"');
    for (const secret of ['client_secret', 'access_token'] as const) {
      expect(curl).not.toContain(fixture.product.sandbox[secret]);
    }
    await expectAccessible(page);
    await page.getByRole('link', { name: 'All jobs' }).click();
    await row(page, job_id).waitFor();
    expectNoErrors(page);
  });

  test('keeps filters in the URL, but not the MRN', async () => {
    const { patient_mrn } = fixture.product.sandbox.example;
    const finished = await finishedCall(fixture.product);
    const failed = await rejectedCall(fixture.product, { patient_mrn: 'LK100002' });
    const page = await fixture.open('/{client}/jobs');
    await page.getByRole('combobox', { name: 'Status' }).click();
    await page.getByRole('option', { name: 'Failed', exact: true }).click();
    await row(page, failed.job_id).waitFor();
    await row(page, finished.job_id).waitFor({ state: 'detached' });
    await row(page, failed.job_id).getByText('Rejected by the EMR').waitFor();
    await row(page, failed.job_id).getByText('emr_refused').waitFor();
    await row(page, failed.job_id).getByText('This chart is locked.').waitFor();
    await row(page, failed.job_id).getByText('LK100002').waitFor();
    // All columns are visible on a small laptop.
    const size = page.viewportSize();
    await page.setViewportSize({ width: 1024, height: 800 });
    const hidden = 'document.querySelector(".scroll").scrollWidth - document.querySelector(".scroll").clientWidth';
    await expect.poll(() => page.evaluate<number>(hidden)).toBe(0);
    if (size) await page.setViewportSize(size);
    expect(page.url()).toContain('state=failed');
    await page.reload();
    await row(page, failed.job_id).waitFor();
    await expect.poll(() => row(page, finished.job_id).count()).toBe(0);

    await page.getByRole('combobox', { name: 'Time' }).click();
    await page.getByRole('option', { name: 'Last hour' }).click();
    await page.getByRole('combobox', { name: 'Failure' }).click();
    await page.getByRole('option', { name: 'Duplicate patient' }).click();
    await page.getByText('No matching jobs.').waitFor();
    await page.getByRole('combobox', { name: 'Failure' }).click();
    await page.getByRole('option', { name: 'Rejected by the EMR' }).click();
    await row(page, failed.job_id).waitFor();
    expect(page.url()).toMatch(/period=1h.*code=emr_refused/);

    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export CSV' }).click();
    const csv = await text(await (await download).createReadStream());
    expect(csv).toContain(`"${failed.job_id}","telephone_encounter.create","failed"`);
    expect(csv).toContain('"LK100002"');

    const urls: string[] = [];
    page.on('request', (request) => urls.push(request.url()));
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByRole('textbox', { name: 'Patient MRN' }).fill(patient_mrn);
    await page.keyboard.press('Enter');
    await row(page, failed.job_id).waitFor({ state: 'detached' });
    await row(page, finished.job_id).waitFor();
    await page.getByRole('textbox', { name: 'Patient MRN' }).fill('LK999999');
    // Leaving the field applies it too.
    await page.keyboard.press('Tab');
    await page.getByText('No matching jobs.').waitFor();
    await expectAccessible(page);
    expect([page.url(), ...urls].join(' ')).not.toMatch(/LK\d/);
    expectNoErrors(page);
  });
});

test('runs selected jobs again and says which ones were refused', async () => {
  const [first, second] = [await rejectedCall(fixture.product), await rejectedCall(fixture.product)];
  const page = await fixture.open('/{client}/jobs?state=failed');
  await page.getByRole('checkbox', { name: `Select job ${first.job_id}`, exact: true }).check();
  await page.getByRole('checkbox', { name: `Select job ${second.job_id}`, exact: true }).check();
  await page.getByText('2 selected').waitFor();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Run again' }).click();
  const dialog = page.getByRole('dialog', { name: 'Run 2 jobs again' });
  // Meanwhile another operator has run one of them.
  const other = await signInOperator(fixture.product);
  await other.post(`clients/{client}/jobs/${first.job_id}/run-again`, {});
  await dialog.getByRole('button', { name: 'Run again' }).click();
  await dialog.getByText('1 job was queued again.').waitFor();
  await dialog.getByText('It was run again as job').waitFor();
  await expectAccessible(page, { within: '[role="dialog"]' });
  expectNoErrors(page);
});

describe('job page', () => {
  test('updates while the job runs: retries, then completion', async () => {
    await setFault(fixture.product.api, 'list_patients', 'error_500', { times: 2 });
    const { body } = await fixture.product.api.callIn();
    const page = await fixture.open(`/{client}/jobs/${body.job_id}`);
    await timeline(page).getByText('Larkspur responded with an error (500). Retrying in').first().waitFor();
    await timeline(page).getByText('Attempt 3 started').waitFor();
    await timeline(page).getByText('Completed', { exact: true }).waitFor();
    expectNoErrors(page);
  });

  test('shows why a job was rejected and runs it again after confirmation', async () => {
    const failed = await rejectedCall(fixture.product);
    const page = await fixture.open(`/{client}/jobs/${failed.job_id}`);
    const notice = page.getByRole('alert').filter({ hasText: 'Rejected by the EMR' });
    await notice.getByText('This chart is locked.').waitFor();
    await notice.getByText('Resolve the cause in the EMR or in the request. Then run the job again.').waitFor();
    await expect.poll(() => page.getByRole('alert').count()).toBe(1);
    await page.getByRole('table', { name: 'Other jobs for this patient' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Run again' }).click();
    const dialog = page.getByRole('dialog', { name: `Run job ${failed.job_id} again` });
    await dialog.waitFor();
    await expectAccessible(page, { within: '[role="dialog"]' });
    await dialog.getByRole('button', { name: 'Run again' }).click();
    await timeline(page).getByText('Completed', { exact: true }).waitFor();
    const runs = page.getByRole('table', { name: 'Runs of this request' });
    await runs.getByText('(this job)').waitFor();
    await runs.getByRole('link', { name: String(failed.job_id) }).click();
    await page.getByText('It was run again as').waitFor();
    // No advice for what was done already.
    await expect.poll(() => page.getByText('Then run the job again').count()).toBe(0);
    await expect.poll(() => page.getByRole('button', { name: 'Run again' }).count()).toBe(0);
    expectNoErrors(page);
  });

  test('resolves a job with an unknown outcome, then runs it again', async () => {
    const lost = await lostCall(fixture.product, 'reset');
    const page = await fixture.open('/{client}/jobs?state=unresolved');
    await page.getByRole('link', { name: String(lost.job_id), exact: true }).click();
    await page.getByText('did not confirm a write').waitFor();
    await expect.poll(() => page.getByRole('alert').count()).toBe(1);
    await page.getByText(`${lost.telephone_encounter_id}-create_encounter`).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Resolve' }).click();
    const dialog = page.getByRole('dialog', { name: `Resolve job ${lost.job_id}` });
    await dialog.getByLabel('Not saved').check();
    await dialog.getByLabel('Note').fill('The chart has no such call.');
    await expectAccessible(page, { within: '[role="dialog"]' });
    await dialog.getByRole('button', { name: 'Resolve' }).click();
    await page.getByText('Resolved: not saved').waitFor();
    await page.getByText('The chart has no such call.').waitFor();
    await page.getByText(fixture.product.sandbox.dashboard.email).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Run again' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Run again' }).click();
    await timeline(page).getByText('Completed', { exact: true }).waitFor();
    expectNoErrors(page);
  });

  test('shows since when and why a job waits for re-linking', async () => {
    const access_token = await fixture.product.api.link({ user_id: 'parked-user', staff: 2 });
    // It would find the account expired, and park the call before its own attempt.
    await until('the first sync to finish', async () => {
      const syncs = await fixture.product.owner`SELECT FROM jobs WHERE type = 'sync' AND finished_at IS NULL`;
      return syncs.length === 0;
    });
    await fixture.product.api.control('POST', '/control/sessions/expire');
    const { body } = await fixture.product.api.callIn({ patient_mrn: 'LK100009' }, { access_token });
    await until('the job to be parked', async () => {
      const rows = await fixture.product.owner`SELECT FROM jobs WHERE id = ${body.job_id} AND parked`;
      return rows.length > 0;
    });
    const page = await fixture.open(`/{client}/jobs/${body.job_id}`);
    await page.getByText('The job resumes after re-linking').waitFor();
    await page.getByText('otherwise it fails on').waitFor();
    await timeline(page).getByText('Waiting for re-linking.').waitFor();
    await page.getByRole('button', { name: 'Re-link' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'All jobs' }).click();
    await row(page, body.job_id).getByText('Waiting for re-linking').waitFor();
    await expectAccessible(page, { within: 'main' });
    expectNoErrors(page);
  });

  test('shows no actions to a read-only operator, and an error for an unknown job', async () => {
    const { job_id } = await createRefusedCall('LK100003');
    await fixture.product.owner`UPDATE operators SET role = 'read_only'`;
    const page = await fixture.open(`/{client}/jobs/${job_id}`);
    await page.getByText('This chart is locked.').waitFor();
    await expect.poll(() => page.getByRole('button', { name: 'Run again' }).count()).toBe(0);
    await page.goto(page.url().replace(/\d+$/, '999999'));
    await page.getByRole('alert').getByText('not found').waitFor();
    await expectAccessible(page);
    await fixture.product.owner`UPDATE operators SET role = 'owner'`;
  });
});

/** As `rejectedCall`, after re-linking the account that the previous test expired. */
async function createRefusedCall(patient_mrn: string) {
  await fixture.product.api.link({ access_token: fixture.product.sandbox.access_token });
  return rejectedCall(fixture.product, { patient_mrn });
}

/** What a button copies: the browser of the tests may not read the clipboard. */
async function copied(page: Page, button: string): Promise<string> {
  await keepMessages(page);
  await page.evaluate(`Object.defineProperty(navigator, 'clipboard', {
    configurable: true,
    value: { writeText: async (value) => { window.copied = value; } },
  })`);
  await page.evaluate(`window.copied = ''`);
  await page.getByRole('button', { name: button }).click();
  await expect.poll(() => page.evaluate('window.copied')).not.toBe('');
  await page.getByRole('button', { name: 'Copied' }).first().waitFor();
  return page.evaluate<string>('window.copied');
}
