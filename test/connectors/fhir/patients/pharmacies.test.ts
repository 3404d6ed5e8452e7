import type * as fhirTypes from 'fhir/r4.js';
import { expect, test } from 'vitest';
import { fhir } from '../../../../src/emr/fhir/fhir.ts';
import { sharedFhirServer } from '../../../harness/fhir/sharedFhirServer.ts';
import { awaitFailure, createEndpoint } from '../../larkspur/fixture.ts';
import { type Charts, linkCharts, markedBy, performWrite } from '../chart/charts.ts';
import { bySecret } from '../fixture.ts';
import { empty_patient } from '../inputs.ts';

const server = sharedFhirServer({ data: 'small' });

let count = 0;
const newMarker = () => `pharmacy-${++count}`;
const findChart = async (ehr_id: string) =>
  (await server.resources<fhirTypes.Patient>('Patient')).find(({ id }) => id === ehr_id);
const refreshed = async ({ grant }: Charts) => {
  const access = { credentials: bySecret(server), grant: grant(), saveGrant: async () => {} };
  return (await fhir.refreshCapabilities?.(createEndpoint(server.url), access))?.capabilities ?? [];
};

test('the pharmacy of a new patient is primary, further ones follow, and those of prescriptions are last', async () => {
  const { emr } = await linkCharts(server);
  const { ehr_id } = await emr.createPatient.send({ ...empty_patient, pharmacy_ehr_id: 'pharm-2' }, newMarker());
  await emr.addPatientPharmacy.send({ patient_ehr_id: ehr_id, pharmacy_ehr_id: 'pharm-1' }, newMarker());
  await server.storeUnchecked({
    resourceType: 'MedicationRequest',
    status: 'active',
    intent: 'order',
    subject: { reference: `Patient/${ehr_id}` },
    medicationCodeableConcept: { text: 'lisinopril' },
    dispenseRequest: { performer: { reference: 'Organization/pharm-3' } },
  });
  const listed = await emr.listPatientPharmacies(ehr_id);
  expect(listed.map(({ ehr_id: id, is_primary }) => [id, is_primary])).toStrictEqual([
    ['pharm-2', '1'],
    ['pharm-1', '0'],
    ['pharm-3', '0'],
  ]);
  expect(listed[0]).toMatchObject({ name: 'Exampleton Drug 2', city: 'Exampleton' });
});

test('a pharmacy is added once, whichever request or response is lost', async () => {
  const { emr, lose, requests } = await linkCharts(server);
  const patient = async () => (await emr.createPatient.send(empty_patient, newMarker())).ehr_id;
  const add = (patient_ehr_id: string) =>
    performWrite(emr.addPatientPharmacy, { patient_ehr_id, pharmacy_ehr_id: 'pharm-1' }, newMarker());
  const first = await patient();
  requests();
  expect(await add(first)).toStrictEqual({ ehr_id: 'pharm-1' });
  const needed = requests();
  for (let n = 1; n <= needed; n++) {
    for (const when of ['before', 'after'] as const) {
      const id = await patient();
      lose(n, when);
      await add(id);
      await add(id);
      expect((await findChart(id))?.extension, `request ${n} lost ${when}`).toHaveLength(1);
    }
  }
});

test('keeps other extensions, and reads the preferred pharmacies that others have written', async () => {
  const other = { url: 'urn:example:other', valueString: 'kept' };
  await server.storeUnchecked({
    resourceType: 'Patient',
    id: 'preferring',
    extension: [
      other,
      {
        url: 'https://hl7.org/fhir/StructureDefinition/patient-preferredPharmacy',
        extension: [{ url: 'pharmacy', valueReference: { reference: 'Organization/pharm-4' } }],
      },
    ],
  });
  const { emr } = await linkCharts(server);
  await emr.addPatientPharmacy.send({ patient_ehr_id: 'preferring', pharmacy_ehr_id: 'pharm-6' }, newMarker());
  expect((await findChart('preferring'))?.extension).toContainEqual(other);
  const listed = await emr.listPatientPharmacies('preferring');
  expect(listed.map(({ ehr_id, is_primary }) => [ehr_id, is_primary])).toStrictEqual([
    ['pharm-4', '1'],
    ['pharm-6', '0'],
  ]);
});

test('an unknown pharmacy is refused before anything is written', async () => {
  const { emr } = await linkCharts(server);
  const marker = newMarker();
  const failure = await awaitFailure(emr.createPatient.send({ ...empty_patient, pharmacy_ehr_id: 'nowhere' }, marker));
  expect(failure).toMatchObject({ kind: 'not_found', message: "The EMR has no pharmacy with ID 'nowhere'." });
  expect(await markedBy(server, 'Patient', marker)).toStrictEqual([]);
});

test('a server that drops the extension no longer offers pharmacies after the first one', async () => {
  server.faults.foreign_extensions = false;
  const charts = await linkCharts(server);
  expect(await refreshed(charts)).toContain('addPatientPharmacy');
  const add = { patient_ehr_id: 'pat-1', pharmacy_ehr_id: 'pharm-1' };
  expect(await awaitFailure(charts.emr.addPatientPharmacy.send(add, newMarker()))).toMatchObject({
    not_offered: true,
    code: 'not_supported',
    message: 'The server does not keep the preferred pharmacy of a patient.',
  });
  const offered = await refreshed(charts);
  expect(offered).toContain('createPatient');
  expect(offered).not.toContain('addPatientPharmacy');
  expect(offered).not.toContain('createPatient.pharmacy_id');
  const marker = newMarker();
  const again = charts.emr.createPatient.send({ ...empty_patient, pharmacy_ehr_id: 'pharm-1' }, marker);
  expect(await awaitFailure(again)).toMatchObject({ message: "Field 'pharmacy_id' is not supported by this EMR." });
  expect(await markedBy(server, 'Patient', marker)).toStrictEqual([]);
});

test('a new patient whose pharmacy was dropped is named in the failure, and not created twice', async () => {
  server.faults.foreign_extensions = false;
  const { emr } = await linkCharts(server);
  const marker = newMarker();
  const failure = await awaitFailure(emr.createPatient.send({ ...empty_patient, pharmacy_ehr_id: 'pharm-1' }, marker));
  expect(failure).toMatchObject({
    kind: 'refused',
    not_offered: false,
    message: expect.stringMatching(/^The patient was created with MRN '.+', .*Field 'pharmacy_id' is not supported/),
  });
  const { ehr_id } = await emr.createPatient.send(empty_patient, marker);
  expect(await markedBy(server, 'Patient', marker)).toMatchObject([{ id: ehr_id }]);
});
