import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openemr } from '../../../src/emr/openemr/openemr.ts';
import type { NewAppointment } from '../../../src/emr/operations/appointments.ts';
import { samplePdf } from '../../../src/emr/operations/documents.ts';
import { collect } from '../../../src/emr/operations/operation.ts';
import type { NewPatient } from '../../../src/emr/operations/patients.ts';
import { type OpenEmrServer, startOpenEmr } from '../../harness/openemr/startOpenEmr.ts';
import { awaitFailure, createEndpoint } from '../larkspur/fixture.ts';
import { newMarker, openAt, signInAt } from './fixture.ts';

let server: OpenEmrServer;
beforeEach(async () => {
  server = await startOpenEmr();
});
afterEach(() => server.close());

const new_patient: NewPatient = {
  first_name: 'Jo',
  last_name: 'Wren',
  dob: '1999-01-02',
  sex: 'male',
  payer: null,
  coverages: [],
  check_eligibility: false,
  pharmacy_ehr_id: null,
};

function booking(fields: Partial<NewAppointment> = {}): NewAppointment {
  const { patients, users, facilities } = server.practice;
  return {
    patient_ehr_id: String(patients[1]?.uuid),
    provider_ehr_id: String(users[1]?.uuid),
    location_ehr_id: String(facilities[0]?.uuid),
    secondary_provider_ehr_id: null,
    visit_type: '5',
    starts_at: '2031-03-03T09:00:00-05:00',
    minutes: 30,
    default_minutes: 15,
    reason: null,
    note: null,
    new_patient: false,
    prevent_double_booking: true,
    ...fields,
  };
}

