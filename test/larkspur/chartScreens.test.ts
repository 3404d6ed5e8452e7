import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessibilityViolations, closeWindows, openBrowser } from '../harness/browser.ts';
import { type Clinic, openClinic } from './fixture.ts';

let clinic: Clinic;
let cookie: string;
let token: string;

beforeAll(async () => {
  clinic = await openClinic();
  token = (await clinic.signIn({ staff: 1 })).sessionToken;
  cookie = `larkspur_session=${(await clinic.signIn()).sessionToken}`;
});
afterAll(() => clinic.close());

async function visit(path: string, headers: Record<string, string> = { cookie }) {
  const response = await fetch(clinic.larkspur.url + path, { redirect: 'manual', headers });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

const post = (path: string, body: object) => clinic.api('POST', path, body, token);

test('schedule, claims and documents require a session', async () => {
  for (const path of ['/schedule', '/claims', '/claims/200001', '/patients/10001/documents/95001']) {
    const { status, headers } = await visit(path, {});
    expect([status, headers.get('location')], path).toEqual([303, '/']);
  }
});

test('the chart shows insurance, guarantors, alerts, balances, encounters, orders with results and previous addresses', async () => {
  const guarantor = { firstName: 'Gil', lastName: 'Payer', relationshipCode: '2' };
  const policy = { companyId: '309', subscriberNumber: 'SUB-77', relationshipCode: '02', guarantor };
  await post('/api/patients/10001/insurances', { externalRef: 's1', ...policy });
  await post('/api/patients/10001/demographics', { externalRef: 's2', address: { line1: '9 Seen Road' } });
  await clinic.control('PATCH', '/control/alerts/10001', { billingAlert: 'Y', billingNotes: '<b>Plan</b>' });
  const { text } = await visit('/patients/10001');
  for (const expected of [
    'Examplecare Gold',
    'SUB-77',
    'Payer, Gil',
    'Billing alert',
    '&#60;b&#62;Plan&#60;/b&#62;',
    '$42.50',
    'Appointments and encounters',
    '9 Seen Road',
    'Previous addresses',
    'Exampleton Reference Laboratory',
    'Sasha Referrell',
    'Active coverage',
    '<dt>Allergies</dt><dd><strong class="tag">Latex allergy',
    '<dt>PCP</dt><dd>Harper Samplewell',
    'Upcoming visits',
    'insurance ',
  ]) {
    expect(text, expected).toContain(expected);
  }
});

test('lists documents by folder and serves them only as downloads', async () => {
  const fileName = 'naïve "letter"\r\n.pdf';
  const content = Buffer.from('%PDF-1.4 <script>alert(1)</script>');
  const file = { fileName, contentType: 'application/pdf', contentBase64: content.toString('base64') };
  const { recordId } = (await post('/api/patients/10001/documents', { externalRef: 'd', folderPath: 'A/B', ...file }))
    .body;
  expect((await visit('/patients/10001')).text).toContain('<h3 class="folder">A / B</h3>');
  const { status, text, headers } = await visit(`/patients/10001/documents/${recordId}`);
  expect([status, text]).toEqual([200, content.toString()]);
  expect(headers.get('content-type')).toBe('application/pdf');
  expect(headers.get('content-disposition')).toBe(
    `attachment; filename="na_ve _letter___.pdf"; filename*=UTF-8''na%C3%AFve%20%22letter%22%0D%0A.pdf`,
  );
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('content-security-policy')).toContain('sandbox');
  expect((await visit(`/patients/10002/documents/${recordId}`)).status).toBe(404);
});

