import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Clinic, ENCOUNTERS, encounterBody, openClinic } from './fixture.ts';

let clinic: Clinic;
let cookie: string;

beforeAll(async () => {
  clinic = await openClinic();
});
afterAll(() => clinic.close());
beforeEach(async () => {
  await clinic.control('POST', '/control/reset');
  cookie = '';
});

/** Sends a request like a browser: stores the cookie and posts forms. Does not follow redirects, so that tests see them. */
async function visit(path: string, form?: Record<string, string>, headers: Record<string, string> = {}) {
  const response = await fetch(clinic.larkspur.url + path, {
    redirect: 'manual',
    headers: { ...(cookie ? { cookie } : {}), ...headers },
    ...(form ? { method: 'POST', body: new URLSearchParams(form) } : {}),
  });
  const set = response.headers.get('set-cookie');
  if (set) cookie = set.split(';')[0] ?? '';
  return { status: response.status, text: await response.text(), headers: response.headers, set };
}

async function signIn() {
  const { username = '', password = '' } = clinic.larkspur.staff[0] ?? {};
  const step = await visit('/sign-in', { userName: username, password });
  const challengeId = hidden(step.text, 'challengeId');
  return visit('/sign-in/code', { challengeId, code: clinic.code() });
}

function hidden(page: string, name: string): string {
  return new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? '';
}

test('signs in with password and code, and sets an HttpOnly, SameSite=Strict cookie', async () => {
  expect((await visit('/')).text).toContain('<h1>Sign in</h1>');
  const done = await signIn();
  expect(done.status).toBe(303);
  expect(done.headers.get('location')).toBe('/patients');
  expect(done.set).toMatch(/HttpOnly/);
  expect(done.set).toMatch(/SameSite=Strict/);
  expect((await visit('/')).headers.get('location')).toBe('/patients');
});

test('sign-in errors are shown in an alert: password, code, lockout, expired session', async () => {
  const { username = '', password = '' } = clinic.larkspur.staff[0] ?? {};
  const findAlert = ({ text }: { text: string }) => /role="alert">([^<]*)</.exec(text)?.[1];
  const wrong = await visit('/sign-in', { userName: '<b>"', password: 'wrong' });
  expect([wrong.status, findAlert(wrong)]).toEqual([401, 'Incorrect user name or password.']);
  expect(wrong.text).toContain('value="&#60;b&#62;&#34;"');
  const challengeId = hidden((await visit('/sign-in', { userName: username, password })).text, 'challengeId');
  expect(findAlert(await visit('/sign-in/code', { challengeId, code: '000' }))).toBe('Incorrect code.');
  for (let n = 0; n < 3; n++) await visit('/sign-in/code', { challengeId, code: '000' });
  expect(findAlert(await visit('/sign-in', { userName: username, password: 'wrong' }))).toContain('temporarily locked');
  await clinic.control('POST', '/control/reset');
  await signIn();
  await clinic.control('POST', '/control/sessions/expire');
  expect((await visit('/patients')).headers.get('location')).toBe('/');
  expect(findAlert(await visit('/'))).toContain('Your session has expired');
});

test('screens other than sign-in and codes redirect without a session', async () => {
  for (const path of ['/patients', '/patients/10001', '/patients/10001/edit']) {
    const { status, headers } = await visit(path);
    expect([status, headers.get('location')]).toEqual([303, '/']);
  }
});

test('searches patients by name or MRN, with paging', async () => {
  await signIn();
  const all = await visit('/patients');
  expect(all.text).toContain('200 patients');
  expect(all.text).toContain('Page 1 of 8');
  expect((await visit('/patients?page=8')).text).toContain('LK100200');
  const page = await visit('/patients?q=ada%20testpatient');
  expect(page.text).toContain('<a href="/patients/10001">Testpatient, Ada');
  expect((await visit('/patients?q=lk100007')).text).toContain('1 patient ');
  expect((await visit('/patients?q=%25')).text).toContain('0 patients');
});

