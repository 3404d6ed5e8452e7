import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addOperator } from '../../src/clients/operators.ts';
import { hashPassword } from '../../src/security/passwords.ts';
import { layTenant } from '../harness/tenant.ts';
import { daysAfter, patchProvider } from '../spec/providers/schedules.ts';
import { type DashboardPlace, expectSound, signIn, startDashboardPlace } from './dashboardPlace.ts';

let place: DashboardPlace;
beforeAll(async () => {
  place = await startDashboardPlace();
});
afterAll(() => place?.close());

/** The Sundays of the week ahead, as the clinic's clock counts: no provider of the seed works on one. */
const sunday = (() => {
  const today = new Intl.DateTimeFormat('en-CA', { timeZone: 'America/New_York' }).format(new Date());
  return daysAfter(today, (7 - new Date(`${today}T00:00:00Z`).getUTCDay()) % 7);
})();

const offered = async (ehr_id: string, more = ''): Promise<string[]> => {
  const path = `/v1/availability?start_date=${sunday}&end_date=${sunday}&provider_ids=${ehr_id}${more}`;
  const { body } = await place.world.api.call('GET', path);
  return body.results.availability.map(
    (offer: { range_start: string; range_end: string }) =>
      `${offer.range_start.slice(11, 16)}–${offer.range_end.slice(11, 16)}`,
  );
};
const preview = (page: Page) => page.getByRole('region', { name: 'Availability' });
const section = (page: Page, day: string) => page.getByRole('region', { name: day, exact: true });

const focused = (page: Page) => page.evaluate('document.activeElement.getAttribute("aria-label")');

/** Adds a range on a day with the keys alone, from the button on; the times are typed as the clock shows them. */
async function typeRange(page: Page, day: string, start: string, end: string): Promise<void> {
  await page.getByRole('button', { name: `Add a range on ${day}` }).focus();
  await page.keyboard.press('Enter');
  await expect.poll(() => focused(page)).toMatch(/, from$/);
  await page.keyboard.type(start);
  // Between two times stands the button that opens the browser's own clock.
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  expect(await focused(page)).toMatch(/, to$/);
  await page.keyboard.type(end);
}

