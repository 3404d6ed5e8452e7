import type * as fhir from 'fhir/r4.js';
import { describe, expect, test } from 'vitest';
import { collect } from '../../../../src/emr/operations/operation.ts';
import { sharedFhirServer } from '../../../harness/fhir/sharedFhirServer.ts';
import { awaitFailure, createEndpoint } from '../../larkspur/fixture.ts';
import { type Charts, linkCharts, markedBy, performWrite } from '../chart/charts.ts';
import { bySecret, signedIn } from '../fixture.ts';
import { empty_patient } from '../inputs.ts';

const server = sharedFhirServer({ data: 'small' });

let count = 0;
const newMarker = () => `doctor-${++count}`;
const practitioner = (id: string, given: string, active = true): fhir.Practitioner => ({
  resourceType: 'Practitioner',
  id,
  active,
  name: [{ family: 'Doctorsdottir', given: [given] }],
});
const unique = { first_name: 'uma', last_name: 'Doctorsdóttir' };
const twin = { first_name: 'Twin', last_name: 'Doctorsdottir' };
const nobody = { first_name: 'No', last_name: 'Such-Doctor' };

async function linkWithDoctors(): Promise<Charts> {
  for (const each of [
    practitioner('uma', 'Uma'),
    practitioner('retired-uma', 'Uma', false),
    practitioner('twin-1', 'Twin'),
    practitioner('twin-2', 'Twin'),
  ]) {
    await server.storeUnchecked(each);
  }
  return linkCharts(server);
}

const findReferrals = async (id: string) =>
  (await server.resources<fhir.ServiceRequest>('ServiceRequest')).filter(
    ({ subject, code }) =>
      subject.reference === `Patient/${id}` && code?.coding?.some((coding) => coding.code === '3457005'),
  );
const rows = (changes: { property: string; before: string | null; after: string | null }[]) =>
  changes.map(({ property, before, after }) => [property, before, after]);

test('doctors are found by their whole name, whatever its case and accents', async () => {
  const { emr } = await linkWithDoctors();
  const matches = await emr.findReferringProviders(unique);
  expect(matches.map(({ ehr_id, status }) => [ehr_id, status]).sort()).toStrictEqual([
    ['retired-uma', 'inactive'],
    ['uma', 'active'],
  ]);
  expect(await emr.findReferringProviders({ ...unique, first_name: 'Um' })).toStrictEqual([]);
  expect(await emr.findReferringProviders(nobody)).toStrictEqual([]);
});

describe('a change of the primary care provider by name', () => {
  const change = (pcp: typeof unique) => ({ patient_ehr_id: 'pat-1', save_previous_address: true, pcp });

  test('links the only active practitioner with that name', async () => {
    const { emr } = await linkWithDoctors();
    const { changes } = await emr.updatePatient.send(change(unique), newMarker());
    expect(rows(changes)).toContainEqual(['pcp_id', expect.stringMatching(/^prac-/), 'uma']);
    const chart = (await server.resources<fhir.Patient>('Patient')).find(({ id }) => id === 'pat-1');
    expect(chart?.generalPractitioner).toStrictEqual([{ reference: 'Practitioner/uma' }]);
  });

  test.each([
    ['nobody has', nobody, 'record_not_found', 'No referring provider is called No Such-Doctor.'],
    ['several have', twin, 'record_ambiguous', 'Several referring providers are called Twin Doctorsdottir.'],
  ])('is refused for a name that %s', async (_who, pcp, code, message) => {
    const { emr } = await linkWithDoctors();
    const marker = newMarker();
    expect(await awaitFailure(emr.updatePatient.send(change(pcp), marker))).toMatchObject({ code, message });
    expect(await markedBy(server, 'Patient', marker)).toStrictEqual([]);
  });

  test('is not offered where practitioners can neither be searched by name nor listed', async () => {
    const offered = async () => (await signedIn(createEndpoint(server.url), bySecret(server))).capabilities;
    expect(await offered()).toContain('updatePatient.pcp_last_name');
    server.faults.withheld_params = { Practitioner: ['family', 'name'] };
    expect(await offered()).toContain('updatePatient.pcp_last_name');
    server.faults.withheld = { Practitioner: ['search-type'] };
    expect(await offered()).not.toContain('updatePatient.pcp_last_name');
  });
});

