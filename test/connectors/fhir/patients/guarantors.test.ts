import type * as fhir from 'fhir/r4.js';
import { describe, expect, test } from 'vitest';
import type { NewPatient } from '../../../../src/emr/operations/patients.ts';
import { sharedFhirServer } from '../../../harness/fhir/sharedFhirServer.ts';
import { awaitFailure, createEndpoint } from '../../larkspur/fixture.ts';
import { linkCharts, markedBy, performWrite } from '../chart/charts.ts';
import { bySecret, signedIn } from '../fixture.ts';
import { empty_patient, guarantor, insurance } from '../inputs.ts';

const server = sharedFhirServer({ data: 'small' });

let count = 0;
const newMarker = () => `guarantor-${++count}`;

const guaranteed: NewPatient = {
  ...empty_patient,
  payer: guarantor,
  coverages: [{ company: { name: 'Mock Mutual' }, member_id: 'M-1', priority: 1 }],
};
const shown = (name: string, relationship: string) => ({
  name,
  relationship,
  dob: '1971-02-03',
  is_guarantor_patient: false,
});
const findAccounts = async (id: string) =>
  (await server.resources<fhir.Account>('Account')).filter(
    ({ subject }) => subject?.[0]?.reference === `Patient/${id}`,
  );

test('the guarantor of a new patient is a related person, named by the account, and has the insurances', async () => {
  const { emr } = await linkCharts(server);
  const marker = newMarker();
  const { ehr_id } = await emr.createPatient.send(guaranteed, marker);
  const [person] = await markedBy<fhir.RelatedPerson>(server, 'RelatedPerson', marker);
  expect(person).toMatchObject({
    patient: { reference: `Patient/${ehr_id}` },
    relationship: [{ coding: [{ code: 'GUAR' }] }, { coding: [{ code: 'SPS' }], text: 'spouse' }],
    name: [{ family: 'Fixtureson', given: ['Gale'] }],
    gender: 'male',
    birthDate: '1971-02-03',
    telecom: [{ system: 'phone', value: '518-555-0166' }],
  });
  const reference = `RelatedPerson/${person?.id}`;
  expect(await findAccounts(ehr_id)).toMatchObject([
    { status: 'active', type: { coding: [{ code: 'PBILLACCT' }] }, guarantor: [{ party: { reference } }] },
  ]);
  expect(await emr.listGuarantors(ehr_id)).toStrictEqual([{ id: person?.id, ...shown('Gale Fixtureson', 'spouse') }]);
  expect(await emr.listPatientInsurances(ehr_id)).toMatchObject([
    { guarantor_id: person?.id, relationship_to_subscriber: '02', is_guarantor_patient: false },
  ]);
});

test.each([
  ['has no accounts', { withheld: { Account: 'all' as const } }],
  ['refuses accounts although it declares them', { refused_writes: { Account: { create: 403 } } }],
])('a server that %s keeps the guarantor as a related person', async (_what, switches) => {
  Object.assign(server.faults, switches);
  const { emr } = await linkCharts(server);
  const { ehr_id } = await performWrite(emr.createPatient, guaranteed, newMarker());
  expect(await emr.listGuarantors(ehr_id)).toMatchObject([shown('Gale Fixtureson', 'spouse')]);
  expect(await findAccounts(ehr_id)).toStrictEqual([]);
});

test('a server without related persons does not offer guarantors, and refuses one before anything is written', async () => {
  server.faults.withheld = { RelatedPerson: ['create'] };
  const { capabilities } = await signedIn(createEndpoint(server.url), bySecret(server));
  expect(capabilities).not.toContain('createPatient.responsible_party');
  expect(capabilities).not.toContain('addGuarantor');
  const { emr } = await linkCharts(server);
  const marker = newMarker();
  const failure = await awaitFailure(emr.createPatient.send(guaranteed, marker));
  expect(failure).toMatchObject({ message: "Field 'responsible_party' is not supported by this EMR." });
  expect(await markedBy(server, 'Patient', marker)).toStrictEqual([]);
});

test('a refusal of related persons as a whole names the field and the new patient, and is remembered', async () => {
  server.faults.refused_writes = { RelatedPerson: { create: 405 } };
  const { emr } = await linkCharts(server);
  const failure = await awaitFailure(emr.createPatient.send(guaranteed, newMarker()));
  expect(failure.message).toMatch(
    /^The patient was created with MRN '.+', but not all of its data. Field 'responsible_party' is not supported/,
  );
  const marker = newMarker();
  expect(await awaitFailure(emr.createPatient.send(guaranteed, marker))).toMatchObject({ code: 'not_supported' });
  expect(await markedBy(server, 'Patient', marker)).toStrictEqual([]);
});

