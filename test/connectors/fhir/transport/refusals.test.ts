import type * as fhir from 'fhir/r4.js';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { EmrFailure } from '../../../../src/emr/emrFailure.ts';
import { fhir as connector } from '../../../../src/emr/fhir/fhir.ts';
import type { Operations } from '../../../../src/emr/operations/operations.ts';
import { type FhirServer, startFhirServer } from '../../../harness/fhir/startFhirServer.ts';
import { awaitFailure, createEndpoint } from '../../larkspur/fixture.ts';
import { type Charts, linkCharts, markedBy, performWrite } from '../chart/charts.ts';
import { bySecret, signedIn } from '../fixture.ts';
import { booking, document, empty_patient, insurance } from '../inputs.ts';

let server: FhirServer;
let charts: Charts;
beforeAll(async () => {
  server = await startFhirServer({ data: 'small' });
  charts = await linkCharts(server);
  await server.storeUnchecked({ resourceType: 'Patient', id: 'gone' });
  await server.remove('Patient', 'gone');
  await server.storeUnchecked({
    resourceType: 'Patient',
    id: 'merged',
    link: [{ type: 'replaced-by', other: { reference: 'Patient/pat-1' } }],
  });
  await server.storeUnchecked({ resourceType: 'Patient', id: 'deceased', deceasedBoolean: true });
  await server.storeUnchecked({ resourceType: 'Patient', id: 'deceased-at', deceasedDateTime: '2026-01-05' });
});
afterEach(() => {
  vi.useRealTimers();
  server.reset();
});
afterAll(() => server.close());

let count = 0;
const newMarker = () => `refusal-${++count}`;
const writes = () => server.writes().length;

describe('on a server that does not check references', () => {
  const refused: Record<string, [(emr: Operations) => Promise<unknown>, Partial<EmrFailure>]> = {
    'an appointment of a deleted patient': [
      (emr) => emr.createAppointment.send({ ...booking, patient_ehr_id: 'gone' }, newMarker()),
      { kind: 'not_found', code: 'patient_not_found' },
    ],
    'an appointment with an unknown provider': [
      (emr) => emr.createAppointment.send({ ...booking, provider_ehr_id: 'prac-99' }, newMarker()),
      { kind: 'not_found', code: 'record_not_found', message: "The EMR has no provider with ID 'prac-99'." },
    ],
    'an appointment with an unknown secondary provider': [
      (emr) => emr.createAppointment.send({ ...booking, secondary_provider_ehr_id: 'prac-98' }, newMarker()),
      { code: 'record_not_found', message: "The EMR has no provider with ID 'prac-98'." },
    ],
    'an appointment at an unknown location': [
      (emr) => emr.createAppointment.send({ ...booking, location_ehr_id: 'loc-99' }, newMarker()),
      { code: 'record_not_found', message: "The EMR has no location with ID 'loc-99'." },
    ],
    'a document of an unknown patient': [
      (emr) => emr.uploadDocument.send({ ...document, patient_ehr_id: 'nobody' }, newMarker()),
      { code: 'patient_not_found' },
    ],
    'a document for an unknown staff member': [
      (emr) => emr.uploadDocument.send({ ...document, assigned_to_ehr_id: 'staff-99' }, newMarker()),
      { code: 'record_not_found', message: "The EMR has no staff member with ID 'staff-99'." },
    ],
    'an insurance of an unknown patient': [
      (emr) => emr.addPatientInsurance.send({ ...insurance, patient_ehr_id: 'nobody' }, newMarker()),
      { code: 'patient_not_found' },
    ],
    'an insurance of an unknown company': [
      (emr) => emr.addPatientInsurance.send({ ...insurance, company_ehr_id: 'payer-99' }, newMarker()),
      { kind: 'not_found', code: 'record_not_found' },
    ],
    'a new patient with an unknown insurance company': [
      (emr) =>
        emr.createPatient.send(
          { ...empty_patient, coverages: [{ company: { ehr_id: 'payer-99' }, member_id: null, priority: 1 }] },
          newMarker(),
        ),
      { code: 'record_not_found' },
    ],
    'a new patient with an unknown primary care provider': [
      (emr) => emr.createPatient.send({ ...empty_patient, pcp: { ehr_id: 'prac-99' } }, newMarker()),
      { code: 'record_not_found', message: "The EMR has no primary care provider with ID 'prac-99'." },
    ],
    'a write to a merged chart': [
      (emr) => emr.uploadDocument.send({ ...document, patient_ehr_id: 'merged' }, newMarker()),
      { code: 'patient_not_found', message: "This chart was merged into the chart with MRN 'MB100001'." },
    ],
    'an appointment of a deceased patient': [
      (emr) => emr.createAppointment.send({ ...booking, patient_ehr_id: 'deceased' }, newMarker()),
      { code: 'record_inactive', message: 'According to the EMR, the patient is deceased.' },
    ],
    'an update of a patient with a date of death': [
      (emr) =>
        emr.updatePatient.send(
          { patient_ehr_id: 'deceased-at', save_previous_address: true, phone: '518-555-0101' },
          newMarker(),
        ),
      { code: 'record_inactive' },
    ],
  };

  test.each(Object.entries(refused))('%s is refused before anything is written', async (_what, [send, expected]) => {
    server.faults.checks_references = false;
    const before = writes();
    expect(await awaitFailure(send(charts.emr))).toMatchObject(expected);
    expect(writes()).toBe(before);
  });
});