test('the chart shows a telephone encounter written over the API', async () => {
  const { sessionToken } = await clinic.signIn({ staff: 1 });
  const fields = {
    caller: '<script>alert(1)</script>',
    message: 'Out on Friday',
    templateName: 'Triage',
    priority: 'H',
  };
  const { recordId } = (
    await clinic.api('POST', ENCOUNTERS, encounterBody('seen', { ...fields, reason: 'Refill' }), sessionToken)
  ).body;
  const encounter = `/api/telephone-encounters/${recordId}`;
  const refill = { externalRef: 'seen', medicationId: '20001', pharmacyId: '9002' };
  await clinic.api('POST', `${encounter}/refills`, refill, sessionToken);
  await clinic.api('POST', `${encounter}/actions`, { externalRef: 'seen', text: 'Called back at once.' }, sessionToken);
  await signIn();
  const { text } = await visit('/patients/10001');
  for (const expected of [
    '&#60;script&#62;alert(1)&#60;/script&#62;',
    'Out on Friday',
    'High priority',
    'Triage',
    'Lisinopril 10 mg at Exampleton Drug',
    'Called back at once.',
    '03/10/2026, 11:00 EDT, created by Blair Counterby',
    `telephone encounter ${recordId}`,
  ]) {
    expect(text).toContain(expected);
  }
  expect(text).not.toContain('<script');
  const [, links = ''] = /<nav class="tabs" aria-label="Chart">(.*?)<\/nav>/s.exec(text) ?? [];
  const tabs = [...links.matchAll(/href="#([^"]+)"/g)].map(([, anchor]) => anchor);
  expect(tabs).toStrictEqual([...text.matchAll(/<div class="tab" id="([^"]+)"/g)].map(([, id]) => id));
  const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toStrictEqual([]);
  expect(text).toMatch(/<span>Female<\/span><span>\d+ years<\/span>/);
});

test('edits contact details in a form and shows the change in the history', async () => {
  await signIn();
  const form = (await visit('/patients/10001/edit')).text;
  const formToken = hidden(form, 'formToken');
  const address = { line1: '11 Fixture Avenue', line2: '', city: 'Exampleton', state: 'ny', zip: '12999' };
  const values = { cellPhone: '518-555-0199', homePhone: '', email: 'ada@example.org', ...address };
  const wrong = await visit('/patients/10001/edit', { ...values, cellPhone: '199', formToken });
  expect(wrong.status).toBe(422);
  expect(wrong.text).toContain('aria-invalid="true"');
  const saved = await visit('/patients/10001/edit', { ...values, formToken });
  expect(saved.headers.get('location')).toBe('/patients/10001');
  const { text } = await visit('/patients/10001');
  expect(text).toMatch(/cellPhone<\/td><td>212-555-0120<\/td><td>518-555-0199/);
  expect(text).toMatch(/homePhone<\/td><td>315-555-0108<\/td><td><\/td>/);
  expect(text).not.toContain('<td>address.city</td>');
});

test('the front desk changes the status of a visit, which the history of the chart shows', async () => {
  await signIn();
  const booked = await clinic.control('POST', '/control/appointments', {
    ...{ patientId: '10001', providerId: '501', facilityId: '11', startsAt: '03/10/2031 09:00' },
  });
  const path = `/appointments/${booked.body.appointmentId}`;
  expect((await visit('/schedule?date=2031-03-10')).text).toContain(`href="${path}"`);
  const { text } = await visit(path);
  expect(text).toContain('Visit on 03/10/2031');
  const formToken = hidden(text, 'formToken');
  expect((await visit(path, { formToken, statusCode: 'NONE' })).status).toBe(422);
  expect((await visit(path, { statusCode: 'ARR' })).status).toBe(400);
  expect((await visit(path, { formToken, statusCode: 'ARR' })).headers.get('location')).toBe(path);
  expect((await visit(path)).text).toContain('<option value="ARR" selected>');
  expect((await visit('/patients/10001')).text).toMatch(/statusCode<\/td><td>PEN<\/td><td>ARR/);
});

test('rejects forms without a valid token and from other sites', async () => {
  await signIn();
  const formToken = hidden((await visit('/patients/10001/edit')).text, 'formToken');
  expect((await visit('/patients/10001/edit', { email: 'x@example.org' })).status).toBe(400);
  expect((await visit('/patients/10001/edit', { formToken: 'x', email: 'x@example.org' })).status).toBe(400);
  const crossSite = { 'sec-fetch-site': 'cross-site' };
  expect((await visit('/patients/10001/edit', { formToken, email: 'x@example.org' }, crossSite)).status).toBe(400);
  expect((await visit('/sign-out', {})).status).toBe(400);
  expect((await visit('/patients/10001')).text).not.toContain('x@example.org');
});

test('signing out ends the session', async () => {
  await signIn();
  const signedIn = cookie;
  const formToken = hidden((await visit('/patients')).text, 'formToken');
  expect((await visit('/sign-out', { formToken })).headers.get('location')).toBe('/');
  cookie = signedIn;
  expect((await visit('/patients')).headers.get('location')).toBe('/');
});

test('the codes page shows current codes and reloads when they change', async () => {
  const { text, headers } = await visit('/codes');
  expect(text).toContain(`<span class="code">${clinic.code()}</span>`);
  expect(text).toContain('<strong>25 seconds</strong>');
  expect(headers.get('refresh')).toBe('26');
  expect(text).not.toContain('lane');
});

test('every page has a strict CSP, a language, a skip link and one h1, and no inline scripts or styles', async () => {
  const pages = [await visit('/'), await visit('/codes')];
  await signIn();
  for (const path of ['/patients', '/patients/10001', '/patients/10001/edit', '/patients/nobody'])
    pages.push(await visit(path));
  for (const { text, headers } of pages) {
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('cache-control')).toBe('no-store');
    expect(text).toContain('<html lang="en">');
    expect(text).toContain('href="#content"');
    expect(text.match(/<h1/g)).toHaveLength(1);
    expect(text).not.toMatch(/<script| style=| on[a-z]+=/);
  }
  expect(pages.at(-1)?.status).toBe(404);
  expect((await visit('/larkspur.css')).headers.get('content-type')).toContain('text/css');
});