describe.each([
  ['with accounts', {}],
  ['without accounts', { withheld: { Account: 'all' as const } }],
])('the responsible party on a server %s', (_server, switches) => {
  const names = async (emr: Awaited<ReturnType<typeof linkCharts>>['emr'], id: string) =>
    (await emr.listGuarantors(id)).map(({ name }) => name);

  test('becomes another guarantor, then the patient', async () => {
    Object.assign(server.faults, switches);
    const { emr } = await linkCharts(server);
    const { ehr_id } = await emr.createPatient.send(guaranteed, newMarker());
    const second = { ...guarantor, first_name: 'Robin', relationship: 'minor_dependent' as const };
    const added = await emr.addGuarantor.send({ ...second, patient_ehr_id: ehr_id }, newMarker());
    const change = { patient_ehr_id: ehr_id, relationship: second.relationship, guarantor_ehr_id: added.ehr_id };
    await emr.setResponsibleParty.send(change, newMarker());
    expect((await emr.listGuarantors(ehr_id))[0]).toStrictEqual({
      id: added.ehr_id,
      ...shown('Robin Fixtureson', 'child'),
    });
    const self = { patient_ehr_id: ehr_id, relationship: 'self' as const, guarantor_ehr_id: null };
    await emr.setResponsibleParty.send(self, newMarker());
    const [first] = await emr.listGuarantors(ehr_id);
    expect(first?.is_guarantor_patient ?? true).toBe(true);
    // The server has one account, with the earlier guarantors in its history.
    expect((await findAccounts(ehr_id)).length).toBeLessThan(2);
  });

  test('is set once, whichever request or response is lost', async () => {
    Object.assign(server.faults, switches);
    const { emr, lose, requests } = await linkCharts(server);
    const { ehr_id } = await emr.createPatient.send(empty_patient, newMarker());
    const people = await Promise.all(
      ['Robin', 'Kim'].map((first_name) =>
        emr.addGuarantor.send({ ...guarantor, first_name, patient_ehr_id: ehr_id }, newMarker()),
      ),
    );
    const set = (n: number) =>
      performWrite(
        emr.setResponsibleParty,
        { patient_ehr_id: ehr_id, relationship: 'spouse', guarantor_ehr_id: people[n % 2]?.ehr_id ?? '' },
        newMarker(),
      );
    await set(0);
    requests();
    await set(1);
    const needed = requests();
    expect(needed).toBeGreaterThan(0);
    for (let n = 1; n <= needed; n++) {
      for (const [index, when] of (['before', 'after'] as const).entries()) {
        lose(n, when);
        await set(index);
        expect((await names(emr, ehr_id))[0], `request ${n} lost ${when}`).toBe(
          index === 0 ? 'Robin Fixtureson' : 'Kim Fixtureson',
        );
      }
    }
    expect((await findAccounts(ehr_id)).length).toBeLessThan(2);
  });

  test('must be a related person of the patient', async () => {
    Object.assign(server.faults, switches);
    const { emr } = await linkCharts(server);
    // The related person of another patient.
    const change = { patient_ehr_id: 'pat-1', relationship: 'other' as const, guarantor_ehr_id: 'rel-3' };
    expect(await awaitFailure(emr.setResponsibleParty.send(change, newMarker()))).toMatchObject({
      kind: 'not_found',
      message: "The EMR has no guarantor with ID 'rel-3'.",
    });
  });
});

test('related persons without the role of a guarantor are not listed', async () => {
  const { emr } = await linkCharts(server);
  expect(await emr.listGuarantors('pat-3')).toStrictEqual([]);
});

test('an insurance is tied to an existing guarantor, and back to the patient', async () => {
  const { emr } = await linkCharts(server);
  const { ehr_id: guarantor_ehr_id } = await emr.addGuarantor.send(
    { ...guarantor, patient_ehr_id: 'pat-2' },
    newMarker(),
  );
  const { subscriber: _s, relationship: _r, ...plain } = insurance;
  const { ehr_id } = await emr.addPatientInsurance.send({ ...plain, guarantor_ehr_id }, newMarker());
  const read = async () =>
    (await emr.listPatientInsurances('pat-2')).find(({ emr_insurance_id }) => emr_insurance_id === ehr_id);
  expect(await read()).toMatchObject({ guarantor_id: guarantor_ehr_id, is_guarantor_patient: false });
  await emr.updatePatientInsurance.send({ insurance_ehr_id: ehr_id, guarantor_ehr_id: null }, newMarker());
  expect(await read()).toMatchObject({ guarantor_id: null, is_guarantor_patient: true });
  await emr.updatePatientInsurance.send({ insurance_ehr_id: ehr_id, guarantor_ehr_id }, newMarker());
  expect(await read()).toMatchObject({ guarantor_id: guarantor_ehr_id, is_guarantor_patient: false });
});
