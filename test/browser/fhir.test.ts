import type * as fhir from 'fhir/r4.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Api, type ApiResponse, createApi } from '../harness/api.ts';
import { documents } from '../harness/documents.ts';
import { redirectUri } from '../harness/fhir/registrations.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import { until } from '../journeys/support.ts';
import { sendDocument } from '../spec/support/sendDocument.ts';
import { signIn } from './dashboard/fixture.ts';
import { endings, focused, type LinkFixture, startLink, untilClosed } from './link/linkFixture.ts';

let fixture: LinkFixture;
let server: FhirServer;
beforeAll(async () => {
  [fixture, server] = await Promise.all([startLink({ sync_after_link: true }), startFhirServer({ data: 'practice' })]);
  server.register({
    client_id: 'by-page',
    redirect_uris: [await redirectUri(fixture.product, server.url)],
  });
});
afterAll(async () => {
  await fixture.close();
  await server.close();
});

/** Enough for 5,000 claims on a busy machine. */
const timeout_ms = 240_000;

test('links a FHIR server in the browser, then writes to it through the API', {
  timeout: 600_000,
}, async () => {
  const access_token = await linkInBrowser();
  const sandbox = { ...fixture.product.sandbox, access_token };
  const api = createApi(sandbox);

  const { capabilities } = (await api.call('GET', '/v1/settings')).body.data;
  expect(capabilities).toEqual(expect.arrayContaining(['createPatient', 'addPatientInsurance', 'createAppointment']));
  expect(capabilities).toEqual(expect.arrayContaining(['uploadDocument', 'searchPatients', 'listClaims']));
  expect(capabilities).not.toContain('getCodeLists');
  // The dashboard lists operations; the settings also list fields of operations.
  await seeInDashboard(capabilities.filter((name: string) => !name.includes('.')));

  const total = (path: string) => async () => {
    const { body } = await api.call('GET', path);
    return body.pagination?.total_count;
  };
  await until('all claims', async () => (await total('/v1/claims?page_size=1')()) === 5000, timeout_ms);
  await expect.poll(total('/v1/patients?page_size=1')).toBe(200);

  const created = await done(api, 'patient.created', '/v1/patients', {
    first_name: 'Nova',
    last_name: 'Journeyman',
    dob: '1990-01-31',
    sex: 'female',
    phone: '518-555-0142',
  });
  const { mrn } = created;
  const insured = await done(api, 'patient.insurance.added', `/v1/patients/${mrn}/insurances`, {
    member_id: 'JRN-1001',
    insurance_name: 'Examplecare Gold',
  });
  const booked = await done(api, 'appointment.created', '/v1/appointments', {
    mrn,
    location: 'loc-1',
    provider: 'prac-1',
    type: 'FOLLOWUP',
    datetime: '2031-07-09T09:30:00-04:00',
    duration: '30',
  });
  const upload = await sendDocument({ sandbox }, { patient_mrn: mrn, folder_name: 'Letters' });
  expect(upload.status, JSON.stringify(upload.body)).toBe(200);
  await until('the document', async () => {
    const { body } = await api.call('GET', '/v1/webhook-events?event_type=document.uploaded');
    return body.webhook_events.some(({ data }: ApiResponse['body']) => data.document_id === upload.body.document_id);
  });
  const live = await done(api, 'patient.live_fetch_completed', '/v1/patients/fetch', { search_by: 'mrn', mrn });
  expect(live).toMatchObject({ patient_count: 1, first_name: 'Nova', last_name: 'Journeyman', dob: '1990-01-31' });

  const [patient] = await markedResources<fhir.Patient>('Patient');
  expect(patient).toMatchObject({ birthDate: '1990-01-31', gender: 'female', name: [{ family: 'Journeyman' }] });
  const reference = `Patient/${patient?.id}`;
  const [coverage] = await markedResources<fhir.Coverage>('Coverage');
  expect(coverage).toMatchObject({
    id: insured.emr_insurance_id,
    subscriberId: 'JRN-1001',
    beneficiary: { reference },
    payor: [{ reference: 'Organization/payer-1' }],
  });
  const [appointment] = await markedResources<fhir.Appointment>('Appointment');
  expect(appointment?.id).toBe(booked.ehr_appointment_id);
  expect(new Date(appointment?.start ?? '').toISOString()).toBe('2031-07-09T13:30:00.000Z');
  expect(appointment?.participant.map(({ actor }) => actor?.reference)).toEqual(
    expect.arrayContaining([reference, 'Practitioner/prac-1', 'Location/loc-1']),
  );
  const [document] = await markedResources<fhir.DocumentReference>('DocumentReference');
  expect(document?.subject?.reference).toBe(reference);
  expect(await readContent(document)).toEqual(documents.pdf);
});

/** The account lists supported and unsupported operations. */
async function seeInDashboard(capabilities: readonly string[]): Promise<void> {
  const { dashboard, client_id } = fixture.product.sandbox;
  const page = await fixture.browser.newPage();
  await page.goto(`${dashboard.url}/clients/${client_id}/accounts`);
  await signIn(page, dashboard);
  await page
    .getByRole('button', { name: /: capabilities of / })
    .filter({ hasText: `${capabilities.length} of ` })
    .click();
  await page
    .getByRole('region', { name: 'Not supported' })
    .getByText(/code lists/)
    .waitFor();
  await page.close();
}

/** Links an account through the application, Link and the EMR's sign-in page. */
async function linkInBrowser(): Promise<string> {
  const token = await fixture.steps.linkToken({ emr_name: 'fhir', emr_instance_domain: server.url });
  const window = await fixture.open();
  const frame = await window.start(token);
  await focused(frame, 'client_id');
  await frame.fill('input[name="client_id"]', 'by-page');
  const opening = window.page.waitForEvent('popup');
  await frame.click('button[type="submit"]');
  const popup = await opening;
  const [person] = server.people;
  await popup.fill('input[name="username"]', person?.username ?? '');
  await popup.fill('input[name="password"]', person?.password ?? '');
  await popup.click('button[value="allow"]');
  await untilClosed(window);
  const [[kind, public_token] = []] = await endings(window);
  expect(kind).toBe('success');
  await window.close();
  return (await fixture.steps.exchange(String(public_token))).body.token;
}

/** Sends a write request and returns the data of its event. */
async function done(api: Api, type: string, path: string, body: object): Promise<ApiResponse['body']> {
  const accepted = await api.call('POST', path, { body });
  expect(accepted.status, JSON.stringify(accepted.body)).toBe(200);
  const event = await api.untilEvent(accepted.body.job_id, timeout_ms);
  expect(event.event_type, JSON.stringify(event.data)).toBe(type);
  return event.data;
}

/** The resources with a Chartwire marker. */
async function markedResources<
  T extends fhir.FhirResource & { identifier?: fhir.Identifier | fhir.Identifier[] | undefined },
>(type: T['resourceType']): Promise<T[]> {
  const all = await server.resources<T>(type);
  return all.filter(({ identifier }) => [identifier].flat().some((one) => one?.system === 'urn:chartwire:marker'));
}

async function readContent(document: fhir.DocumentReference | undefined): Promise<Buffer> {
  const { data, url = '' } = document?.content[0]?.attachment ?? {};
  if (data !== undefined) return Buffer.from(data, 'base64');
  const all = await server.resources<fhir.Binary>('Binary');
  return Buffer.from(all.find(({ id }) => url.endsWith(`Binary/${id}`))?.data ?? '', 'base64');
}
