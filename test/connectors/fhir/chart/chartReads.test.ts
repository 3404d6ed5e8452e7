import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type * as fhir from 'fhir/r4.js';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createChanges, incrementalList } from '../../../../src/emr/fhir/lists.ts';
import { supportedCapabilities } from '../../../../src/emr/fhir/operations.ts';
import { nameForms } from '../../../../src/emr/fhir/patients/patients.ts';
import { toCapabilities } from '../../../../src/emr/fhir/transport/capabilities.ts';
import { createClient } from '../../../../src/emr/fhir/transport/client.ts';
import { sharedFhirServer } from '../../../harness/fhir/sharedFhirServer.ts';
import { awaitFailure, collect, createEndpoint } from '../../larkspur/fixture.ts';
import { type Charts, linkCharts, timezone } from './charts.ts';

const server = sharedFhirServer({ data: 'small' });
let charts: Charts;
beforeAll(async () => {
  charts = await linkCharts(server);
});

describe('a patient', () => {
  test.each(['(518) 555-0166', '+1-518-555-0166', '5185550166', '518.555.0166'])(
    'is found by a phone number that the EMR formats as %s',
    async (value) => {
      const telecom: fhir.ContactPoint[] = [{ system: 'phone', value }];
      await server.storeUnchecked({ resourceType: 'Patient', id: 'caller', name: [{ family: 'Callerson' }], telecom });
      const matches = await charts.emr.searchPatients({ phone: '518-555-0166' });
      expect(matches.map(({ ehr_id, phone }) => [ehr_id, phone])).toStrictEqual([['caller', '518-555-0166']]);
    },
  );

  test('is found by date of birth on a server where a plain date matches nothing', async () => {
    server.faults.day_matches_nothing = true;
    const matches = await charts.emr.searchPatients({ dob: '1981-04-12' });
    expect(matches.map(({ ehr_id }) => ehr_id)).toStrictEqual(['pat-1']);
  });

  test('is found by both names, ignoring case and accents, and must match all criteria', async () => {
    const name = [{ family: 'Müllér', given: ['Zoë'] }];
    await server.storeUnchecked({ resourceType: 'Patient', id: 'accented', name, birthDate: '1970-01-01' });
    const search = async (search: object) => (await charts.emr.searchPatients(search)).map(({ ehr_id }) => ehr_id);
    expect(await search({ first_name: 'zoë', last_name: 'MÜLLÉR' })).toStrictEqual(['accented']);
    expect(await search({ first_name: 'zoë', last_name: 'müllér', dob: '1970-01-01' })).toStrictEqual(['accented']);
    expect(await search({ first_name: 'zoë', last_name: 'müllér', dob: '1970-01-02' })).toStrictEqual([]);
  });

  test('is found by whole names only, not by the beginning of a name', async () => {
    const name = [{ family: 'Prefixman', given: ['Jo Ann', 'Lee'] }];
    await server.storeUnchecked({ resourceType: 'Patient', id: 'begins-alike', name });
    const search = async (search: object) => (await charts.emr.searchPatients(search)).map(({ ehr_id }) => ehr_id);
    expect(await search({ first_name: 'Jo', last_name: 'Prefixman' })).toStrictEqual([]);
    expect(await search({ first_name: 'Jo Ann', last_name: 'Prefix' })).toStrictEqual([]);
    expect(await search({ first_name: 'jo ann', last_name: 'PREFIXMAN' })).toStrictEqual(['begins-alike']);
    expect(await search({ first_name: 'Jo Ann Lee', last_name: 'Prefixman' })).toStrictEqual(['begins-alike']);
    // The last of several given names is a middle name.
    expect(await search({ first_name: 'Lee', last_name: 'Prefixman' })).toStrictEqual([]);
  });

  test('is searched by a name in every usual spelling of its apostrophes and hyphens', () => {
    expect(nameForms("O'Neil")).toBe("O'Neil,O’Neil,oneil");
    expect(nameForms('O’Neil')).toContain("O'Neil");
    expect(nameForms('Anne-Marie').split(',')).toEqual(expect.arrayContaining(['Anne-Marie', 'Anne Marie']));
    expect(nameForms('Testpatient')).toBe('Testpatient');
  });

  test('merged into another chart is not listed, and is found as that chart', async () => {
    const link: fhir.PatientLink[] = [{ other: { reference: 'Patient/pat-1' }, type: 'replaced-by' }];
    await server.storeUnchecked({ resourceType: 'Patient', id: 'merged', link });
    expect(await charts.emr.findPatient('merged')).toMatchObject({ ehr_id: 'pat-1' });
    expect(await charts.emr.searchPatients({ mrn: 'merged' })).toMatchObject([{ ehr_id: 'pat-1' }]);
    expect((await collect(charts.emr.listPatients())).map(({ ehr_id }) => ehr_id)).not.toContain('merged');
  });

  test('is not chosen from several with the same MRN', async () => {
    const identifier: fhir.Identifier[] = [{ type: { coding: [{ code: 'MR' }] }, value: 'TWICE-1' }];
    await server.storeUnchecked({ resourceType: 'Patient', id: 'twin-1', identifier });
    await server.storeUnchecked({ resourceType: 'Patient', id: 'twin-2', identifier });
    expect(await awaitFailure(charts.emr.findPatient('TWICE-1'))).toMatchObject({ code: 'patient_ambiguous' });
    // An MRN may be the id of a patient without one.
    await server.storeUnchecked({ resourceType: 'Patient', id: 'MB100001' });
    expect(await awaitFailure(charts.emr.findPatient('MB100001'))).toMatchObject({ kind: 'refused' });
    await server.remove('Patient', 'MB100001');
  });
});

