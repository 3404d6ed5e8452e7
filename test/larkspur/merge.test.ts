import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Clinic, openClinic } from './fixture.ts';

let clinic: Clinic;
let token: string;
let cookie = '';
beforeAll(async () => {
  clinic = await openClinic();
  token = (await clinic.signIn()).sessionToken;
});
afterAll(() => clinic.close());

const api = (method: string, path: string, body?: object) => clinic.api(method, path, body, token);
const merge = (from: string, into: string) =>
  api('POST', `/api/patients/${from}/merge`, { externalRef: randomUUID(), intoPatientId: into });

async function addPatient(lastName: string, values: object = {}): Promise<Record<string, string>> {
  const person = { firstName: 'Merge', lastName, birthDate: '02/29/1980', ...values };
  const { status, body } = await clinic.control('POST', '/control/patients', person);
  expect(status).toBe(201);
  return body as unknown as Record<string, string>;
}

const pdf = Buffer.from('%PDF-1.4\n%%EOF\n');
const upload = (patientId: string, folderPath: string) =>
  api('POST', `/api/patients/${patientId}/documents`, {
    ...{ externalRef: randomUUID(), folderPath, fileName: 'a.pdf', contentType: 'application/pdf' },
    contentBase64: pdf.toString('base64'),
  });

test('moves everything to the surviving chart and points to it', async () => {
  const [duplicate, surviving] = [await addPatient('Duplicate'), await addPatient('Surviving')];
  const [from, into] = [String(duplicate.patientId), String(surviving.patientId)];
  for (const [id, amount] of [
    [from, '10.50'],
    [into, '4.25'],
  ] as const) {
    const balances = { patientId: id, patientBalance: amount, accountBalance: amount };
    expect((await clinic.control('POST', '/control/balances', balances)).status).toBe(201);
    expect((await upload(id, 'Referrals')).status).toBe(201);
  }
  const [example] = (await clinic.control('GET', '/control/appointments')).body.rows;
  const { providerId, facilityId } = example as unknown as Record<string, string>;
  const visit = { patientId: from, providerId, facilityId, startsAt: '04/01/2026 06:10' };
  const { appointmentId } = (await clinic.control('POST', '/control/appointments', visit)).body;
  const companies = (await api('GET', '/api/insurance-companies')).body.rows;
  const { companyId } = companies.find((each) => each.activeFlag === 'Y' && each.carrierId) ?? {};
  const insurance = { companyId, subscriberNumber: 'S1', priority: 1 };
  for (const id of [from, into]) {
    const added = await api('POST', `/api/patients/${id}/insurances`, { externalRef: randomUUID(), ...insurance });
    expect(added.status).toBe(201);
  }

  const merged = await merge(from, into);
  expect([merged.status, merged.body.recordId]).toEqual([201, into]);
  expect((await api('GET', `/api/patients/${from}`)).body).toMatchObject({ activeFlag: 'N', mergedInto: into });
  expect((await api('GET', `/api/patients/${into}`)).body).toMatchObject({ activeFlag: 'Y', mergedInto: null });
  expect((await api('GET', `/api/appointments/${appointmentId}`)).body).toMatchObject({ mrn: surviving.mrn });
  expect((await api('GET', `/api/patients/${into}/balances`)).body).toMatchObject({ patientBalance: '14.75' });
  expect((await api('GET', `/api/patients/${into}/documents`)).body.total).toBe(2);
  expect((await api('GET', `/api/patients/${from}/documents`)).body.total).toBe(0);
  const insurances = (await api('GET', `/api/patients/${into}/insurances`)).body.rows;
  expect(insurances.map(({ activeFlag }) => activeFlag).toSorted()).toEqual(['N', 'Y']);
});

test('nothing is added to a merged chart, and it is not merged again', async () => {
  const [a, b, c] = [await addPatient('First'), await addPatient('Second'), await addPatient('Third')];
  expect((await merge(String(a.patientId), String(b.patientId))).status).toBe(201);
  const again = await merge(String(a.patientId), String(c.patientId));
  expect([again.status, again.body.errorCode]).toEqual([422, 'INACTIVE_RECORD']);
  const written = await upload(String(a.patientId), 'Referrals');
  expect([written.status, written.body]).toMatchObject([
    422,
    { errorCode: 'INACTIVE_RECORD', mergedInto: b.patientId },
  ]);
  expect((await merge(String(c.patientId), String(c.patientId))).status).toBe(422);
  expect((await merge(String(c.patientId), String(a.patientId))).status).toBe(422);
  expect((await merge(String(c.patientId), '0')).status).toBe(404);
  // A later merge moves the pointer on.
  expect((await merge(String(b.patientId), String(c.patientId))).status).toBe(201);
  expect((await api('GET', `/api/patients/${a.patientId}`)).body).toMatchObject({ mergedInto: c.patientId });
});

test('one of two charts that are merged into each other at the same time survives', async () => {
  const [a, b] = [await addPatient('Left'), await addPatient('Right')];
  const [one, other] = [String(a.patientId), String(b.patientId)];
  const statuses = (await Promise.all([merge(one, other), merge(other, one)])).map(({ status }) => status);
  expect(statuses.toSorted()).toEqual([201, 422]);
});

test('a new chart for the person of a merged one is a duplicate of the surviving one', async () => {
  const [a, b] = [await addPatient('Maiden', { sexCode: 'F' }), await addPatient('Married', { sexCode: 'F' })];
  await merge(String(a.patientId), String(b.patientId));
  const person = { firstName: 'Merge', lastName: 'Maiden', birthDate: '02/29/1980', sexCode: 'F' };
  const created = await api('POST', '/api/patients', { externalRef: randomUUID(), ...person });
  expect([created.status, created.body]).toMatchObject([409, { errorCode: 'DUPLICATE_PATIENT', mrn: b.mrn }]);
});

