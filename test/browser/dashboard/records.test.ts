import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { newOperator } from '../../harness/operator.ts';
import { createTenant } from '../../harness/tenant.ts';
import { endPauses, setFault } from '../../journeys/support.ts';
import { daysAfter, patchProvider } from '../../spec/providers/schedules.ts';
import { type DashboardFixture, expectAccessible, signIn, startDashboard, wideTables } from './fixture.ts';

let fixture: DashboardFixture;
beforeAll(async () => {
  fixture = await startDashboard();
});
afterAll(() => fixture?.close());

/** A later day of the next week in the clinic's time zone on which 503 and 508 do not work. The past is not offered. */
const { free_day, free_date } = (() => {
  const today = new Intl.DateTimeFormat('en-CA', { timeZone: 'America/New_York' }).format(new Date());
  const weekday = new Date(`${today}T00:00:00Z`).getUTCDay();
  const free_day = weekday === 0 ? 'Saturday' : 'Sunday';
  return { free_day, free_date: daysAfter(today, weekday === 0 ? 6 : 7 - weekday) };
})();

const offered = async (ehr_id: string, more = ''): Promise<string[]> => {
  const path = `/v1/availability?start_date=${free_date}&end_date=${free_date}&provider_ids=${ehr_id}${more}`;
  const { body } = await fixture.product.api.call('GET', path);
  return body.results.availability.map(
    (offer: { range_start: string; range_end: string }) =>
      `${offer.range_start.slice(11, 16)}–${offer.range_end.slice(11, 16)}`,
  );
};
const preview = (page: Page) => page.getByRole('region', { name: 'Availability' });
const section = (page: Page, day: string) => page.getByRole('region', { name: day, exact: true });

const focused = (page: Page) => page.evaluate('document.activeElement.getAttribute("aria-label")');

/** Adds a range with the keyboard only. */
async function typeRange(page: Page, day: string, start: string, end: string): Promise<void> {
  await page.getByRole('button', { name: `Add range on ${day}` }).focus();
  await page.keyboard.press('Enter');
  await expect.poll(() => focused(page)).toMatch(/, from$/);
  await page.keyboard.type(start);
  // The first Tab goes to the browser's time picker button.
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await expect.poll(() => focused(page)).toMatch(/, to$/);
  await page.keyboard.type(end);
}