describe('the referral of a patient', () => {
  const referring = { ehr_id: 'ref-1' };

  test('is a service request of the referring provider, and not an order', async () => {
    const { emr } = await linkWithDoctors();
    const marker = newMarker();
    const input = { ...empty_patient, referring, rendering_provider_ehr_id: 'prac-1' };
    const { ehr_id } = await emr.createPatient.send(input, marker);
    const [referral] = await markedBy<fhir.ServiceRequest>(server, 'ServiceRequest', marker);
    expect(referral).toMatchObject({
      status: 'active',
      intent: 'order',
      subject: { reference: `Patient/${ehr_id}` },
      requester: { reference: 'Practitioner/ref-1' },
      performer: [{ reference: 'Practitioner/prac-1' }],
    });
    const orders = await collect(emr.listOrders());
    expect(orders.length).toBeGreaterThan(0);
    expect(orders.map((order) => order.ehr_id)).not.toContain(referral?.id);
  });

  test.each([
    ['by a name that one practitioner has', unique, { reference: 'Practitioner/uma' }],
    ['by a name that nobody has', nobody, { display: 'No Such-Doctor' }],
  ])('%s', async (_name, sent, requester) => {
    const { emr } = await linkWithDoctors();
    const marker = newMarker();
    await emr.createPatient.send({ ...empty_patient, referring: sent }, marker);
    expect(await markedBy(server, 'ServiceRequest', marker)).toMatchObject([{ requester }]);
  });

  test('is changed in place, returned with its previous values, and withdrawn when it is cleared', async () => {
    const { emr } = await linkWithDoctors();
    const { ehr_id } = await emr.createPatient.send({ ...empty_patient, referring }, newMarker());
    const update = { patient_ehr_id: ehr_id, save_previous_address: true };
    const changed = await emr.updatePatient.send(
      { ...update, referring: unique, rendering_provider_ehr_id: 'prac-2', phone: '212-555-0103' },
      newMarker(),
    );
    expect(rows(changed.changes)).toStrictEqual([
      ['phone', null, '212-555-0103'],
      ['referring_provider_id', 'ref-1', 'uma'],
      ['referred_to_provider_id', null, 'prac-2'],
    ]);
    expect(await findReferrals(ehr_id)).toMatchObject([{ status: 'active' }]);
    await emr.updatePatient.send({ ...update, referring: null, rendering_provider_ehr_id: null }, newMarker());
    expect(await findReferrals(ehr_id)).toMatchObject([{ status: 'revoked' }]);
    // A later one is a new referral.
    await emr.updatePatient.send({ ...update, referring }, newMarker());
    expect((await findReferrals(ehr_id)).map(({ status }) => status).sort()).toStrictEqual(['active', 'revoked']);
  });

  test('leaves referrals alone that others have written', async () => {
    await server.storeUnchecked({
      resourceType: 'ServiceRequest',
      id: 'clinical-referral',
      status: 'active',
      intent: 'order',
      code: { coding: [{ system: 'http://snomed.info/sct', code: '3457005' }] },
      subject: { reference: 'Patient/pat-2' },
      requester: { reference: 'Practitioner/prac-1' },
      authoredOn: '2026-01-05',
    });
    const { emr } = await linkWithDoctors();
    await emr.updatePatient.send({ patient_ehr_id: 'pat-2', save_previous_address: true, referring }, newMarker());
    const requesters = (await findReferrals('pat-2')).map(({ requester }) => requester?.reference);
    expect(requesters.sort()).toStrictEqual(['Practitioner/prac-1', 'Practitioner/ref-1']);
    expect((await collect(emr.listOrders())).map((order) => order.ehr_id)).toContain('clinical-referral');
  });

  test.each([true, false])(
    'is changed once, whichever request or response is lost (conditional create: %s)',
    async (conditional_create) => {
      server.faults.conditional_create = conditional_create;
      const { emr, lose, requests } = await linkWithDoctors();
      const patient = async () => (await emr.createPatient.send(empty_patient, newMarker())).ehr_id;
      const refer = (patient_ehr_id: string) =>
        performWrite(
          emr.updatePatient,
          { patient_ehr_id, save_previous_address: true, referring, cell_phone: '212-555-0104' },
          newMarker(),
        );
      await refer(await patient());
      const second = await patient();
      requests();
      await refer(second);
      const needed = requests();
      for (let n = 1; n <= needed; n++) {
        for (const when of ['before', 'after'] as const) {
          const id = await patient();
          lose(n, when);
          await refer(id);
          expect(await findReferrals(id), `request ${n} lost ${when}`).toMatchObject([
            { requester: { reference: 'Practitioner/ref-1' } },
          ]);
        }
      }
    },
  );

  test.each([
    ['has no service requests', { withheld: { ServiceRequest: 'all' as const } }, false, false],
    ['does not change them', { withheld: { ServiceRequest: ['update' as const] } }, true, false],
  ])('is refused by name on a server that %s', async (_what, switches, on_create, on_update) => {
    Object.assign(server.faults, switches);
    const { capabilities = [] } = await signedIn(createEndpoint(server.url), bySecret(server));
    for (const field of ['referring_provider_id', 'referring_provider_last_name', 'referred_to_provider_id'] as const) {
      expect(capabilities.includes(`createPatient.${field}`)).toBe(on_create);
      expect(capabilities.includes(`updatePatient.${field}`)).toBe(on_update);
    }
    const { emr } = await linkCharts(server);
    const update = { patient_ehr_id: 'pat-1', save_previous_address: true, referring };
    expect(await awaitFailure(emr.updatePatient.send(update, newMarker()))).toMatchObject({
      code: 'not_supported',
      message: "Field 'referring_provider_id' is not supported by this EMR.",
    });
  });

  test('is not changed any more on a server that drops our markers', async () => {
    server.faults.foreign_identifiers = false;
    const { emr } = await linkWithDoctors();
    await emr.createPatient.send({ ...empty_patient, referring }, newMarker());
    const update = { patient_ehr_id: 'pat-1', save_previous_address: true, referring };
    // Our referral cannot be told from others, so that each change would add one.
    expect(await awaitFailure(emr.updatePatient.send(update, newMarker()))).toMatchObject({ code: 'not_supported' });
  });
});