describe('the page of records', () => {
  test('shows how much is held of each kind', async () => {
    const page = await place.open('/{client}/records');
    await page.getByRole('table', { name: 'Records by kind' }).waitFor();
    await expectSound(page);
    expect(place.complaints(page)).toStrictEqual([]);
    await page.context().close();
  });

  test.each([
    ['Appointments', /MD/],
    ['Orders', /A1c|panel|count|X-ray/],
    ['Claims', /paid|payer|submitted/i],
    ['Providers', 'Harper Samplewell, MD'],
    ['Locations', 'Larkspur Main Street'],
    ['Staff', 'Casey Bandageworth, RN'],
    ['Pharmacies', 'Exampleton Drug'],
    ['Insurance companies', 'Examplecare Gold'],
    ['Referring providers', 'Winter J Forwarden'],
  ] as const)('lists what is held of the kind %s', async (kind, cell) => {
    const page = await place.open('/{client}/records');
    const menu = page.getByRole('navigation', { name: 'Kinds of record' });
    await menu.getByRole('link', { name: new RegExp(`^${kind}`) }).click();
    await page.getByRole('heading', { level: 2, name: kind }).waitFor();
    await page.getByRole('cell', { name: cell }).first().waitFor();
    await expectSound(page);
    expect(place.complaints(page)).toStrictEqual([]);
    await page.context().close();
  });

  test('finds a patient by name and shows the chart, with nothing of it in an address', async () => {
    const { patient_mrn } = place.world.sandbox.example;
    const [patient] = await place.world.owner<{ first_name: string; last_name: string; dob: string }[]>`
      SELECT doc ->> 'first_name' AS first_name, doc ->> 'last_name' AS last_name, dob FROM patients WHERE mrn = ${patient_mrn}`;
    if (!patient) throw new Error('The seed has no example patient.');
    const { body } = await place.world.api.callIn();
    await place.world.api.untilEvent(body.job_id);
    const page = await place.open('/{client}/records');
    const addresses: string[] = [];
    page.on('request', (request) => addresses.push(request.url()));
    page.on('framenavigated', (frame) => addresses.push(frame.url()));
    await page
      .getByRole('link', { name: /^Patients/ })
      .first()
      .click();
    await page.getByLabel('Last name').fill(patient.last_name.slice(0, 5));
    await page.getByLabel('Date of birth').fill(patient.dob);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Clear' }).waitFor();
    await expectSound(page);
    const row = page.getByRole('link', { name: `${patient.last_name}, ${patient.first_name}` });
    await row.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: new RegExp(`${patient.first_name}.*${patient.last_name}`) }).waitFor();
    await page.getByText(patient_mrn, { exact: true }).waitFor();
    await page
      .getByRole('table', { name: 'Jobs' })
      .getByRole('link', { name: `${body.job_id}` })
      .waitFor();
    await page.getByRole('table', { name: 'Claims' }).waitFor();
    await page.getByRole('table', { name: 'Appointments' }).waitFor();
    await expectSound(page);
    expect(await page.title()).not.toContain(patient.last_name);
    await page.getByRole('table', { name: 'Claims' }).getByRole('link').first().click();
    await page.getByRole('heading', { name: /^Line items/ }).waitFor();
    await expectSound(page);
    await page.goBack();
    await page.goBack();
    // What was searched for is still there.
    await expect.poll(() => page.getByLabel('Date of birth').inputValue()).toBe(patient.dob);
    await page.getByLabel('MRN').fill('nobody');
    await page.keyboard.press('Enter');
    await page.getByText('No patient matches.').waitFor();
    const told = addresses.map(decodeURIComponent).filter((address) => {
      return [patient_mrn, patient.last_name, patient.last_name.slice(0, 5), patient.dob, 'nobody'].some((secret) =>
        address.toLowerCase().includes(secret.toLowerCase()),
      );
    });
    expect(told).toStrictEqual([]);
    expect(place.complaints(page)).toStrictEqual([]);
    await page.context().close();
  });

  test('a provider’s hours are edited by keyboard, and availability changes with them here and in the API', async () => {
    expect(await offered('503')).toStrictEqual([]);
    const page = await place.open('/{client}/records');
    await page
      .getByRole('link', { name: /^Providers/ })
      .first()
      .click();
    await page.getByRole('link', { name: 'Marlowe Placeholt, MD' }).click();
    await preview(page).getByRole('listitem').first().waitFor();
    await page.getByText('As the EMR has them.').waitFor();
    expect(await preview(page).getByText('10:00–11:30').count()).toBe(0);
    await typeRange(page, 'Sunday', '1000AM', '0930AM');
    await page.getByText('Not saved yet.').waitFor();
    await page.getByRole('button', { name: 'Save the hours' }).focus();
    await page.keyboard.press('Enter');
    // What is wrong is said at the input that it is wrong with, and the focus goes there.
    await page.getByText('The end must be after the start.').waitFor();
    const end = section(page, 'Sunday').getByLabel('Sunday, range 1, to');
    expect(await end.getAttribute('aria-invalid')).toBe('true');
    await expect.poll(() => focused(page)).toBe('Sunday, range 1, to');
    await expectSound(page);
    await page.keyboard.type('1130AM');
    await page.getByRole('button', { name: 'Save the hours' }).focus();
    await page.keyboard.press('Enter');
    await preview(page).getByText('10:00–11:30').waitFor();
    await page.getByText('Set here: the EMR’s own hours are not used.').waitFor();
    expect(await offered('503')).toStrictEqual(['10:00–11:30']);
    // What was not touched went back as it came: quotas and locations of the other days.
    const { body } = await place.world.api.call('GET', '/v1/providers');
    const [emr] = await place.world.owner<{ hours: unknown[] }[]>`
      SELECT source -> 'hours' AS hours FROM providers WHERE ehr_id = '503'`;
    const kept = body.providers.find((each: { ehr_id: string }) => each.ehr_id === '503').hours;
    expect(withoutNames(kept.slice(0, -1))).toStrictEqual(withoutNames(emr?.hours));
    await page.getByRole('button', { name: 'Use the EMR’s hours' }).click();
    await page.getByText('As the EMR has them.').waitFor();
    await expect.poll(() => offered('503')).toStrictEqual([]);
    await page.getByText('Not worked').last().waitFor();
    expect(place.complaints(page)).toStrictEqual([]);
    await page.context().close();
  });

  test('recurrences and quotas are set, and what the service refuses is said where it is', async () => {
    const page = await place.open('/{client}/records');
    await page
      .getByRole('link', { name: /^Providers/ })
      .first()
      .click();
    await page.getByRole('link', { name: 'Noor Fixturely, MD' }).click();
    await typeRange(page, 'Sunday', '0800AM', '1200PM');
    await page.getByLabel('Sunday, range 1, location').selectOption('11');
    await page.getByRole('button', { name: 'Sunday, range 1, details' }).click();
    await page.getByLabel('Sunday, range 1, repeats').selectOption('weeks');
    await page.getByLabel('Sunday, range 1, how many').fill('2');
    await page.getByLabel('Sunday, range 1, counted from').fill(sunday);
    await page.getByLabel('Sunday, range 1, until').fill(daysAfter(sunday, -1));
    await page.getByRole('button', { name: 'Sunday, range 1, add a quota' }).click();
    await page.getByLabel('Sunday, range 1, quota 1, visits').fill('3');
    await page.getByRole('button', { name: 'Save the hours' }).click();
    await page.getByText('Must not be before rec_start_date.').waitFor();
    expect(await page.getByLabel('Sunday, range 1, until').getAttribute('aria-invalid')).toBe('true');
    await expectSound(page);
    await page.getByLabel('Sunday, range 1, until').fill('');
    await page.getByRole('button', { name: 'Save the hours' }).click();
    await page.getByText('Saved.', { exact: true }).waitFor();
    expect(await offered('504')).toStrictEqual(['08:00–12:00']);
    const [row] = await place.world.owner<{ hours: { day: string; shifts: unknown[] }[] }[]>`
      SELECT hours_set AS hours FROM providers WHERE ehr_id = '504'`;
    expect(row?.hours.at(-1)?.shifts[0]).toMatchObject({
      start: 'T08:00:00',
      facility_id: '11',
      recurrence: { rec_start_date: sunday, recur_interval_type: 'weeks', recur_interval_amount: 2 },
      visit_type_rules: [{ start_time: '08:00:00', end_time: '12:00:00', total_visits: 3 }],
    });
    await page.getByLabel('Hide in availability').click();
    await page.getByText('This provider is hidden, so nothing is offered.').waitFor();
    expect(await offered('504')).toStrictEqual([]);
    await page.getByLabel('Hide in availability').click();
    await expect.poll(() => offered('504')).toStrictEqual(['08:00–12:00']);
    await page.getByLabel('Status', { exact: true }).selectOption('inactive');
    await page.getByText('This provider is inactive, so nothing is offered.').waitFor();
    await page.getByText('The EMR says active.').waitFor();
    expect(place.complaints(page)).toStrictEqual([]);
    await page.context().close();
  });

  test('the organization’s default hours are edited on the same week and followed by availability', async () => {
    await patchProvider(place.world, '508', { hours: [] });
    const page = await place.open('/{client}/records');
    await page.getByRole('link', { name: 'Default hours' }).click();
    await page.getByText('Not set: Monday to Friday, 09:00 to 17:00.').waitFor();
    await preview(page).getByRole('listitem').first().waitFor();
    await expectSound(page);
    await typeRange(page, 'Sunday', '0700AM', '0815AM');
    await page.getByRole('button', { name: 'Save the hours' }).click();
    await preview(page).getByText('07:00–08:15').waitFor();
    const with_defaults = '&fallback_to_default_hours=true';
    expect(await offered('508', with_defaults)).toStrictEqual(['07:00–08:15']);
    await page.getByRole('button', { name: 'Set back' }).click();
    await page.getByText('Not set: Monday to Friday, 09:00 to 17:00.').waitFor();
    await expect.poll(() => preview(page).getByText('07:00–08:15').count()).toBe(0);
    expect(await offered('508', with_defaults)).toStrictEqual([]);
    await patchProvider(place.world, '508', { hours: null });
    expect(place.complaints(page)).toStrictEqual([]);
    await page.context().close();
  });

  test('a location is made inactive and active again', async () => {
    const page = await place.open('/{client}/records');
    await page
      .getByRole('link', { name: /^Locations/ })
      .first()
      .click();
    const status = async () => (await place.world.api.call('GET', '/v1/locations')).body.locations[0].status;
    await page.getByRole('button', { name: 'Make inactive: Larkspur Main Street' }).click();
    await page.getByRole('button', { name: 'Make active: Larkspur Main Street' }).waitFor();
    expect(await status()).toBe('inactive');
    await page.getByRole('button', { name: 'Make active: Larkspur Main Street' }).click();
    await expect.poll(status).toBe('active');
    await page.context().close();
  });

  test('of several organizations one is chosen, and its id stands in the address', async () => {
    const [client] = await place.world.owner<{ id: string }[]>`
      SELECT id FROM clients WHERE public_id = ${place.world.sandbox.client_id}`;
    if (!client) throw new Error('The sandbox has no client.');
    const other = await layTenant(place.world.owner, { client_id: client.id, org_id: 'second-practice' });
    const page = await place.open('/{client}/records');
    await page.getByRole('cell', { name: 'Patients' }).waitFor();
    await page.getByLabel('Organization').selectOption({ label: 'second-practice · Larkspur' });
    await page.getByRole('heading', { name: 'What is held of second-practice' }).waitFor();
    expect(page.url()).toContain(other.organization_id);
    await page
      .getByRole('link', { name: /^Patients/ })
      .first()
      .click();
    await page.getByText('No patient is held yet.').waitFor();
    await expectSound(page);
    await place.world.owner`DELETE FROM organizations WHERE id = ${other.organization_id}`;
    await page.context().close();
  });

  test('who may only look sees hours and locations, and no way to change them', async () => {
    const credentials = { email: 'looks@example.org', password: 'only looks at things' };
    await addOperator(place.world.ctx.db.system, {
      email: credentials.email,
      name: 'Looker',
      role: 'read_only',
      password_hash: await hashPassword(credentials.password),
      password_temporary: false,
    });
    const context = await place.browser.newContext();
    const page = await context.newPage();
    await page.goto(`${place.world.sandbox.dashboard.url}/clients/${place.world.sandbox.client_id}/records`);
    await signIn(page, credentials);
    await page
      .getByRole('link', { name: /^Locations/ })
      .first()
      .click();
    await page.getByRole('cell', { name: 'Larkspur Main Street' }).waitFor();
    expect(await page.getByRole('button', { name: /^Make (in)?active/ }).count()).toBe(0);
    await page
      .getByRole('link', { name: /^Providers/ })
      .first()
      .click();
    await page.getByRole('link', { name: 'Harper Samplewell, MD' }).click();
    await preview(page).getByRole('listitem').first().waitFor();
    expect(await page.getByLabel('Monday, range 1, from').isDisabled()).toBe(true);
    for (const name of [/^Add a range/, /^Save/, /^Remove/]) {
      expect(await page.getByRole('button', { name }).count(), String(name)).toBe(0);
    }
    expect(await page.getByLabel('Hide in availability').count()).toBe(0);
    await expectSound(page);
    await context.close();
  });
});

/** Hours without the names of facilities, which the service fills in. */
function withoutNames(hours: unknown): unknown {
  return JSON.parse(JSON.stringify(hours, (key, value) => (key === 'facility_name' ? undefined : value)));
}
