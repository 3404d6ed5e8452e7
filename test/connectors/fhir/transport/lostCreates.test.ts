import type * as fhir from 'fhir/r4.js';
import { describe, expect, test } from 'vitest';
import { newId } from '../../../../src/catalog/ids.ts';
import { sharedFhirServer } from '../../../harness/fhir/sharedFhirServer.ts';
import { awaitFailure } from '../../larkspur/fixture.ts';
import { linkCharts, markedBy, performWrite } from '../chart/charts.ts';
import { booking, document, empty_patient } from '../inputs.ts';

const server = sharedFhirServer({ data: 'small' });

const newMarker = () => `${newId()}-create`;
const named = async (family: string) =>
  (await server.resources<fhir.Patient>('Patient')).filter(({ name }) => name?.[0]?.family === family);
const drops_markers = { conditional_create: false, foreign_identifiers: false } as const;

describe('on a server that drops our marker, a lost create of a patient', () => {
  test('is found by name, birth date and age, and not sent again', async () => {
    Object.assign(server.faults, drops_markers);
    const { emr } = await linkCharts(server);
    const input = { ...empty_patient, last_name: 'Lostonce' };
    server.fail({ kind: 'reset', method: 'POST', path: 'R4/Patient', performed: true });
    const { ehr_id } = await performWrite(emr.createPatient, input, newMarker());
    expect(await named('Lostonce')).toMatchObject([{ id: ehr_id }]);
  });

  test('a lost create of a patient that did not arrive is sent again, although an older chart has the same name and birth date', async () => {
    Object.assign(server.faults, drops_markers);
    const { emr } = await linkCharts(server);
    const input = { ...empty_patient, last_name: 'Namesake' };
    const older = { name: [{ family: 'Namesake', given: [input.first_name ?? ''] }], birthDate: input.dob ?? '' };
    const meta = { lastUpdated: '2020-01-01T00:00:00Z' };
    await server.storeUnchecked({ resourceType: 'Patient', id: 'older', ...older, meta });
    server.fail({ kind: 'reset', method: 'POST', path: 'R4/Patient' });
    const { ehr_id } = await performWrite(emr.createPatient, input, newMarker());
    expect(ehr_id).not.toBe('older');
    expect(await named('Namesake')).toHaveLength(2);
  });

  test('is sent twice under one marker and stored once', async () => {
    Object.assign(server.faults, drops_markers);
    const { emr } = await linkCharts(server);
    const [input, marker] = [{ ...empty_patient, last_name: 'Senttwice' }, newMarker()];
    const first = await emr.createPatient.send(input, marker);
    expect(await emr.createPatient.send(input, marker)).toEqual(first);
    expect(await named('Senttwice')).toHaveLength(1);
  });

  test('is not decided if two new charts have the same name and birth date', async () => {
    Object.assign(server.faults, drops_markers);
    const { emr } = await linkCharts(server);
    const input = { ...empty_patient, last_name: 'Ambiguous' };
    const alike = { name: [{ family: 'Ambiguous', given: [input.first_name ?? ''] }], birthDate: input.dob ?? '' };
    for (const id of ['one', 'two']) await server.storeUnchecked({ resourceType: 'Patient', id, ...alike });
    const lookup = emr.createPatient.find?.(newMarker(), input) ?? Promise.resolve();
    expect(await awaitFailure(lookup)).toMatchObject({ kind: 'unknown_outcome' });
  });
});

test('a write announces itself after it has read what it refers to, right before its first request', async () => {
  const { emr } = await linkCharts(server);
  expect(emr.createAppointment.announces).toBe(true);
  server.ledger.length = 0;
  const before: string[] = [];
  const sending = async () => {
    before.push(...server.ledger.map(({ method, path }) => `${method} ${path.replace('/fhir/R4/', '')}`));
  };
  await emr.createAppointment.send({ ...booking, starts_at: '2031-03-06T10:00:00' }, newMarker(), sending);
  expect(before).toContain('GET Patient/pat-1');
  expect(before.filter((request) => request.startsWith('POST Appointment'))).toEqual([]);
  expect(server.ledger.filter(({ method, path }) => method === 'POST' && path.endsWith('/Appointment'))).toHaveLength(
    1,
  );
});