describe('records page', () => {
  test('counts the records of each type', async () => {
    const page = await fixture.open('/{client}/records');
    await page.getByRole('table', { name: 'Records by type' }).waitFor();
    await expectAccessible(page);
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
  });

  describe('lists', () => {
    let page: Page;
    beforeAll(async () => {
      page = await fixture.open('/{client}/records');
    });

    test.each([
      ['Appointments', /MD/],
      ['Orders', /A1c|panel|count|X-ray/],
      ['Claims', /paid|payer|submitted/i],
      ['Eligibility checks', 'Active'],
      ['Providers', 'Harper Samplewell, MD'],
      ['Locations', 'Larkspur Main Street'],
      ['Staff', 'Casey Bandageworth, RN'],
      ['Pharmacies', 'Exampleton Drug'],
      ['Insurance providers', 'Examplecare Gold'],
      ['Referring providers', 'Winter J Forwarden'],
    ] as const)('%s', async (kind, cell) => {
      const menu = page.getByRole('navigation', { name: 'Record types' });
      await menu.getByRole('link', { name: new RegExp(`^${kind}`) }).click();
      await page.getByRole('heading', { level: 2, name: kind }).waitFor();
      // Appointments are those of today first.
      if (kind === 'Appointments') await page.getByRole('button', { name: 'All dates' }).click();
      await page.getByRole('cell', { name: cell }).first().waitFor();
      // Outside of main, all look like the page of counts above.
      await expectAccessible(page, { within: 'main' });
      expect(fixture.consoleErrors(page)).toStrictEqual([]);
    });
  });

  test('on a phone, shows the current record type in the menu when its page is opened', async () => {
    const page = await fixture.open('/{client}/records');
    const menu = page.getByRole('navigation', { name: 'Record types' });
    await menu.getByRole('link', { name: /^Referrals/ }).click();
    const desktop = page.viewportSize();
    await page.setViewportSize({ width: 375, height: 800 });
    try {
      await page.reload();
      await page.getByRole('heading', { level: 2, name: 'Referrals' }).waitFor();
      const rightEdge = async () => {
        const box = await menu.locator('[aria-current="page"]').boundingBox();
        return (box?.x ?? 0) + (box?.width ?? 0);
      };
      await expect.poll(rightEdge).toBeLessThanOrEqual(375);
    } finally {
      // The tests of the file share the page.
      if (desktop) await page.setViewportSize(desktop);
    }
  });

  test('shows appointments in every state, with filters by date, status and provider', async () => {
    const { api } = fixture.product;
    const year = new Date().getUTCFullYear() + 3;
    const book = async (day: string, provider: string) => {
      const { patient_mrn: mrn, location_id: location } = fixture.product.sandbox.example;
      const body = { mrn, location, provider, type: 'OV', datetime: `${year}-06-${day}T10:00:00-04:00` };
      const { appointment_id, job_id } = (await api.call('POST', '/v1/appointments', { body })).body;
      return { id: String(appointment_id), job_id: Number(job_id) };
    };
    const canceled = await book('01', '501');
    await api.untilEvent(canceled.job_id);
    const change = await api.call('PATCH', `/v1/appointments/${canceled.id}`, { body: { status: 'cancelled' } });
    await api.untilEvent(change.body.job_id);
    const scheduled = await book('02', '502');
    await api.untilEvent(scheduled.job_id);
    await setFault(api, 'create_appointment', 'refuse');
    const failed = await book('03', '501');
    const { failure_reason } = (await api.untilEvent(failed.job_id)).data;
    await setFault(api, 'create_appointment', 'error_500', { times: 1000 });
    const pending = await book('04', '502');
    onTestFinished(async () => {
      await api.control('DELETE', '/control/faults');
      await endPauses(fixture.product.owner);
      await api.untilEvent(pending.job_id);
    });

    const page = await fixture.open('/{client}/records');
    const menu = page.getByRole('navigation', { name: 'Record types' });
    await menu.getByRole('link', { name: /^Appointments/ }).click();
    const today = new Intl.DateTimeFormat('en-CA', { timeZone: 'America/New_York' }).format(new Date());
    await expect.poll(() => page.getByLabel('From').inputValue()).toBe(today);
    expect(await page.getByLabel('To', { exact: true }).inputValue()).toBe(today);
    const table = page.getByRole('table', { name: 'Appointments' });
    const rows = () => table.getByRole('row').filter({ has: page.getByRole('link') });
    const cells = (n: number) => rows().nth(n).innerText();
    await page.getByLabel('From').fill(`${year}-06-01`);
    await page.getByLabel('To', { exact: true }).fill(`${year}-06-30`);
    await expect.poll(() => rows().count()).toBe(4);
    await expect.poll(() => cells(0)).toMatch(/Pending/);
    expect(await cells(1)).toMatch(/Failed/);
    expect(await cells(3)).toMatch(/Office visit \(OV\)[\s\S]*Cancelled \(CAN\)/);
    await table.getByText(failure_reason).waitFor();
    const struck = (n: number) => rows().nth(n).locator('s').count();
    expect(await Promise.all([0, 1, 2].map(struck))).toStrictEqual([0, 0, 0]);
    expect(await struck(3)).toBeGreaterThan(0);
    await expectAccessible(page);
    await page.getByLabel('Status').selectOption('Failed booking');
    await expect.poll(() => rows().count()).toBe(1);
    await page.getByLabel('Status').selectOption('All');
    await page.getByLabel('Provider').selectOption('502');
    await expect.poll(() => rows().count()).toBe(2);
    await page.getByLabel('To', { exact: true }).fill(`${year}-06-03`);
    await expect.poll(() => rows().count()).toBe(1);
    await rows().first().getByRole('link').click();
    await page.getByRole('heading', { name: /^Appointment on/ }).waitFor();
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
  });

  test('finds a patient and shows the chart without health data in a URL', async () => {
    const { patient_mrn } = fixture.product.sandbox.example;
    const [patient] = await fixture.product.owner<{ first_name: string; last_name: string; dob: string }[]>`
      SELECT doc ->> 'first_name' AS first_name, doc ->> 'last_name' AS last_name, dob FROM patients WHERE mrn = ${patient_mrn}`;
    if (!patient) throw new Error('The seed has no example patient.');
    const { body } = await fixture.product.api.callIn();
    await fixture.product.api.untilEvent(body.job_id);
    const page = await fixture.open('/{client}/records');
    const urls: string[] = [];
    page.on('request', (request) => urls.push(request.url()));
    page.on('framenavigated', (frame) => urls.push(frame.url()));
    await page
      .getByRole('link', { name: /^Patients/ })
      .first()
      .click();
    await page.getByLabel('Last name').fill(patient.last_name.slice(0, 5));
    await page.getByLabel('Date of birth').fill(patient.dob);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Clear' }).waitFor();
    await expectAccessible(page);
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
    await expectAccessible(page);
    expect(await page.title()).not.toContain(patient.last_name);
    await page.getByRole('table', { name: 'Claims' }).getByRole('link').first().click();
    // Each amount once, without internal fields.
    const details = page.getByRole('region', { name: 'Details' });
    await details.getByText(/\((PAI|PAT|SUB|[A-Z]{3})\)/).waitFor();
    expect(await details.getByText('Balance', { exact: true }).count()).toBe(1);
    expect(await page.getByText(/Void flag|On plan/).count()).toBe(0);
    expect(await details.locator('time').first().innerText()).toMatch(/^[A-Z][a-z]{2} \d{1,2}, \d{4}$/);
    const lines = page.getByRole('table', { name: 'Line items' });
    await lines.getByRole('columnheader', { name: 'CPT code' }).waitFor();
    await lines.getByText('Place of service').first().waitFor();
    // A code and its description are one field.
    await page.getByRole('table', { name: 'Insurances' }).getByRole('cell', { name: 'Primary (P)' }).waitFor();
    await expectAccessible(page);
    await page.setViewportSize({ width: 1024, height: 800 });
    await expect.poll(() => wideTables(page), { message: 'tables that scroll sideways' }).toStrictEqual([]);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goBack();
    await page.goBack();
    // The search is restored.
    await expect.poll(() => page.getByLabel('Date of birth').inputValue()).toBe(patient.dob);
    await page.getByLabel('MRN').fill('nobody');
    await page.keyboard.press('Enter');
    await page.getByText('No matching records.').waitFor();
    const leaked = urls.map(decodeURIComponent).filter((url) => {
      return [patient_mrn, patient.last_name, patient.last_name.slice(0, 5), patient.dob, 'nobody'].some((secret) =>
        url.toLowerCase().includes(secret.toLowerCase()),
      );
    });
    expect(leaked).toStrictEqual([]);
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
  });

  test('filters claims by the code of their status', async () => {
    const page = await fixture.open('/{client}/records');
    await page
      .getByRole('link', { name: /^Claims/ })
      .first()
      .click();
    const rows = page.getByRole('table', { name: 'Claims' }).getByRole('row');
    const shown = await rows.nth(1).innerText();
    const [, code = ''] = /\(([A-Z]{3})\)/.exec(shown) ?? [];
    await page.getByLabel('Status code').fill(code);
    await page.keyboard.press('Enter');
    await expect.poll(() => new URL(page.url()).searchParams.get('claim_status')).toBe(code);
    await expect
      .poll(async () => (await rows.allInnerTexts()).slice(1).every((text) => text.includes(`(${code})`)))
      .toBe(true);
    await page.getByLabel('Status code').fill('NONE');
    await page.keyboard.press('Enter');
    await page.getByText('No matching records.').waitFor();
    await expectAccessible(page, { within: 'main' });
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
  });

  test('shows an eligibility check with its benefits, and filters checks by coverage', async () => {
    const page = await fixture.open('/{client}/records');
    await page
      .getByRole('link', { name: /^Eligibility checks/ })
      .first()
      .click();
    const table = page.getByRole('table', { name: 'Eligibility checks' });
    await page.getByLabel('Coverage').selectOption('Error');
    await expect.poll(() => table.getByRole('cell', { name: 'Active' }).count()).toBe(0);
    await table.getByRole('cell', { name: 'Error' }).first().waitFor();
    await page.getByLabel('Coverage').selectOption('All');
    await page.getByLabel('Patient MRN').fill(fixture.product.sandbox.example.patient_mrn);
    await page.keyboard.press('Enter');
    await table.getByRole('link', { name: '90001' }).click();
    await page.getByRole('heading', { name: 'Eligibility check 90001' }).waitFor();
    const benefits = page.getByRole('table', { name: 'Benefits' });
    await benefits.getByRole('cell', { name: 'Out of Pocket (Stop Loss)' }).first().waitFor();
    await expectAccessible(page);
    await page.setViewportSize({ width: 1024, height: 800 });
    await expect.poll(() => wideTables(page), { message: 'tables that scroll sideways' }).toStrictEqual([]);
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
  });

  test('edits a provider’s hours by keyboard, which changes availability here and in the API', async () => {
    expect(await offered('503')).toStrictEqual([]);
    const page = await fixture.open('/{client}/records');
    await page
      .getByRole('link', { name: /^Providers/ })
      .first()
      .click();
    await page.getByRole('link', { name: 'Marlowe Placeholt, MD' }).click();
    await preview(page).getByLabel('Why not at').waitFor();
    await page.getByText('From the EMR').waitFor();
    await expect
      .poll(() =>
        preview(page)
          .getByText(/10:00\s–\s11:30\sAM/)
          .count(),
      )
      .toBe(0);
    await typeRange(page, free_day, '1000AM', '0930AM');
    await page.getByText('Unsaved changes').waitFor();
    await page.getByRole('button', { name: 'Save hours' }).focus();
    await page.keyboard.press('Enter');
    // The error is shown at its input, which gets the focus.
    await page.getByText('Must be after the start.').waitFor();
    const end = section(page, free_day).getByLabel(`${free_day}, range 1, to`);
    await expect.poll(() => end.getAttribute('aria-invalid')).toBe('true');
    await expect.poll(() => focused(page)).toBe(`${free_day}, range 1, to`);
    await expectAccessible(page);
    await page.keyboard.type('1130AM');
    await page.getByRole('button', { name: 'Save hours' }).focus();
    await page.keyboard.press('Enter');
    await preview(page)
      .getByText(/10:00\s–\s11:30\sAM/)
      .waitFor();
    await page.getByText('Set in Chartwire. The EMR’s hours are not used.').waitFor();
    expect(await offered('503')).toStrictEqual(['10:00–11:30']);
    // Why not? By keyboard, then with the mouse.
    const answer = preview(page).getByRole('status');
    await preview(page).getByLabel('Day', { exact: true }).selectOption(free_date);
    await preview(page).getByLabel('Why not at').focus();
    await page.keyboard.type('1015AM');
    await answer.getByText(/10:15\sAM: free/).waitFor();
    await page.getByLabel('Why not at').fill('09:00');
    await answer.getByText('Outside the provider’s hours.').waitFor();
    await answer.getByText(/^midnight – 10:00\sAM$/).waitFor();
    // The picture begins at 8:00; an hour is 36 px high.
    const column = preview(page).locator(`[data-day="${free_date}"]`);
    await column.click({ position: { x: 5, y: 36 * 5 + 2 } });
    await answer.getByText(/1:00\sPM: not free/).waitFor();
    await column.click({ position: { x: 5, y: 36 * 3 } });
    await answer.getByText(/11:00\sAM: free/).waitFor();
    await expectAccessible(page, { within: 'main' });
    // The other days' quotas and locations are unchanged.
    const { body } = await fixture.product.api.call('GET', '/v1/providers');
    const [emr] = await fixture.product.owner<{ hours: unknown[] }[]>`
      SELECT source -> 'hours' AS hours FROM providers WHERE ehr_id = '503'`;
    const stored = body.providers.find((each: { ehr_id: string }) => each.ehr_id === '503').hours;
    expect(withoutNames(stored.slice(0, -1))).toStrictEqual(withoutNames(emr?.hours));
    await page.getByRole('button', { name: 'Use the EMR’s hours' }).click();
    await page.getByText('From the EMR').waitFor();
    await expect.poll(() => offered('503')).toStrictEqual([]);
    await page.getByText('Not working').last().waitFor();
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
  });

  test('sets recurrences and quotas, and shows server errors at their inputs', async () => {
    const page = await fixture.open('/{client}/records');
    await page
      .getByRole('link', { name: /^Providers/ })
      .first()
      .click();
    await page.getByRole('link', { name: 'Noor Fixturely, MD' }).click();
    await typeRange(page, free_day, '0800AM', '1200PM');
    await page.getByLabel(`${free_day}, range 1, location`).selectOption('11');
    await page.getByRole('button', { name: `${free_day}, range 1, details` }).click();
    await page.getByLabel(`${free_day}, range 1, repeats`).selectOption('weeks');
    await page.getByLabel(`${free_day}, range 1, interval`).fill('2');
    await page.getByLabel(`${free_day}, range 1, starting on`).fill(free_date);
    await page.getByLabel(`${free_day}, range 1, ending on`).fill(daysAfter(free_date, -1));
    await page.getByRole('button', { name: `${free_day}, range 1, add quota` }).click();
    await page.getByLabel(`${free_day}, range 1, quota 1, visits`).fill('3');
    await page.getByRole('button', { name: 'Save hours' }).click();
    await page.getByText('Must not be before rec_start_date.').waitFor();
    await expect
      .poll(() => page.getByLabel(`${free_day}, range 1, ending on`).getAttribute('aria-invalid'))
      .toBe('true');
    await expectAccessible(page);
    await page.getByLabel(`${free_day}, range 1, ending on`).fill('');
    await page.getByRole('button', { name: 'Save hours' }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    expect(await offered('504')).toStrictEqual(['08:00–12:00']);
    // A location at which nothing is free is named, too.
    const answer = preview(page).getByRole('status');
    await preview(page).getByLabel('Location', { exact: true }).selectOption('12');
    await preview(page).getByLabel('Day', { exact: true }).selectOption(free_date);
    await page.getByLabel('Why not at').fill('09:00');
    await answer.getByText('The shift is at another location.').waitFor();
    await answer.getByText('Larkspur Main Street').waitFor();
    const [row] = await fixture.product.owner<{ hours: { day: string; shifts: unknown[] }[] }[]>`
      SELECT hours_set AS hours FROM providers WHERE ehr_id = '504'`;
    expect(row?.hours.at(-1)?.shifts[0]).toMatchObject({
      start: 'T08:00:00',
      facility_id: '11',
      recurrence: { rec_start_date: free_date, recur_interval_type: 'weeks', recur_interval_amount: 2 },
      visit_type_rules: [{ start_time: '08:00:00', end_time: '12:00:00', total_visits: 3 }],
    });
    await page.getByLabel('Hide from availability').click();
    await page.getByText('This provider is hidden and has no availability.').waitFor();
    await expect.poll(() => offered('504')).toStrictEqual([]);
    await page.getByLabel('Hide from availability').click();
    await expect.poll(() => offered('504')).toStrictEqual(['08:00–12:00']);
    await page.getByLabel('Status', { exact: true }).selectOption('inactive');
    await page.getByText('This provider is inactive and has no availability.').waitFor();
    await page.getByText('In the EMR: active').waitFor();
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
  });

  test('edits the organization’s default hours, which changes availability', async () => {
    await patchProvider(fixture.product, '508', { hours: [] });
    const page = await fixture.open('/{client}/records');
    await page.getByRole('link', { name: 'Default hours' }).click();
    await page.getByText(/^Standard: Monday to Friday, 9:00\sAM\s–\s5:00\sPM$/).waitFor();
    await preview(page).getByRole('listitem').first().waitFor();
    await expectAccessible(page);
    await typeRange(page, free_day, '0700AM', '0815AM');
    await page.getByRole('button', { name: 'Save hours' }).click();
    await preview(page)
      .getByText(/7:00\s–\s8:15\sAM/)
      .waitFor();
    const with_defaults = '&fallback_to_default_hours=true';
    expect(await offered('508', with_defaults)).toStrictEqual(['07:00–08:15']);
    await page.getByRole('button', { name: 'Reset' }).click();
    await page.getByText(/^Standard: Monday to Friday, 9:00\sAM\s–\s5:00\sPM$/).waitFor();
    await expect
      .poll(() =>
        preview(page)
          .getByText(/7:00\s–\s8:15\sAM/)
          .count(),
      )
      .toBe(0);
    await expect.poll(() => offered('508', with_defaults)).toStrictEqual([]);
    await patchProvider(fixture.product, '508', { hours: null });
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
  });

  test('deactivates and activates a location', async () => {
    const page = await fixture.open('/{client}/records');
    await page
      .getByRole('link', { name: /^Locations/ })
      .first()
      .click();
    const status = async () => (await fixture.product.api.call('GET', '/v1/locations')).body.locations[0].status;
    await page.getByRole('button', { name: 'Deactivate Larkspur Main Street', exact: true }).click();
    await page.getByRole('button', { name: 'Activate Larkspur Main Street', exact: true }).waitFor();
    await expect.poll(status).toBe('inactive');
    await page.getByRole('button', { name: 'Activate Larkspur Main Street', exact: true }).click();
    await expect.poll(status).toBe('active');
  });

  test('switches between organizations through the URL', async () => {
    const [client] = await fixture.product.owner<{ id: string }[]>`
      SELECT id FROM clients WHERE public_id = ${fixture.product.sandbox.client_id}`;
    if (!client) throw new Error('The sandbox has no client.');
    const other = await createTenant(fixture.product.owner, { client_id: client.id, org_id: 'second-practice' });
    const page = await fixture.open('/{client}/records');
    await page.getByRole('cell', { name: 'Patients' }).waitFor();
    await page.getByLabel('Organization').selectOption({ label: 'second-practice · Larkspur' });
    await page.getByRole('heading', { name: 'Records for second-practice' }).waitFor();
    expect(page.url()).toContain(other.organization_id);
    await page
      .getByRole('link', { name: /^Patients/ })
      .first()
      .click();
    await page.getByText('No records yet.').waitFor();
    await expectAccessible(page);
    await fixture.product.owner`DELETE FROM organizations WHERE id = ${other.organization_id}`;
  });

  test('shows hours and locations to a read-only operator without actions', async () => {
    const context = await fixture.browser.newContext();
    const page = await context.newPage();
    await page.goto(`${fixture.product.sandbox.dashboard.url}/clients/${fixture.product.sandbox.client_id}/records`);
    await signIn(page, await newOperator(fixture.product, 'read_only'));
    await page
      .getByRole('link', { name: /^Locations/ })
      .first()
      .click();
    await page.getByRole('cell', { name: 'Larkspur Main Street' }).waitFor();
    await expect.poll(() => page.getByRole('button', { name: /^(Dea|A)ctivate/ }).count()).toBe(0);
    await page
      .getByRole('link', { name: /^Providers/ })
      .first()
      .click();
    await page.getByRole('link', { name: 'Harper Samplewell, MD' }).click();
    await preview(page).getByRole('listitem').first().waitFor();
    await expect.poll(() => page.getByLabel('Monday, range 1, from').isDisabled()).toBe(true);
    for (const name of [/^Add range/, /^Save/, /^Remove/]) {
      await expect.poll(() => page.getByRole('button', { name }).count(), { message: String(name) }).toBe(0);
    }
    await expect.poll(() => page.getByLabel('Hide from availability').count()).toBe(0);
    await expectAccessible(page);
    await context.close();
  });
});

/** Hours without facility names, which the service adds. */
function withoutNames(hours: unknown): unknown {
  return JSON.parse(JSON.stringify(hours, (key, value) => (key === 'facility_name' ? undefined : value)));
}
