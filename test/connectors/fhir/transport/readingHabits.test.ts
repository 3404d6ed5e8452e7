import type * as fhir from 'fhir/r4.js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Grant } from '../../../../src/emr/connector.ts';
import { fhir as fhirConnector } from '../../../../src/emr/fhir/fhir.ts';
import { readMrn } from '../../../../src/emr/fhir/patients/mrn.ts';
import { collect } from '../../../../src/emr/operations/operation.ts';
import type { Operations } from '../../../../src/emr/operations/operations.ts';
import { type FaultSwitches, type FhirServer, startFhirServer } from '../../../harness/fhir/startFhirServer.ts';
import { awaitFailure, createEndpoint } from '../../larkspur/fixture.ts';
import { bySecret, linkedClient, signedIn } from '../fixture.ts';

let server: FhirServer;
let emr: Operations;
const store = (resource: object) => server.storeUnchecked(resource as fhir.FhirResource);
beforeAll(async () => {
  server = await startFhirServer();
  await store({ resourceType: 'Organization', id: 'clinic', name: 'Clinic' });
  await store({ resourceType: 'Patient', id: 'p1', name: [{ family: 'Living', given: ['Lena'] }], active: true });
  const linked = await linkedClient(server);
  // A test that uses an unsupported operation fails.
  emr = fhirConnector.open(createEndpoint(server.url), linked.access) as Operations;
});
afterEach(() => server.reset());
afterAll(() => server.close());