describe('a server that refuses a declared operation', () => {
  test.each([404, 405, 501])(
    'a server that refuses a declared operation as a whole with %s does not support it',
    async (create) => {
      server.faults.refused_writes = { Patient: { create } };
      const { emr } = await linkCharts(server);
      expect(await awaitFailure(emr.createPatient.send(empty_patient, newMarker()))).toMatchObject({
        kind: 'refused',
        code: 'not_supported',
        not_offered: true,
        message: `The server does not accept new Patient records (${create}).`,
      });
    },
  );

  test('a server that refuses a declared operation for missing rights does not support it', async () => {
    server.faults.refused_writes = { DocumentReference: { create: 403 }, Binary: { create: 403 } };
    const { emr } = await linkCharts(server);
    expect(await awaitFailure(emr.uploadDocument.send(document, newMarker()))).toMatchObject({
      kind: 'refused',
      code: 'not_permitted',
      not_offered: true,
      message: 'The server does not allow this account to send new DocumentReference records.',
    });
  });

  test('a server that refuses a part of a request still supports the operation, and names the field', async () => {
    server.faults.refused_writes = { RelatedPerson: { create: 404 } };
    const opened = await linkCharts(server);
    const failure = await awaitFailure(opened.emr.addPatientInsurance.send(insurance, newMarker()));
    expect(failure).toMatchObject({ kind: 'refused', code: 'not_supported', not_offered: false });
    expect(failure.message).toMatch(/^Field 'subscriber_demographics' is not supported by this EMR\./);
    expect(JSON.parse(opened.grant().server ?? '').refused).toMatchObject({
      RelatedPerson: { create: { status: 404 } },
    });
  });

  test('keeps a record that is really missing apart', async () => {
    charts.before('PUT', async () => server.remove('Patient', 'pat-9'));
    const update = { patient_ehr_id: 'pat-9', save_previous_address: true, phone: '518-555-0101' };
    expect(await awaitFailure(charts.emr.updatePatient.send(update, newMarker()))).toMatchObject({
      kind: 'not_found',
      not_offered: false,
    });
  });
});