describe('the address', () => {
  test.for([
    ['https://emr.example.org', undefined],
    ['https://example.org/openemr', undefined],
    ['https://emr.example.org/apis/east', undefined],
    ['https://emr.example.org?site=east', 'must be the address of OpenEMR without a query.'],
    ['https://emr.example.org/apis/default', 'must be the address of OpenEMR, without /apis/default.'],
    ['https://emr.example.org/apis/default/fhir', expect.stringContaining('must be the address of OpenEMR')],
    ['https://emr.example.org/oauth2/default', expect.stringContaining('must be the address of OpenEMR')],
  ] as const)('%s', ([address, refusal]) => {
    expect(openemr.refuseAddress(new URL(address))).toStrictEqual(refusal);
  });

  test('a server below a path with another site ID is reached at that site only', async () => {
    const other = await startOpenEmr({ site: 'east', path: '/emr' });
    try {
      expect(new URL(other.url).pathname).toBe('/emr/apis/east');
      const { emr, endpoint } = await openAt(other);
      await emr.createPatient.send(new_patient, newMarker());
      const paths = [...endpoint.calls, ...other.ledger.map(({ path }) => `GET ${path}`)];
      expect(paths.filter((path) => !/ \/emr\/(apis|oauth2)\/east\//.test(path))).toStrictEqual([]);
    } finally {
      await other.close();
    }
  });
});

test('the headers of an EMR app are sent with every request, and cannot replace the connector’s own', async () => {
  const { emr } = await openAt(server, {}, { 'x-api-key': 'key-1', accept: 'text/plain' });
  server.ledger.length = 0;
  await emr.createPatient.send(new_patient, newMarker());
  expect(server.ledger.map(({ method }) => method)).toContain('POST');
  expect(server.ledger.filter(({ headers }) => headers['x-api-key'] !== 'key-1')).toStrictEqual([]);
  expect(server.ledger.filter(({ headers }) => headers.accept === 'text/plain')).toStrictEqual([]);
});

describe('the sign-in', () => {
  test('has the time zone of the practice, not that of a patient’s home', async () => {
    expect((await signInAt(server)).timezone).toBe('America/New_York');
  });

  test('offers what the scopes allow', async () => {
    server.client.scopes = server.client.scopes.filter((scope) => !/document|message/.test(scope));
    const { capabilities, evidence } = await signInAt(server);
    expect(capabilities).toContain('createPatient');
    expect(capabilities).not.toContain('uploadDocument');
    expect(capabilities).not.toContain('createTelephoneEncounter');
    expect(evidence).toContainEqual({
      capability: 'addPatientInsurance',
      state: 'refused',
      detail: expect.stringContaining('7.0.2'),
    });
  });

  test('an empty 401 is a missing scope: nothing is renewed, and the message names the scope', async () => {
    const { emr, saved } = await openAt(server);
    server.revokeScope('user/patient.write');
    const failure = await awaitFailure(emr.createPatient.send(new_patient, newMarker()));
    expect(failure).toMatchObject({ kind: 'refused', code: 'not_permitted', not_offered: true });
    expect(failure.message).toContain('user/patient.write');
    expect(saved).toStrictEqual([]);
  });

  test('an expired token is renewed once for both halves', async () => {
    const { emr, saved } = await openAt(server);
    server.expireTokens('access');
    await collect(emr.listLocations());
    await collect(emr.listPatients());
    expect(saved.filter(({ access_token }, n) => access_token !== saved[n - 1]?.access_token)).toHaveLength(1);
  });
});

describe('patients', () => {
  test('names are compared as a whole, although OpenEMR matches by prefix', async () => {
    const { emr } = await openAt(server);
    const matches = await emr.searchPatients({ first_name: 'Jo', last_name: 'Wrenfield' });
    expect(matches.map(({ mrn }) => mrn)).toStrictEqual(['OE-1002']);
  });

  test('a name of one letter is refused before anything is sent', async () => {
    const { emr } = await openAt(server);
    const failure = await awaitFailure(emr.createPatient.send({ ...new_patient, last_name: 'W' }, newMarker()));
    expect(failure).toMatchObject({ kind: 'refused', code: 'emr_validation' });
    expect(server.ledger.filter(({ method, path }) => method === 'POST' && path.includes('/api/'))).toStrictEqual([]);
  });

  test('a patient with the same name and birth date is another one', async () => {
    const { emr } = await openAt(server);
    const first = await emr.createPatient.send(new_patient, newMarker());
    const marker = newMarker();
    expect(await emr.createPatient.find?.(marker, new_patient)).toBeUndefined();
    const second = await emr.createPatient.send(new_patient, marker);
    expect(second.ehr_id).not.toBe(first.ehr_id);
  });

  test('the rules of a refused change are shown, and the page of a server error is not', async () => {
    const { emr } = await openAt(server);
    const patient_ehr_id = String(server.practice.patients[0]?.uuid);
    const change = { patient_ehr_id, save_previous_address: false, email: 'nowhere' };
    const refused = await awaitFailure(emr.updatePatient.send(change, newMarker()));
    expect(refused.message).toBe('OpenEMR rejected: email: email must be a valid email address');
    server.fail({ method: 'PUT', path: /patient/, kind: 'error' });
    const failed = await awaitFailure(emr.updatePatient.send({ ...change, email: 'a@example.org' }, newMarker()));
    expect(failed).toMatchObject({ kind: 'unknown_outcome', message: 'OpenEMR responded with an error (500).' });
  });
});

describe('appointments', () => {
  test('a day is booked once, also if the other appointment has no end in OpenEMR', async () => {
    const { emr } = await openAt(server);
    await emr.createAppointment.send(booking(), newMarker());
    expect(server.practice.appointments.at(-1)).toMatchObject({ pc_endTime: '00:00:00' });
    const overlapping = booking({ starts_at: '2031-03-03T09:29:00-05:00' });
    expect(await awaitFailure(emr.createAppointment.send(overlapping, newMarker()))).toMatchObject({
      code: 'slot_taken',
    });
    const next = booking({ starts_at: '2031-03-03T09:30:00-05:00' });
    expect((await emr.createAppointment.send(next, newMarker())).ehr_id).toMatch(/^\d+$/);
    const cancelled = server.practice.appointments.at(-2);
    if (cancelled) cancelled.pc_apptstatus = 'x';
    expect((await emr.createAppointment.send(overlapping, newMarker()).catch(() => undefined))?.ehr_id).toBeUndefined();
    expect((await emr.createAppointment.send(booking({ minutes: 15 }), newMarker())).ehr_id).toMatch(/^\d+$/);
  });

  test('the first of two bookings at the same moment stays', async () => {
    const [one, other] = [await openAt(server), await openAt(server)];
    let arrived = 0;
    let release = () => {};
    const both = new Promise<void>((done) => {
      release = done;
    });
    server.holdWrites(async () => {
      arrived += 1;
      if (arrived === 2) release();
      await both;
    });
    const outcomes = await Promise.allSettled(
      [one, other].map(({ emr }) => emr.createAppointment.send(booking(), newMarker())),
    );
    expect(outcomes.map(({ status }) => status).sort()).toStrictEqual(['fulfilled', 'rejected']);
    const booked = server.practice.appointments.filter(({ pc_eventDate }) => pc_eventDate === '2031-03-03');
    expect(booked).toHaveLength(1);
  });

  test('without a visit type that is set, nothing is booked', async () => {
    const { emr } = await openAt(server, { visit_types: [] });
    const failure = await awaitFailure(emr.createAppointment.send(booking(), newMarker()));
    expect(failure).toMatchObject({
      code: 'unknown_value',
      message: expect.stringContaining('set them in the dashboard'),
    });
  });

  test('the note is shown without the marker', async () => {
    const { emr } = await openAt(server);
    const { ehr_id } = await emr.createAppointment.send(booking({ note: 'Bring the card' }), newMarker());
    expect(await emr.getAppointment(ehr_id)).toMatchObject({
      note: 'Bring the card',
      minutes: 30,
      starts: '2031-03-03T09:00:00-05:00',
      cancelled: false,
      appointment_type: '5',
    });
  });

  test('an appointment that was deleted in OpenEMR is found to be deleted', async () => {
    const { emr } = await openAt(server);
    const [gone] = server.practice.appointments.splice(0, 1);
    const stored = [String(gone?.pc_eid), ...(await collect(emr.listAppointments())).map(({ ehr_id }) => ehr_id)];
    expect(await emr.listAppointments.findDeleted?.(stored)).toStrictEqual([String(gone?.pc_eid)]);
  });
});

describe('documents', () => {
  const upload = (fields: object = {}) => ({
    patient_ehr_id: String(server.practice.patients[1]?.uuid),
    folder: 'Lab Report',
    type: 'application/pdf' as const,
    content: samplePdf('labs'),
    file_name: 'labs of "May".pdf',
    assigned_to_ehr_id: null,
    reviewed: false,
    high_priority: false,
    notes: null,
    template_name: null,
    ...fields,
  });

  test('are stored byte by byte, and listed under their own name with the marker', async () => {
    const { emr } = await openAt(server);
    const marker = newMarker();
    const since = new Date(Date.now() - 1000).toISOString();
    const { ehr_id } = await emr.uploadDocument.send(upload(), marker);
    expect(server.practice.documents.at(-1)).toMatchObject({ content: samplePdf('labs'), category: 'Lab Report' });
    expect((await emr.listAddedDocuments(since)).find((each) => each.ehr_id === ehr_id)).toMatchObject({
      file_name: 'labs of _May_.pdf',
      markers: [marker],
    });
  });

  test('a category that only the patient’s documents show is accepted, and one that was deleted since is reported', async () => {
    const { emr } = await openAt(server);
    const patient_ehr_id = String(server.practice.patients[0]?.uuid);
    const document = upload({ patient_ehr_id, folder: 'Certification' });
    await emr.uploadDocument.send(document, newMarker());
    server.practice.categories = ['Lab Report'];
    const failure = await awaitFailure(emr.uploadDocument.send(document, newMarker()));
    expect(failure).toMatchObject({
      code: 'unknown_value',
      message: expect.stringContaining('was stored in the chart'),
    });
  });

  test('a patient that does not exist is refused, although OpenEMR would answer true', async () => {
    const { emr } = await openAt(server);
    const patient_ehr_id = '00000000-0000-4000-8000-000000000000';
    const failure = await awaitFailure(emr.uploadDocument.send(upload({ patient_ehr_id }), newMarker()));
    expect(failure).toMatchObject({ kind: 'not_found', code: 'patient_not_found' });
    expect(server.practice.documents).toHaveLength(2);
  });
});

test('a route that this version does not have is not offered any more', async () => {
  const { emr } = await openAt(server);
  server.withoutRoute(/\/facility$/);
  const failure = await awaitFailure(collect(emr.listLocations()));
  expect(failure).toMatchObject({ kind: 'refused', code: 'not_supported', not_offered: true });
});

test('an address that is no OpenEMR is refused before anything is entered', async () => {
  const failure = await awaitFailure(
    Promise.resolve(openemr.describeServer?.(createEndpoint(`${server.url}/elsewhere`))),
  );
  expect(failure).toMatchObject({ wrong_address: true });
});
