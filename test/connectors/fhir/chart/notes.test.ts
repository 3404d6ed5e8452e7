import type * as fhir from 'fhir/r4.js';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type FhirServer, startFhirServer } from '../../../harness/fhir/startFhirServer.ts';
import { awaitFailure } from '../../larkspur/fixture.ts';
import { booking } from '../inputs.ts';
import { type Charts, linkCharts, markedBy, performWrite } from './charts.ts';

let server: FhirServer;
let charts: Charts;
let appointment_ehr_id: string;
beforeAll(async () => {
  server = await startFhirServer({ data: 'small' });
  charts = await linkCharts(server);
  appointment_ehr_id = (await charts.emr.createAppointment.send(booking, 'note-visit-')).ehr_id;
});
afterEach(() => server.reset());
afterAll(() => server.close());

let count = 0;
const newMarker = () => `note-${++count}-`;
const patient_note = { patient_ehr_id: 'pat-1', location_ehr_id: 'loc-1', subject: 'Contact', text: 'In the morning' };

test('a note on a visit is a document of the appointment', async () => {
  const marker = newMarker();
  await charts.emr.addVisitNote.send({ appointment_ehr_id, text: 'First line\nSecond line' }, marker);
  const [document] = await markedBy<fhir.DocumentReference>(server, 'DocumentReference', marker);
  expect(document).toMatchObject({
    status: 'current',
    type: { coding: [{ system: 'http://loinc.org', code: '11506-3' }] },
    subject: { reference: 'Patient/pat-1' },
    context: { related: [{ reference: `Appointment/${appointment_ehr_id}` }] },
  });
  const { data = '' } = document?.content[0]?.attachment ?? {};
  expect(Buffer.from(data, 'base64').toString()).toBe('First line\nSecond line');
});

test('a note on a chart is a communication about the location', async () => {
  const marker = newMarker();
  await charts.emr.addPatientNote.send(patient_note, marker);
  expect(await markedBy<fhir.Communication>(server, 'Communication', marker)).toMatchObject([
    {
      subject: { reference: 'Patient/pat-1' },
      topic: { text: 'Contact' },
      about: [{ reference: 'Location/loc-1' }],
      payload: [{ contentString: 'In the morning' }],
    },
  ]);
});

test('a note on a visit or location that does not exist is not written', async () => {
  const visit = { appointment_ehr_id: 'none', text: 'x' };
  expect((await awaitFailure(charts.emr.addVisitNote.send(visit, newMarker()))).kind).toBe('not_found');
  const place = { ...patient_note, location_ehr_id: 'none' };
  expect((await awaitFailure(charts.emr.addPatientNote.send(place, newMarker()))).kind).toBe('not_found');
});

test('notes are written once, wherever the write is interrupted', async () => {
  await charts.emr.addVisitNote.send({ appointment_ehr_id, text: 'x' }, newMarker());
  await charts.emr.addPatientNote.send(patient_note, newMarker());
  for (const when of ['before', 'after'] as const) {
    for (let n = 1; n <= 4; n++) {
      const [visit, chart] = [newMarker(), newMarker()];
      charts.lose(n, when);
      await performWrite(charts.emr.addVisitNote, { appointment_ehr_id, text: `x${n}` }, visit);
      charts.lose(n, when);
      await performWrite(charts.emr.addPatientNote, patient_note, chart);
      expect(await markedBy(server, 'DocumentReference', visit)).toHaveLength(1);
      expect(await markedBy(server, 'Communication', chart)).toHaveLength(1);
    }
  }
  charts.lose(0, 'before');
});