describe('an update that the server answers with 500', () => {
  const update = { patient_ehr_id: 'pat-3', save_previous_address: true, phone: '518-555-0102' };

  test('although it stored it, is found by reading the record', async () => {
    const marker = newMarker();
    server.fail({ kind: 'error_500', method: 'PUT', performed: true });
    const before = writes();
    const { changes } = await charts.emr.updatePatient.send(update, marker);
    expect(changes).toMatchObject([{ property: 'phone', after: '518-555-0102' }]);
    expect(writes() - before).toBe(1);
    expect(await markedBy<fhir.Patient>(server, 'Patient', marker)).toHaveLength(1);
  });

  test('once, without storing it, is retried', async () => {
    server.fail({ kind: 'error_500', method: 'PUT' });
    const retried = performWrite(charts.emr.updatePatient, { ...update, phone: '518-555-0103' }, newMarker());
    expect((await retried) as object).toMatchObject({ changes: [{ after: '518-555-0103' }] });
  });

  test('for a minute is not offered any more, and one success starts the minute again', async () => {
    const { emr } = await linkCharts(server);
    vi.useFakeTimers({ toFake: ['Date'] });
    const attempt = () => awaitFailure(emr.updatePatient.send({ ...update, phone: '518-555-0104' }, newMarker()));
    const failing = async (minutes: number) => {
      server.faults.refused_writes = { Patient: { update: 500 } };
      vi.setSystemTime(Date.now() + minutes * 60_000);
      return attempt();
    };
    expect(await failing(0)).toMatchObject({ kind: 'unavailable', not_offered: false });
    expect(await failing(2)).toMatchObject({ kind: 'unavailable' });
    server.faults.refused_writes = {};
    await emr.updatePatient.send({ ...update, phone: '518-555-0105' }, newMarker());
    expect(await failing(0)).toMatchObject({ kind: 'unavailable' });
    expect(await failing(0)).toMatchObject({ kind: 'unavailable' });
    expect(await failing(0)).toMatchObject({ kind: 'unavailable' });
    expect(await failing(1)).toMatchObject({
      kind: 'refused',
      code: 'not_supported',
      not_offered: true,
      message: 'The server does not accept changes to Patient records (500).',
    });
  });
});

describe('a server without Coverage', () => {
  test('offers new patients, and refuses their insurance by name', async () => {
    server.faults.withheld = { Coverage: 'all', RelatedPerson: ['create'] };
    const { capabilities = [] } = await signedIn(createEndpoint(server.url), bySecret(server));
    expect(capabilities).toContain('createPatient');
    expect(capabilities.filter((each) => each.startsWith('createPatient.') && each.includes('insurance'))).toEqual([]);
    const { emr } = await linkCharts(server);
    expect(await emr.createPatient.send(empty_patient, newMarker())).toMatchObject({ ehr_id: expect.any(String) });
    const coverages = [{ company: { name: 'Mock Mutual' }, member_id: null, priority: 1 as const }];
    const before = writes();
    expect(await awaitFailure(emr.createPatient.send({ ...empty_patient, coverages }, newMarker()))).toMatchObject({
      code: 'not_supported',
      message: "Field 'insurance_name' is not supported by this EMR.",
    });
    expect(writes()).toBe(before);
  });

  test('a server that refuses Coverage in spite of its statement no longer supports insurance fields after the next sync', async () => {
    server.faults.refused_writes = { Coverage: { create: 404 } };
    const opened = await linkCharts(server);
    const coverages = [{ company: { name: 'Mock Mutual' }, member_id: null, priority: 1 as const }];
    const failure = await awaitFailure(opened.emr.createPatient.send({ ...empty_patient, coverages }, newMarker()));
    expect(failure).toMatchObject({ code: 'not_supported', not_offered: false });
    expect(failure.message).toMatch(/^The patient was created with MRN/);
    const access = { credentials: bySecret(server), grant: opened.grant(), saveGrant: async () => {} };
    const refreshed = await connector.refreshCapabilities?.(createEndpoint(server.url), access);
    expect(refreshed?.capabilities).toContain('createPatient');
    expect(refreshed?.capabilities).not.toContain('createPatient.insurance_name');
    expect(refreshed?.capabilities).not.toContain('addPatientInsurance');
  });
});
