import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { endedCall, lostCall, refusedCall } from '../dashboard/badEndings.ts';
import { setFault, until } from '../journeys/journey.ts';
import { type DashboardPlace, expectSound, startDashboardPlace } from './dashboardPlace.ts';

let place: DashboardPlace;
beforeAll(async () => {
  place = await startDashboardPlace();
});
afterAll(() => place?.close());
beforeEach(() => place.world.api.control('DELETE', '/control/faults'));

const row = (page: Page, job_id: number) =>
  page.getByRole('row').filter({ has: page.getByRole('link', { name: String(job_id), exact: true }) });
const timeline = (page: Page) => page.getByRole('table', { name: 'Timeline' });

async function leave(page: Page): Promise<void> {
  expect(place.complaints(page)).toStrictEqual([]);
  await page.context().close();
}

describe('the list of jobs', () => {
  test('grows by itself, and a job leads to its timeline', async () => {
    const page = await place.open('/{client}/jobs');
    await page.getByRole('cell', { name: 'Sync' }).first().waitFor();
    await expectSound(page);
    const { job_id } = await endedCall(place.world, { reason: 'Seen live' });
    await row(page, job_id).getByText('Succeeded').waitFor();
    await page.getByRole('link', { name: String(job_id), exact: true }).click();
    await page.getByRole('heading', { level: 1, name: `Job ${job_id}` }).waitFor();
    await timeline(page).getByText('Create encounter: done, EMR record').waitFor();
    await page.getByText('telephone_encounter.created').waitFor();
    await page.getByText('Seen live').waitFor();
    await expectSound(page);
    await page.getByRole('link', { name: 'All jobs' }).click();
    await row(page, job_id).waitFor();
    await leave(page);
  });

  test('keeps its filters in the address, and a patient’s MRN out of it', async () => {
    const { patient_mrn } = place.world.sandbox.example;
    const ended = await endedCall(place.world);
    const failed = await refusedCall(place.world, { patient_mrn: 'LK100002' });
    const page = await place.open('/{client}/jobs');
    await page.getByRole('combobox', { name: 'State' }).click();
    await page.getByRole('option', { name: 'Failed' }).click();
    await row(page, failed.job_id).waitFor();
    await row(page, ended.job_id).waitFor({ state: 'detached' });
    expect(page.url()).toContain('state=failed');
    await page.reload();
    await row(page, failed.job_id).waitFor();
    expect(await row(page, ended.job_id).count()).toBe(0);

    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByLabel('Patient (exact MRN)').fill(patient_mrn);
    await page.keyboard.press('Enter');
    await row(page, failed.job_id).waitFor({ state: 'detached' });
    await row(page, ended.job_id).waitFor();
    await page.getByLabel('Patient (exact MRN)').fill('LK999999');
    await page.getByRole('button', { name: 'Find' }).click();
    await page.getByText('No job fits these filters').waitFor();
    await expectSound(page);
    expect([page.url(), ...asked].join(' ')).not.toMatch(/LK\d/);
    await leave(page);
  });
});

describe('a job', () => {
  test('is seen while it runs: a pause, then its end', async () => {
    await setFault(place.world.api, 'list_patients', 'error_500', { times: 2 });
    const { body } = await place.world.api.callIn();
    const page = await place.open(`/{client}/jobs/${body.job_id}`);
    await timeline(page).getByText('Larkspur responded with an error (500). Paused for').first().waitFor();
    await timeline(page).getByText('Try 3 begun.').waitFor();
    await timeline(page).getByText('everything that was asked for is done').waitFor();
    await leave(page);
  });

  test('that was refused says so, and is run again by a person who is asked first', async () => {
    const failed = await refusedCall(place.world);
    const page = await place.open(`/{client}/jobs/${failed.job_id}`);
    await page.getByText('This chart is locked.').waitFor();
    await expectSound(page);
    await page.getByRole('button', { name: 'Run again' }).click();
    const dialog = page.getByRole('dialog', { name: `Run job ${failed.job_id} again` });
    await dialog.waitFor();
    await expectSound(page);
    await dialog.getByRole('button', { name: 'Run again' }).click();
    await timeline(page).getByText('everything that was asked for is done').waitFor();
    const runs = page.getByRole('table', { name: 'Runs of the same request' });
    await runs.getByText('(this one)').waitFor();
    await runs.getByRole('link', { name: String(failed.job_id) }).click();
    await page.getByText('It was run again as job').waitFor();
    expect(await page.getByRole('button', { name: 'Run again' }).count()).toBe(0);
    await leave(page);
  });

  test('whose outcome nobody knows is resolved with a note, then run again', async () => {
    const lost = await lostCall(place.world, 'reset');
    const page = await place.open('/{client}/jobs?state=unresolved');
    await page.getByRole('link', { name: String(lost.job_id), exact: true }).click();
    await page.getByText('Somebody has to look').waitFor();
    await page.getByText(`${lost.telephone_encounter_id}-create_encounter`).waitFor();
    await expectSound(page);
    await page.getByRole('button', { name: 'Resolve' }).click();
    const dialog = page.getByRole('dialog', { name: `Resolve job ${lost.job_id}` });
    await dialog.getByLabel('Not done').check();
    await dialog.getByLabel('Note').fill('The chart has no such call.');
    await expectSound(page);
    await dialog.getByRole('button', { name: 'Resolve' }).click();
    await page.getByText('Resolved: not done').waitFor();
    await page.getByText('The chart has no such call.').waitFor();
    await page.getByText(place.world.sandbox.dashboard.email).waitFor();
    await expectSound(page);
    await page.getByRole('button', { name: 'Run again' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Run again' }).click();
    await timeline(page).getByText('everything that was asked for is done').waitFor();
    await leave(page);
  });

  test('that waits for its account says since when and why', async () => {
    const access_token = await place.world.api.link({ user_id: 'parked-user', staff: 2 });
    await place.world.api.control('POST', '/control/sessions/expire');
    const { body } = await place.world.api.callIn({ patient_mrn: 'LK100009' }, { access_token });
    await until('the job to be parked', async () => {
      const rows = await place.world.owner`SELECT FROM jobs WHERE id = ${body.job_id} AND parked`;
      return rows.length > 0;
    });
    const page = await place.open(`/{client}/jobs/${body.job_id}`);
    await page.getByText('Waits for the account to be linked again').waitFor();
    await timeline(page).getByText('Set aside until the account is linked again').waitFor();
    await expectSound(page);
    await leave(page);
  });

  test('is only looked at by who may only look, and one that is not there is said not to be', async () => {
    const { job_id } = await refusedCallOf('LK100003');
    await place.world.owner`UPDATE operators SET role = 'read_only'`;
    const page = await place.open(`/{client}/jobs/${job_id}`);
    await page.getByText('This chart is locked.').waitFor();
    expect(await page.getByRole('button', { name: 'Run again' }).count()).toBe(0);
    await page.goto(page.url().replace(/\d+$/, '999999'));
    await page.getByRole('alert').getByText('not found').waitFor();
    await expectSound(page);
    await place.world.owner`UPDATE operators SET role = 'owner'`;
    await page.context().close();
  });
});

/** As `refusedCall`, through an account that is linked anew: the test before expired them all. */
async function refusedCallOf(patient_mrn: string) {
  await place.world.api.link({ access_token: place.world.sandbox.access_token });
  return refusedCall(place.world, { patient_mrn });
}