describe('on a server that has not shown that it keeps markers, a lost create of an appointment', () => {
  const appointments = async (starts_at: string) =>
    (await server.resources<fhir.Appointment>('Appointment')).filter(({ start }) => start?.startsWith(starts_at));

  test('a lost create of an appointment that did not arrive is found to be absent by patient and start, and is sent again', async () => {
    const { emr } = await linkCharts(server);
    server.fail({ kind: 'reset', method: 'POST', path: 'R4/Appointment' });
    const input = { ...booking, starts_at: '2031-03-04T10:00:00' };
    const { ehr_id } = await performWrite(emr.createAppointment, input, newMarker());
    expect(await appointments('2031-03-04T10:00')).toMatchObject([{ id: ehr_id }]);
  });

  test('a lost create of an appointment that arrived is not sent again, even if the server drops the marker', async () => {
    Object.assign(server.faults, drops_markers);
    const { emr } = await linkCharts(server);
    const input = { ...booking, starts_at: '2031-03-05T10:00:00' };
    const marker = newMarker();
    server.fail({ kind: 'reset', method: 'POST', path: 'R4/Appointment', performed: true });
    expect(await awaitFailure(emr.createAppointment.send(input, marker))).toMatchObject({ kind: 'unknown_outcome' });
    const lookup = emr.createAppointment.find?.(marker, input) ?? Promise.resolve();
    expect(await awaitFailure(lookup)).toMatchObject({ kind: 'unknown_outcome' });
    expect(await appointments('2031-03-05T10:00')).toHaveLength(1);
  });

  test('a lost create of an appointment that arrived is not sent again, even if the account may not see appointments', async () => {
    server.faults.conditional_create = false;
    server.faults.hidden = ['Appointment'];
    const { emr } = await linkCharts(server);
    const input = { ...booking, starts_at: '2031-03-07T10:00:00' };
    const marker = newMarker();
    server.fail({ kind: 'reset', method: 'POST', path: '/fhir/R4/Appointment', exact: true, performed: true });
    expect(await awaitFailure(emr.createAppointment.send(input, marker))).toMatchObject({ kind: 'unknown_outcome' });
    const lookup = emr.createAppointment.find?.(marker, input) ?? Promise.resolve();
    expect(await awaitFailure(lookup)).toMatchObject({ kind: 'unknown_outcome' });
    expect(await appointments('2031-03-07T10:00')).toHaveLength(1);
  });
});

describe('a marker by which another account found a record', () => {
  /** What is stored for a client and an address. */
  const sharedMarkers = () => {
    const markers = new Map<string, string>();
    return {
      markers,
      find: async (type: string) => markers.get(type),
      store: async (type: string, marker: string) => void markers.set(type, marker),
    };
  };
  const lost = () => server.fail({ kind: 'reset', method: 'POST', path: '/fhir/R4/DocumentReference', exact: true });

  test('is stored after the first confirmed create of each type', async () => {
    const shared = sharedMarkers();
    const { emr } = await linkCharts(server, shared);
    const marker = newMarker();
    await emr.uploadDocument.send(document, marker);
    expect(shared.markers.get('DocumentReference')).toBe(marker);
  });

  test('shows the next account that its searches find markers, so that a lost create is sent again', async () => {
    const shared = sharedMarkers();
    const first = await linkCharts(server, shared);
    await first.emr.uploadDocument.send(document, newMarker());
    const { emr } = await linkCharts(server, shared);
    lost();
    const marker = newMarker();
    await performWrite(emr.uploadDocument, document, marker);
    expect(await markedBy(server, 'DocumentReference', marker)).toHaveLength(1);
  });

  test('shows nothing to an account that does not find it', async () => {
    const shared = sharedMarkers();
    await shared.store('DocumentReference', newMarker());
    const { emr } = await linkCharts(server, shared);
    lost();
    const marker = newMarker();
    expect(await awaitFailure(emr.uploadDocument.send(document, marker))).toMatchObject({
      kind: 'unknown_outcome',
    });
    const lookup = emr.uploadDocument.find?.(marker, document) ?? Promise.resolve();
    expect(await awaitFailure(lookup)).toMatchObject({ kind: 'unknown_outcome' });
  });
});