describe('locations', () => {
  const ids = async () => (await collect(emr.listLocations())).map(({ ehr_id }) => ehr_id).sort();
  beforeAll(async () => {
    const home = { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v3-RoleCode', code: 'PTRES' }] };
    const managingOrganization = { reference: 'Organization/clinic' };
    await store({ resourceType: 'Location', id: 'managed', managingOrganization });
    await store({ resourceType: 'Location', id: 'typed', type: [{ text: 'Family medicine clinic' }] });
    await store({ resourceType: 'Location', id: 'home', name: 'Home of somebody' });
    await store({ resourceType: 'Location', id: 'typed-home', type: [home], managingOrganization });
    for (const id of ['by-role', 'by-schedule', 'by-visit']) await store({ resourceType: 'Location', id });
    const reference = (id: string) => ({ reference: `Location/${id}` });
    await store({ resourceType: 'PractitionerRole', id: 'r', location: [reference('by-role')] });
    await store({ resourceType: 'Schedule', id: 's', actor: [reference('by-schedule')] });
    const participant = [{ status: 'accepted', actor: reference('by-visit') }];
    await store({ resourceType: 'Appointment', id: 'a', status: 'booked', participant });
  });

  test('are those of the practice, or used by it, without people’s homes', async () => {
    expect(await ids()).toEqual(['by-role', 'by-schedule', 'by-visit', 'managed', 'typed']);
  });

  test('locations that are coded as homes are not listed, even if an appointment took place there', async () => {
    const participant = [{ status: 'accepted', actor: { reference: 'Location/typed-home' } }];
    await store({ resourceType: 'Appointment', id: 'home-visit', status: 'booked', participant });
    expect(await ids()).not.toContain('typed-home');
  });

  describe('on a server that cannot say which are used', () => {
    const at = (street: string) => ({ line: [street], city: 'Exampleton', postalCode: '12207-1234' });
    const phone = (value: string): fhir.ContactPoint => ({ system: 'phone', value });
    beforeAll(async () => {
      await store({
        resourceType: 'Organization',
        id: 'branch',
        name: 'Branch Clinic',
        address: [at('5 Branch Road')],
        telecom: [phone('518-555-0105')],
      });
      const insurer = { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/organization-type', code: 'pay' }] };
      await store({ resourceType: 'Organization', id: 'payer', name: 'Payer House', type: [insurer] });
      await store({
        resourceType: 'Patient',
        id: 'p2',
        name: [{ family: 'Housed' }],
        address: [at('9 Private Lane')],
        telecom: [phone('(518) 555-0109')],
      });
      const place = (id: string, more: Partial<fhir.Location>) => store({ resourceType: 'Location', id, ...more });
      await place('as-branch', { name: 'BRANCH clinic', telecom: [phone('518-555-0105')] });
      await place('at-branch', { name: 'Annex', address: at('5 branch road') });
      await place('as-payer', { name: 'Payer House' });
      await place('home-of-p2', { name: 'Home Address', address: at('9 Private Lane') });
      await place('home-in-branch', {
        name: 'Home Address',
        address: at('5 Branch Road'),
        telecom: [phone('5185550109')],
      });
      await place('home-with-type', { type: [{ text: 'Address' }], address: at('9 Private Lane') });
      await place('home-of-user', { name: 'Home Address', telecom: [phone('518-555-0177')] });
    });

    async function listed(withheld: FaultSwitches['withheld']) {
      server.faults.withheld = { PractitionerRole: 'all', Schedule: 'all', Appointment: 'all', ...withheld };
      const { grant } = await signedIn(createEndpoint(server.url), bySecret(server));
      let saved = grant;
      const saveGrant = async (changed: Grant) => {
        saved = changed;
      };
      const access = { credentials: bySecret(server), grant, saveGrant };
      const { listLocations } = fhirConnector.open(createEndpoint(server.url), access) as Operations;
      const ids = (await collect(listLocations())).map(({ ehr_id }) => ehr_id).sort();
      return { ids, findings: fhirConnector.serverFindings?.(saved) ?? [] };
    }

    test('are those with an organization or a type, or with the name or address of the practice, without homes', async () => {
      const { ids, findings } = await listed({});
      expect(ids).toEqual(['as-branch', 'at-branch', 'managed', 'typed']);
      expect(findings).toEqual([expect.stringMatching(/^Locations: the server does not show where patients are seen/)]);
    });

    test('are none of those without an organization and a type if the server lists no organizations', async () => {
      const { ids, findings } = await listed({ Organization: 'all' });
      expect(ids).toEqual(['managed', 'typed']);
      expect(findings).toHaveLength(1);
    });
  });

  test('are complete on a server that says which are used, without a finding', async () => {
    const { grant } = await signedIn(createEndpoint(server.url), bySecret(server));
    expect(fhirConnector.serverFindings?.(grant)).toEqual([]);
  });
});

describe('claims', () => {
  const storeClaim = async (more: object) => {
    await store({
      resourceType: 'Claim',
      id: 'c1',
      status: 'active',
      use: 'claim',
      created: '2026-02-03',
      patient: { reference: 'Patient/p1' },
      ...more,
    });
    return (await collect(emr.listClaims())).find(({ ehr_id }) => ehr_id === 'c1');
  };

  test('have the codes of conditions that they refer to, read in one request', async () => {
    const icd = 'http://hl7.org/fhir/sid/icd-10-cm';
    const diagnosis = [];
    for (let n = 1; n <= 3; n++) {
      const coding = [
        { system: 'http://snomed.info/sct', code: `7${n}` },
        { system: icd, code: `E11.${n}` },
      ];
      await store({ resourceType: 'Condition', id: `d${n}`, subject: { reference: 'Patient/p1' }, code: { coding } });
      diagnosis.push({ sequence: n, diagnosisReference: { reference: `Condition/d${n}` } });
    }
    const before = server.ledger.length;
    expect(await storeClaim({ diagnosis })).toMatchObject({ icd_codes: ['E11.1', 'E11.2', 'E11.3'] });
    const read = server.ledger.slice(before).filter(({ path }) => path.includes('/Condition'));
    expect(read).toHaveLength(1);
  });

  test('have only ICD codes in icd_codes and icd_pointers, and other diagnoses in a field of their own', async () => {
    const diagnosis = [
      { coding: [{ system: 'http://snomed.info/sct', code: '44054006', display: 'Diabetes' }] },
      { coding: [{ system: 'http://hl7.org/fhir/sid/icd-10-cm', code: 'I10' }] },
      { coding: [{ code: 'E11.9' }] },
      { text: 'Sore throat' },
    ].map((concept, n) => ({ sequence: n + 1, diagnosisCodeableConcept: concept }));
    const item = [{ sequence: 1, diagnosisSequence: [1, 2], productOrService: { text: 'Visit' } }];
    expect(await storeClaim({ diagnosis, item })).toMatchObject({
      icd_codes: ['I10', 'E11.9'],
      other_diagnoses: [
        { other_code: '44054006', other_code_system: 'http://snomed.info/sct', description: 'Diabetes' },
        { other_code: null, other_code_system: null, description: 'Sore throat' },
      ],
      line_items: [{ icd_pointers: ['I10'] }],
    });
    expect(await storeClaim({ diagnosis: diagnosis.slice(1, 3) })).not.toHaveProperty('other_diagnoses');
  });

  test('have only CPT and HCPCS codes as cpt_code, and others in a field of their own', async () => {
    const service = (system: string | undefined, code: string) => ({
      productOrService: { coding: [{ ...(system && { system }), code }] },
    });
    const claim = await storeClaim({
      item: [
        service('http://www.ama-assn.org/go/cpt', '99213'),
        service('https://www.cms.gov/Medicare/Coding/HCPCSReleaseCodeSets', 'G0439'),
        service('http://snomed.info/sct', '162673000'),
        service('http://hl7.org/fhir/sid/cvx', '140'),
        service(undefined, '99214'),
      ].map((item, n) => ({ sequence: n + 1, ...item })),
    });
    const codes = claim?.line_items.map(({ cpt_code, other_code, other_code_system }) => [
      cpt_code,
      other_code,
      other_code_system,
    ]);
    expect(codes).toEqual([
      ['99213', undefined, undefined],
      ['G0439', undefined, undefined],
      [null, '162673000', 'http://snomed.info/sct'],
      [null, '140', 'http://hl7.org/fhir/sid/cvx'],
      ['99214', undefined, undefined],
    ]);
  });
});

describe('patients', () => {
  test('say whether their chart is in use and whether they have died, if the server does', async () => {
    await store({
      resourceType: 'Patient',
      id: 'p2',
      name: [{ family: 'Gone' }],
      active: false,
      deceasedBoolean: true,
    });
    await store({ resourceType: 'Patient', id: 'p3', name: [{ family: 'Dated' }], deceasedDateTime: '2025-01-02' });
    const listed = new Map((await collect(emr.listPatients())).map((each) => [each.ehr_id, each]));
    expect(listed.get('p1')).toMatchObject({ chart_status: 'active' });
    expect(listed.get('p1')).not.toHaveProperty('deceased');
    expect(listed.get('p2')).toMatchObject({ chart_status: 'inactive', deceased: true });
    expect(listed.get('p3')).toMatchObject({ deceased: true });
  });

  test('patients that were merged are found as the chart they were merged into', async () => {
    const identifier = [{ type: { coding: [{ code: 'MR' }] }, value: 'OLD-1' }];
    const replaced = (id: string) => [{ type: 'replaced-by', other: { reference: `Patient/${id}` } }];
    await store({ resourceType: 'Patient', id: 'm1', identifier, link: replaced('m2') });
    await store({ resourceType: 'Patient', id: 'm2', link: replaced('p1') });
    await store({ resourceType: 'Patient', id: 'loop', link: replaced('loop') });
    await store({ resourceType: 'Patient', id: 'lost', link: replaced('nobody') });
    expect(await emr.findPatient('OLD-1')).toMatchObject({ ehr_id: 'p1' });
    for (const id of ['loop', 'lost']) {
      expect(await awaitFailure(emr.findPatient(id))).toMatchObject({ kind: 'refused', code: 'patient_not_found' });
    }
  });

  test.each([
    [[{ type: { coding: [{ code: 'PT' }] }, value: 'PT-1' }], 'PT-1'],
    [
      [
        { type: { coding: [{ code: 'PT' }] }, value: 'PT-1' },
        { type: { coding: [{ code: 'MR' }] }, value: 'MR-1' },
      ],
      'MR-1',
    ],
    [[{ use: 'usual', value: 'U-1' }], 'U-1'],
    [[], 'x'],
  ] as [fhir.Identifier[], string][])('have the MRN of %j', (identifier, mrn) => {
    expect(readMrn({ resourceType: 'Patient', id: 'x', identifier }, undefined)).toBe(mrn);
  });
});

test('insurances are included in a live fetch where the server can search coverages', async () => {
  const capabilities = async () => (await signedIn(createEndpoint(server.url), bySecret(server))).capabilities;
  expect(fhirConnector.unsupported_fields.searchPatients ?? []).not.toContain('include');
  expect(await capabilities()).toContain('searchPatients.include');
  server.faults.withheld = { Coverage: ['search-type'] };
  expect(await capabilities()).not.toContain('searchPatients.include');
});

test('a server that ignores the patient in a search does not put records into another chart', async () => {
  for (const id of ['p1', 'p2']) {
    const medicationCodeableConcept = { text: `Placebo of ${id}` };
    const subject = { reference: `Patient/${id}` };
    await store({ resourceType: 'MedicationRequest', id: `rx-${id}`, subject, medicationCodeableConcept });
    await store({ resourceType: 'Flag', id: `flag-${id}`, status: 'active', subject, code: { text: `Flag of ${id}` } });
  }
  server.faults.ignored_params = ['patient'];
  expect(await emr.listMedications('p1')).toMatchObject([{ name: 'Placebo of p1' }]);
  expect((await emr.getAlerts('p1')).global_alerts).toMatchObject([{ name: 'Flag of p1' }]);
});