test('lists the documents that were added since an instant, with the reference of those of the API', async () => {
  const { patientId = '' } = await addPatient('Documents');
  const addedSince = clinic.clock.at.toISOString();
  clinic.clock.advance(60_000);
  const { externalRef } = { externalRef: randomUUID() };
  const body = { externalRef, folderPath: 'Labs', fileName: 'b.pdf', contentType: 'application/pdf' };
  await api('POST', `/api/patients/${patientId}/documents`, { ...body, contentBase64: pdf.toString('base64') });
  const staff = { folderPath: 'Labs', fileName: 'c.pdf', text: pdf.toString() };
  expect((await clinic.control('POST', `/control/patients/${patientId}/documents`, staff)).status).toBe(201);
  const since = new Date(clinic.clock.at.getTime() - 30_000).toISOString();
  const { rows } = (await api('GET', `/api/documents?addedSince=${encodeURIComponent(since)}`)).body;
  expect(rows).toMatchObject([
    { patientId, fileName: 'b.pdf', externalRef },
    { patientId, fileName: 'c.pdf', externalRef: null },
  ]);
  clinic.clock.advance(60_000);
  const later = await api('GET', `/api/documents?addedSince=${encodeURIComponent(clinic.clock.at.toISOString())}`);
  expect(later.body.rows).toEqual([]);
  expect(
    (await api('GET', `/api/documents?addedSince=${encodeURIComponent(addedSince)}`)).body.rows.length,
  ).toBeGreaterThan(1);
});

/** Sends a request like a browser, without following redirects. */
async function visit(path: string, form?: Record<string, string> | FormData) {
  const body = form instanceof FormData ? form : form && new URLSearchParams(form);
  const response = await fetch(clinic.larkspur.url + path, {
    redirect: 'manual',
    headers: cookie ? { cookie } : {},
    ...(body && { method: 'POST', body }),
  });
  const set = response.headers.get('set-cookie');
  if (set) cookie = set.split(';')[0] ?? '';
  return { status: response.status, text: await response.text(), location: response.headers.get('location') };
}

function hidden(page: string, name: string): string {
  return new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? '';
}

async function signIn(): Promise<void> {
  const { username = '', password = '' } = clinic.larkspur.staff[0] ?? {};
  const step = await visit('/sign-in', { userName: username, password });
  // The sign-in by the API has used the current code.
  clinic.clock.advance(60_000);
  await visit('/sign-in/code', { challengeId: hidden(step.text, 'challengeId'), code: clinic.code() });
}

test('staff compare two charts on a screen and merge them', async () => {
  await signIn();
  const [a, b] = [await addPatient('Screen-A'), await addPatient('Screen-B')];
  const path = `/patients/${a.patientId}/merge`;
  expect((await visit(`/patients/${a.patientId}`)).text).toContain(`href="${path}"`);
  expect(await visit(`${path}?mrn=LK-none`)).toMatchObject({
    status: 422,
    text: expect.stringContaining('No chart has'),
  });
  expect(await visit(`${path}?mrn=${a.mrn}`)).toMatchObject({ status: 422 });
  const compared = await visit(`${path}?mrn=${b.mrn}`);
  expect(compared.text).toContain(`Merge into ${b.mrn}`);
  const [formToken, intoPatientId] = [hidden(compared.text, 'formToken'), hidden(compared.text, 'intoPatientId')];
  expect((await visit(path, { intoPatientId, formToken: 'other' })).status).toBe(400);
  expect(await visit(path, { formToken, intoPatientId })).toMatchObject({
    status: 303,
    location: `/patients/${b.patientId}`,
  });
  expect((await visit(`/patients/${a.patientId}`)).text).toContain('It was merged into');
  expect((await visit('/patients?q=screen-a')).text).toContain('Merged');
  expect((await visit(path, { formToken, intoPatientId })).status).toBe(422);
});

test('staff add a document on a screen', async () => {
  await signIn();
  const { patientId } = await addPatient('Screen-Document');
  const path = `/patients/${patientId}/documents/new`;
  const formToken = hidden((await visit(path)).text, 'formToken');
  const form = (content: Buffer, folder: string, token = formToken) => {
    const data = new FormData();
    for (const [name, value] of Object.entries({ formToken: token, folder, notes: 'By fax' })) data.append(name, value);
    data.append('file', new Blob([new Uint8Array(content)]), 'scan.pdf');
    return data;
  };
  const refusals: [FormData, string][] = [
    [form(Buffer.from('text'), 'Referrals'), 'must be a PDF'],
    [form(pdf, '..'), 'Enter a folder'],
    [form(Buffer.alloc(0), 'Referrals'), 'Choose a file'],
    [form(Buffer.concat([pdf, Buffer.alloc(7_000_000)]), 'Referrals'), 'larger than'],
  ];
  for (const [data, error] of refusals) {
    const refused = await visit(path, data);
    expect([error, refused.status, refused.text.includes(error)]).toEqual([error, 422, true]);
  }
  expect((await visit(path, form(pdf, 'Referrals', 'other'))).status).toBe(400);
  expect((await api('GET', `/api/patients/${patientId}/documents`)).body.total).toBe(0);
  expect((await visit(path, form(pdf, 'Referrals / Cardiology'))).status).toBe(303);
  const { rows } = (await api('GET', `/api/patients/${patientId}/documents`)).body;
  expect(rows).toMatchObject([{ folderPath: 'Referrals/Cardiology', fileName: 'scan.pdf', notes: 'By fax' }]);
});