test('the schedule shows one day with providers as columns, and entries as high as they are long', async () => {
  const booking = { patientId: '10001', providerId: '502', facilityId: '11', visitTypeCode: 'NP' };
  const booked = await post('/api/appointments', { externalRef: 'a', ...booking, startsAt: '03/15/2026 08:40' });
  await clinic.control('POST', '/control/blocks', {
    providerId: '501',
    startsAt: '03/15/2026 09:00',
    minutes: 60,
    reason: 'Fire drill',
  });
  const { text } = await visit('/schedule?date=2026-03-15');
  expect(text).toContain('<strong>Sunday, March 15, 2026</strong>: 1 appointment');
  expect(text.match(/<section class="column"/g)).toHaveLength(8);
  const [, first = '', second = ''] = text.split('<section class="column"');
  // From 8:00 in steps of five minutes: eight of them later, six long.
  expect(second).toMatch(
    /<li class="entry status-PEN at-8 for-6 lanes-1-to-1-of-1" id="appointment-\d+">\s*<a href="\/appointments\/\d+" title="New patient, 30 min, Pending"><span class="time">08:40<\/span> Testpatient, Ada/,
  );
  expect(second).toContain('New from API');
  expect(first).toContain('<li class="entry block at-12 for-12 lanes-1-to-1-of-1">Fire drill');
  expect(text).not.toContain('class="now');
  const today = (await visit('/schedule')).text;
  expect(today).toContain('Tuesday, March 10, 2026');
  // 11:00 at the practice.
  expect(today).toContain('<li class="now at-36"');
  for (const invalid of ['2026-02-30', 'x', '9999-99-99']) {
    expect((await visit(`/schedule?date=${invalid}`)).text).toContain('Tuesday, March 10, 2026');
  }
  const struck = '<s><span class="nowrap">03/15/2026 08:40</span></s>';
  expect((await visit('/patients/10001')).text).not.toContain(struck);
  await clinic.control('PATCH', `/control/appointments/${booked.body.recordId}`, { statusCode: 'CAN' });
  expect((await visit('/schedule?date=2026-03-15')).text).toMatch(
    /<li class="entry status-CAN at-8 for-6 lanes-1-to-1-of-1 inactive"/,
  );
  expect((await visit('/patients/10001')).text).toContain(struck);
});

test('searches claims by number, patient and status, and shows a claim’s services, payments and activity', async () => {
  const all = await visit('/claims');
  expect(all.text).toContain('2000 claims');
  expect(all.text).toContain('Page 1 of 80');
  expect((await visit('/claims?q=200001')).text).toContain('1 claim<');
  expect((await visit('/claims?q=LK100001&status=VOI')).text).not.toContain('Paid in full</td>');
  expect((await visit('/claims?q=%25')).text).toContain('0 claims');
  const paid = (await visit('/claims?status=PAI&q=testpatient%20ada')).text;
  const claimId = /href="\/claims\/(\d+)"/.exec(paid)?.[1];
  const { text } = await visit(`/claims/${claimId}`);
  for (const expected of ['Payments', 'Services', 'Activity', 'Payment posted', 'Paid in full', 'LK100001']) {
    expect(text, expected).toContain(expected);
  }
  expect((await visit('/claims/x')).status).toBe(404);
});

test('screens pass the accessibility rules in light and dark mode, fit a phone and need no scripts', async () => {
  const browser: Browser = await openBrowser();
  const paths = ['/patients/10001', '/schedule?date=2026-03-11', '/claims', '/claims/200001'];
  const [name = '', value = ''] = cookie.split('=');
  for (const colorScheme of ['light', 'dark'] as const) {
    const context = await browser.newContext({ colorScheme, viewport: { width: 390, height: 800 } });
    await context.addCookies([{ name, value, url: clinic.larkspur.url }]);
    const page = await context.newPage();
    for (const path of paths) {
      await page.goto(clinic.larkspur.url + path);
      expect(await accessibilityViolations(page), path).toStrictEqual([]);
      const overflow = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';
      expect(await page.evaluate(overflow), path).toBe(false);
    }
    await context.close();
  }
  await closeWindows(browser);
  for (const path of paths) {
    const { text, headers } = await visit(path);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(text.match(/<h1/g)).toHaveLength(1);
    expect(text).not.toMatch(/<script| style=| on[a-z]+=/);
  }
});