test('a list omits related records that the server does not support', async () => {
  server.faults.withheld = {
    Coverage: 'all',
    PractitionerRole: 'all',
    Schedule: 'all',
    Slot: 'all',
    ClaimResponse: 'all',
    ExplanationOfBenefit: 'all',
    DiagnosticReport: 'all',
    Encounter: 'all',
    Medication: 'all',
  };
  const { emr } = await linkCharts(server);
  expect(emr).not.toHaveProperty('listScheduleBlocks');
  expect(emr).not.toHaveProperty('listPatientInsurances');
  const patients = await collect(emr.listPatients());
  expect(patients.length).toBeGreaterThan(10);
  expect(patients.every(({ insurance_name }) => insurance_name === null)).toBe(true);
  const providers = await collect(emr.listProviders());
  expect(providers.every(({ hours }) => hours.length === 0)).toBe(true);
  expect((await collect(emr.listClaims())).every(({ payments }) => payments.length === 0)).toBe(true);
  expect((await collect(emr.listOrders())).every(({ lab_results }) => lab_results === null)).toBe(true);
});

test('pharmacies are found among organizations and locations, and are not listed as locations', async () => {
  const type = [{ coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v3-RoleCode', code: 'OUTPHARM' }] }];
  await server.storeUnchecked({ resourceType: 'Location', id: 'corner', name: 'Corner Drug', type });
  const pharmacies = await collect(charts.emr.listPharmacies());
  expect(pharmacies.map(({ ehr_id }) => ehr_id)).toContain('Location/corner');
  expect(pharmacies.map(({ ehr_id }) => ehr_id)).toContain('pharm-1');
  expect((await collect(charts.emr.listLocations())).map(({ ehr_id }) => ehr_id)).not.toContain('corner');
});

test('a patient’s pharmacies are those of the prescriptions', async () => {
  await server.storeUnchecked({
    resourceType: 'MedicationRequest',
    id: 'dispensed',
    status: 'active',
    intent: 'order',
    subject: { reference: 'Patient/pat-3' },
    medicationCodeableConcept: { text: 'lisinopril' },
    dispenseRequest: { performer: { reference: 'Organization/pharm-2' } },
  });
  const pharmacies = await charts.emr.listPatientPharmacies('pat-3');
  expect(pharmacies).toMatchObject([{ ehr_id: 'pharm-2', is_primary: '0', name: 'Exampleton Drug 2' }]);
});

test('an operation is not supported if the server does not declare its interactions or parameters', () => {
  const type = (interactions: ('read' | 'search-type' | 'create' | 'update')[], params: string[] = []) => {
    return { interactions, params, includes: [], conditional_create: false, versioned: true };
  };
  const offers = (types: Record<string, ReturnType<typeof type>>) =>
    supportedCapabilities(toCapabilities({ fhir_version: '4.0.1', software: '', types }));
  expect(offers({})).toStrictEqual([]);
  expect(offers({ Patient: type(['search-type']) })).toStrictEqual(['listPatients']);
  expect(offers({ Patient: type(['read', 'search-type'], ['identifier']) })).toStrictEqual([
    'listPatients',
    'findPatient',
    'searchPatients',
    'listPatientPharmacies',
    'searchPatients.mrn',
  ]);
  expect(offers({ Patient: type(['read', 'update']) })).toStrictEqual([
    'listPatientPharmacies',
    'addPatientPharmacy',
    'updatePatient',
  ]);
  // Servers support one or the other.
  for (const param of ['beneficiary', 'patient']) {
    expect(offers({ Coverage: type(['search-type'], [param]) })).toStrictEqual(['listPatientInsurances']);
  }
  for (const [params, offered] of [
    [['identifier'], true],
    [['family', 'birthdate'], true],
    [['name', 'birthdate'], true],
    [['family', 'given', 'phone'], false],
    [['birthdate', 'email'], false],
  ] as [string[], boolean][]) {
    expect(offers({ Patient: type(['read', 'search-type'], params) }).includes('searchPatients')).toBe(offered);
  }
});

describe('an incremental list', () => {
  const open: Server[] = [];
  afterEach(() => {
    for (const each of open.splice(0)) each.close();
  });
  /** A server that has only patients and serves its pages as the test says. `searches` are the searches it received. */
  const fakeServerWith = async (pagesFor: (searches: URLSearchParams) => fhir.Patient[][]) => {
    const searches: URLSearchParams[] = [];
    const results: fhir.Patient[][][] = [];
    const http = createServer((request, response) => {
      const { searchParams } = new URL(request.url ?? '/', 'http://localhost');
      const [search, page] = (searchParams.get('page') ?? '').split('-').map(Number);
      const first = !searchParams.has('page');
      if (first) {
        searches.push(searchParams);
        results.push(pagesFor(searchParams));
      }
      const [n, at] = first ? [results.length - 1, 0] : [search ?? 0, page ?? 0];
      const pages = results[n] ?? [];
      const link = at + 1 < pages.length ? [{ relation: 'next', url: `Patient?page=${n}-${at + 1}` }] : [];
      const entry = (pages[at] ?? []).map((resource) => ({ resource }));
      response.setHeader('content-type', 'application/fhir+json');
      response.end(JSON.stringify({ resourceType: 'Bundle', type: 'searchset', link, entry }));
    });
    open.push(http);
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    const params = ['_lastUpdated', '_id'];
    const facts_of_type = {
      interactions: ['search-type'],
      params,
      includes: [],
      conditional_create: false,
      versioned: true,
    };
    const facts = JSON.stringify({ fhir_version: '4.0.1', software: '', types: { Patient: facts_of_type } });
    const grant = { access_token: 'token', server: facts };
    const endpoint = createEndpoint(`http://127.0.0.1:${(http.address() as AddressInfo).port}`);
    const credentials = { way: 'bearer_token', bearer_token: 'token' };
    const client = createClient(endpoint, { credentials, grant, saveGrant: async () => {} });
    return { emr: { client, timezone, changes: createChanges(client) }, searches };
  };
  const at = (id: string, second: number): fhir.Patient => {
    const lastUpdated = new Date(Date.parse('2026-01-01T00:00:00Z') + second * 1000).toISOString();
    return { resourceType: 'Patient', id, meta: { lastUpdated } };
  };
  const ids = {
    type: 'Patient' as const,
    toSources: async (page: fhir.Patient[]) => page.map(({ id = '' }) => id),
  };

  test('is read completely if the server does not sort', async () => {
    const { emr, searches } = await fakeServerWith(() => [[at('b', 2), at('a', 1)], [at('c', 3)]]);
    expect(await collect(incrementalList(emr, ids)())).toStrictEqual(['b', 'a', 'c']);
    expect(searches.at(-1)?.has('_sort')).toBe(false);
  });

  test('is read completely if the server returns nothing for a sorted search', async () => {
    const { emr } = await fakeServerWith((searches) => (searches.has('_sort') ? [[]] : [[at('a', 1)]]));
    expect(await collect(incrementalList(emr, ids)())).toStrictEqual(['a']);
  });

  test('an incremental list that is cut off silently is read to its end', async () => {
    const records = Array.from({ length: 9 }, (_, n) => at(`r${n}`, n));
    const { emr } = await fakeServerWith((searches) => {
      const from = (searches.get('_lastUpdated') ?? 'ge').slice(2);
      return [records.filter(({ meta }) => (meta?.lastUpdated ?? '') >= from).slice(0, 3)];
    });
    expect(new Set(await collect(incrementalList(emr, ids)())).size).toBe(9);
  });

  test('returns a record that changes during the read, and skips none', async () => {
    const records = Array.from({ length: 13 }, (_, n) => at(`r${n}`, n));
    let questions = 0;
    const { emr } = await fakeServerWith((searches) => {
      // The first record changes between two searches: it moves to the end, and all others move up by one.
      if (++questions === 2) {
        records.shift();
        records.push(at('r0', 100));
      }
      const from = (searches.get('_lastUpdated') ?? 'ge').slice(2);
      const due = records.filter(({ meta }) => (meta?.lastUpdated ?? '') >= from);
      return Array.from({ length: Math.ceil(due.length / 2) }, (_, n) => due.slice(n * 2, n * 2 + 2));
    });
    const ids_read = await collect(incrementalList(emr, ids)());
    expect(new Set(ids_read)).toStrictEqual(new Set(Array.from({ length: 13 }, (_, n) => `r${n}`)));
    expect(ids_read.at(-1)).toBe('r0');
  });

  test('returns its position and resumes from it', async () => {
    const { emr, searches } = await fakeServerWith(() => [[at('a', 1)], [at('b', 2)]]);
    const through: (string | null | undefined)[] = [];
    for await (const page of incrementalList(emr, ids)()) through.push(page.through);
    expect(through.slice(0, 2)).toStrictEqual(['2026-01-01T00:00:01.000Z', '2026-01-01T00:00:02.000Z']);
    searches.length = 0;
    await collect(incrementalList(emr, ids)({ from: '2026-01-01T00:00:01.000Z' }));
    expect(searches[0]?.get('_lastUpdated')).toBe('ge2026-01-01T00:00:01.000Z');
  });

  test('invalidates its position and is read completely if the order turns out to be wrong', async () => {
    const pages = [[at('a', 5)], [at('b', 6)], [at('c', 1)]];
    const { emr } = await fakeServerWith(() => pages);
    const pages_read: [string[], string | null | undefined][] = [];
    for await (const page of incrementalList(emr, ids)({ from: '2026-01-01T00:00:05.000Z' }))
      pages_read.push([[...page], page.through]);
    expect(pages_read.slice(0, 3)).toStrictEqual([
      [['a'], '2026-01-01T00:00:05.000Z'],
      [['b'], '2026-01-01T00:00:06.000Z'],
      [[], null],
    ]);
    expect(pages_read.slice(3).flatMap(([page]) => page)).toStrictEqual(['a', 'b', 'c']);
  });

  test('is read completely if the server finds nothing by time of change', async () => {
    const pages = Array.from({ length: 9 }, (_, n) => [at(`r${n}`, n)]);
    const { emr } = await fakeServerWith((searches) => (searches.has('_lastUpdated') ? [[]] : pages));
    expect(new Set(await collect(incrementalList(emr, ids)())).size).toBe(9);
  });
});
