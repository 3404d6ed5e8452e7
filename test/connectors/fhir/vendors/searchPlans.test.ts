import type * as fhir from 'fhir/r4.js';
import { describe, expect, test } from 'vitest';
import type { Grant } from '../../../../src/emr/connector.ts';
import { fhir as fhirConnector } from '../../../../src/emr/fhir/fhir.ts';
import { collect } from '../../../../src/emr/operations/operation.ts';
import type { Operations } from '../../../../src/emr/operations/operations.ts';
import { sharedFhirServer } from '../../../harness/fhir/sharedFhirServer.ts';
import { startFhirServer } from '../../../harness/fhir/startFhirServer.ts';
import type { VendorName } from '../../../harness/fhir/vendors/vendors.ts';
import { awaitFailure, createEndpoint } from '../../larkspur/fixture.ts';
import { bySecret, signedIn } from '../fixture.ts';

const server = sharedFhirServer({ data: 'small' });

async function link(vendor: VendorName) {
  server.faults.vendor = vendor;
  const endpoint = createEndpoint(server.url);
  const credentials = bySecret(server);
  const { capabilities = [], grant } = await signedIn(endpoint, credentials);
  const access = {
    credentials,
    grant,
    saveGrant: async (saved: Grant) => void Object.assign(access.grant, saved),
  };
  // A test that uses an unsupported operation fails.
  const open = () => fhirConnector.open(endpoint, access) as Operations;
  const refresh = () => fhirConnector.refreshCapabilities?.(endpoint, access, { thorough: false });
  return { emr: open(), open, refresh, access, capabilities };
}

const requests = (type: string) => server.ledger.filter(({ path }) => path.startsWith(`/fhir/R4/${type}?`));
const readPlans = ({ server: facts = '{}' }: Grant) => JSON.parse(facts).plans;

describe('a range of days is divided', () => {
  test('if the server refuses more than 1,000 matches', async () => {
    const large = await startFhirServer({ data: 'none' });
    for (let n = 0; n < 1100; n++) {
      const birthDate = new Date(Date.UTC(1940, 0, 1 + n * 20)).toISOString().slice(0, 10);
      const name = [{ family: `Testperson${n}`, given: ['Synthetic'] }];
      await large.storeUnchecked({ resourceType: 'Patient', id: `born-${n}`, birthDate, name });
    }
    large.faults.vendor = 'oracle';
    const credentials = bySecret(large);
    const { grant } = await signedIn(createEndpoint(large.url), credentials);
    const access = { credentials, grant, saveGrant: async () => {} };
    // A test that uses an unsupported operation fails.
    const { listPatients } = fhirConnector.open(createEndpoint(large.url), access) as Operations;
    const ids = (await collect(listPatients())).map(({ ehr_id }) => ehr_id);
    expect(new Set(ids).size).toBe(1100);
    expect(ids).toHaveLength(1100);
    await large.close();
  });

  test('if the server cuts off the result', async () => {
    const { emr } = await link('modmed');
    const all = (await collect(emr.listPatients())).length;
    Object.assign(server.faults, { paging: 'cut', page_rows_max: 4, withheld: { Coverage: 'all' } });
    const { emr: again } = await link('modmed');
    expect(await collect(again.listPatients())).toHaveLength(all);
  });
});

describe('appointments of a server that requires one participant and a range', () => {
  test('are read for each location, the near days alone if changes are requested', async () => {
    const { emr } = await link('oracle');
    const { incremental, windowed } = emr.listAppointments;
    expect([incremental, windowed]).toEqual([true, true]);
    const days = async (since?: string) => {
      const before = server.ledger.length;
      let window = { from: '', to: '' };
      for await (const page of emr.listAppointments({ since })) window = page.window ?? window;
      const ranges = server.ledger.slice(before).filter(({ path }) => path.includes('/Appointment?'));
      expect(ranges.every(({ path, status }) => path.includes('location=') && status === 200)).toBe(true);
      return (Date.parse(window.to) - Date.parse(window.from)) / 86_400_000;
    };
    expect(await days()).toBe(210);
    expect(await days('2026-01-01T00:00:00Z')).toBe(16);
  });

  test('are found live by days and by patient', async () => {
    const { emr } = await link('oracle');
    const [first] = (await collect(emr.listAppointments())).filter((each) => each.patient_ehr_id !== null);
    const day = first?.starts.slice(0, 10) ?? '';
    const found_by_day = await emr.findAppointments({ days: { from: day, to: day } });
    expect(found_by_day.map(({ ehr_id }) => ehr_id)).toContain(first?.ehr_id);
    const by_patient = await emr.findAppointments({ patient_ehr_id: first?.patient_ehr_id ?? '' });
    expect(by_patient.map(({ ehr_id }) => ehr_id)).toContain(first?.ehr_id);
  });
});

test('a plan that the server starts to refuse is given up, and another one is found with the next refresh', async () => {
  const { emr, open, refresh, access } = await link('nextgen_enterprise');
  expect(readPlans(access.grant).Practitioner).toMatchObject({ searches: [{ _lastUpdated: 'ge1900-01-01' }] });
  expect((await collect(emr.listStaff())).length).toBeGreaterThan(0);
  server.faults.vendor = 'advancedmd';
  const fresh = open();
  expect(await awaitFailure(collect(fresh.listStaff()))).toMatchObject({ kind: 'refused' });
  expect(readPlans(access.grant).Practitioner).toBeUndefined();
  Object.assign(access.grant, (await refresh())?.grant);
  expect(readPlans(access.grant).Practitioner).toMatchObject({ partial: true });
  expect((await collect(open().listStaff())).length).toBeGreaterThan(0);
});

test('lists of the same type share the searches of a plan', async () => {
  const { emr } = await link('modmed');
  const before = requests('Practitioner').length;
  await collect(emr.listProviders());
  const once = requests('Practitioner').length - before;
  expect(once).toBeGreaterThanOrEqual(26);
  await collect(emr.listStaff());
  await collect(emr.listReferringProviders());
  expect(requests('Practitioner').length - before).toBe(once);
});

test('a search that a server refuses although it lists its parameter is not offered', async () => {
  const { capabilities } = await link('oracle');
  // Accounts are searched by their type only, orders and documents by their patient only.
  for (const name of ['getBalances', 'listOrders', 'listAddedDocuments'] as const)
    expect(capabilities).not.toContain(name);
  expect(capabilities).toContain('listEncounters');
});

test('a record that several searches of a plan return is listed once', async () => {
  const { emr } = await link('modmed');
  const ids = (await collect(emr.listReferringProviders())).map(({ ehr_id }) => ehr_id);
  const all = await server.resources<fhir.Practitioner>('Practitioner');
  expect(ids).toHaveLength(new Set(ids).size);
  expect(ids.toSorted()).toEqual(
    all
      .filter(({ name }) => name)
      .map(({ id }) => id)
      .toSorted(),
  );
});
