import type * as fhir from 'fhir/r4.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { requestDueSyncs } from '../../src/product/records/syncPasses.ts';
import { type Api, createApi } from '../harness/api.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { linkSteps } from '../linking/linkSteps.ts';
import { endPauses, stopScheduledSyncs, until } from './support.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());

/** The organization of the running test. */
let org_id: string;

/** Links an account of the server and returns the API of that account. The first sync starts by itself. */
async function link(server: FhirServer): Promise<Api> {
  const steps = linkSteps(fixture);
  const token = await steps.linkToken({ org_id, emr_name: 'fhir', emr_instance_domain: server.url });
  const credentials = { way: 'client_secret', ...server.clients.confidential };
  const { body } = await steps.signIn(token, 0, { credentials, one_time_code: undefined });
  const access_token = (await steps.exchange(body.public_token)).body.token;
  return createApi({ ...fixture.sandbox, access_token });
}

async function organizationId(): Promise<string> {
  const [row] = await fixture.owner<{ id: string }[]>`SELECT id FROM organizations WHERE org_id = ${org_id}`;
  if (!row) throw new Error('The organization does not exist.');
  return row.id;
}

/** The newest sync of the organization. */
async function lastSync() {
  const [row] = await fixture.owner<{ id: number; state: string; error: unknown }[]>`
    SELECT jobs.id::int, jobs.state, jobs.error FROM jobs JOIN organizations ON organizations.id = jobs.organization_id
     WHERE org_id = ${org_id} AND type = 'sync' ORDER BY jobs.id DESC LIMIT 1`;
  return row;
}

async function untilSynced(after = 0): Promise<number> {
  const done = await until(
    'the sync',
    async () => {
      const job = await lastSync();
      return job && job.id > after && job.state === 'succeeded' && job;
    },
    150_000,
  );
  return done.id;
}

/** Runs a scheduled sync, which reads only changes. */
async function runScheduledSync(): Promise<void> {
  const before = (await lastSync())?.id ?? 0;
  await fixture.owner`UPDATE organizations SET next_sync_at = now() - interval '1 second' WHERE org_id = ${org_id}`;
  await requestDueSyncs(fixture.ctx);
  await untilSynced(before);
}

const searches = (server: FhirServer, type: string) =>
  server.ledger.map(({ path }) => decodeURIComponent(path)).filter((path) => path.startsWith(`/fhir/R4/${type}?`));

describe('a practice on a FHIR server', () => {
  let server: FhirServer;
  let api: Api;
  beforeAll(async () => {
    org_id = 'meadowbrook';
    server = await startFhirServer({ data: 'small' });
    api = await link(server);
    await untilSynced();
  });
  afterAll(async () => {
    await stopScheduledSyncs(fixture.owner, org_id);
    await server.close();
  });

  const patients = async () => (await api.call('GET', '/v1/patients?page_size=1000')).body.patients;
  const patient = async (ehr_id: string) => (await api.call('GET', `/v1/patients?ehr_id=${ehr_id}`)).body.patients[0];
  const change = async <T extends fhir.FhirResource>(type: T['resourceType'], id: string, more: Partial<T>) => {
    const resource = (await server.resources<T>(type)).find((each) => each.id === id);
    const { meta: _meta, ...rest } = { ...resource, ...more } as T;
    await server.storeUnchecked(rest as T);
  };

  test('is synced completely', async () => {
    const total = async (type: fhir.FhirResource['resourceType']) => (await server.resources(type as 'Patient')).length;
    expect(await patients()).toHaveLength(await total('Patient'));
    const claims = await api.call('GET', '/v1/claims?page_size=1000');
    expect(claims.body.claims).toHaveLength(await total('Claim'));
    for (const list of ['providers', 'staff']) {
      expect((await api.call('GET', `/v1/${list}`)).body[list]).toHaveLength(await total('Practitioner'));
    }
    // One location neither belongs to the practice nor is used by it.
    expect((await api.call('GET', '/v1/locations')).body.locations).toHaveLength((await total('Location')) - 1);
  });

  test('is asked only for changes by a scheduled sync, which also adds new records', async () => {
    await change<fhir.Patient>('Patient', 'pat-1', { birthDate: '1981-04-13' });
    await server.storeUnchecked({
      resourceType: 'Patient',
      id: 'pat-new',
      name: [{ family: 'Added', given: ['Nova'] }],
    });
    const before = await patients();
    server.ledger.length = 0;
    await runScheduledSync();
    for (const type of ['Patient', 'Appointment', 'Claim', 'ServiceRequest']) {
      // A request for one record probes whether the server supports the list.
      const requested = searches(server, type).filter((path) => !path.includes('_id=') && !path.endsWith('?_count=20'));
      expect(requested.length, type).toBeGreaterThan(0);
      expect(
        requested.every((path) => path.includes('_lastUpdated=ge')),
        type,
      ).toBe(true);
    }
    expect(await patient('pat-1')).toMatchObject({ dob: '1981-04-13' });
    expect(await patient('pat-new')).toMatchObject({ last_name: 'Added' });
    const after = new Map((await patients()).map((each: { id: string; ehr_id: string }) => [each.ehr_id, each.id]));
    for (const { id, ehr_id } of before) expect(after.get(ehr_id)).toBe(id);
  });

  test('loses a chart that was merged into another one with the next scheduled sync, not only with a full one', async () => {
    await server.storeUnchecked({ resourceType: 'Patient', id: 'pat-double', name: [{ family: 'Double' }] });
    await runScheduledSync();
    expect(await patient('pat-double')).toMatchObject({ last_name: 'Double' });
    const link: fhir.PatientLink[] = [{ other: { reference: 'Patient/pat-1' }, type: 'replaced-by' }];
    await change<fhir.Patient>('Patient', 'pat-double', { active: false, link });
    await runScheduledSync();
    expect(await patient('pat-double')).toBeUndefined();
    expect(await patient('pat-1')).toMatchObject({ ehr_id: 'pat-1' });
    await server.remove('Patient', 'pat-double');
  });

  test('updates a patient whose insurance changed, although the patient did not', async () => {
    await change<fhir.Coverage>('Coverage', 'cov-2', { subscriberId: 'CHANGED-2' });
    await runScheduledSync();
    expect(await patient('pat-2')).toMatchObject({ insurance_subscriber_number: 'CHANGED-2' });
  });

  test('updates a claim that got a response, although the claim did not change', async () => {
    const claims = await server.resources<fhir.Claim>('Claim');
    const responses = await server.resources<fhir.ClaimResponse>('ClaimResponse');
    const benefits = await server.resources<fhir.ExplanationOfBenefit>('ExplanationOfBenefit');
    const adjudicated = [...responses.map(({ request }) => request), ...benefits.map(({ claim }) => claim)];
    const open = claims.find(({ id }) => !adjudicated.some((each) => each?.reference === `Claim/${id}`));
    if (!open?.id) throw new Error('Every claim has a response.');
    await server.storeUnchecked({
      resourceType: 'ClaimResponse',
      id: 'late-response',
      status: 'active',
      type: open.type,
      use: 'claim',
      patient: open.patient,
      created: '2026-02-01',
      insurer: { display: 'Mock Mutual' },
      request: { reference: `Claim/${open.id}` },
      outcome: 'complete',
      payment: { type: {}, amount: { value: 12.34, currency: 'USD' } },
    });
    await runScheduledSync();
    const { body } = await api.call('GET', '/v1/claims?page_size=1000');
    const claim = body.claims.find((each: { emr_claim_id: string }) => each.emr_claim_id === open.id);
    expect(claim).toMatchObject({ total_payment: 12.34, payments: [{ amount: 12.34, payer_name: 'Mock Mutual' }] });
  });

  test('keeps the records of a list that the account may no longer read, and syncs the others', async () => {
    const before = (await api.call('GET', '/v1/claims')).body.pagination.total_count;
    server.faults.forbidden = ['Claim'];
    await change<fhir.Patient>('Patient', 'pat-3', { birthDate: '1999-09-09' });
    const { body } = await api.call('POST', '/v1/sync');
    const event = await api.untilEvent(body.job_id);
    expect(event.event_type).toBe('sync.completed');
    expect(event.data.records).not.toHaveProperty('claims');
    expect(await patient('pat-3')).toMatchObject({ dob: '1999-09-09' });
    const { timeline } = await api.job(body.job_id);
    expect(timeline.find(({ step }: { step: string }) => step === 'capabilities')?.detail).toStrictEqual({
      gained: [],
      lost: ['listClaims'],
    });
    // Not an empty list: the client learns that it cannot be read.
    expect(await api.call('GET', '/v1/claims')).toMatchObject({ status: 400, body: { code: 'operation_not_offered' } });
    server.reset();
    await api.sync();
    expect((await api.call('GET', '/v1/claims')).body.pagination.total_count).toBe(before);
  });

  test('is asked for its capabilities by every sync, and the timeline lists what changed', async () => {
    const capabilities = async () => (await api.call('GET', '/v1/settings')).body.data.capabilities as string[];
    const before = await capabilities();
    server.faults.withheld = { DocumentReference: 'all', Patient: ['update'] };
    const lost = before.filter((name) =>
      /^(updatePatient|uploadDocument|listAddedDocuments|addVisitNote|addReferralDocument)(\.|$)|^(addPatientPharmacy|setResponsibleParty)$/.test(
        name,
      ),
    );
    expect(lost).toEqual(expect.arrayContaining(['updatePatient', 'updatePatient.pcp_id', 'uploadDocument']));
    const less = await api.sync();
    expect(await capabilities()).toStrictEqual(before.filter((name) => !lost.includes(name)));
    expect(
      (await api.call('PATCH', `/v1/patients/${(await patients())[0].id}`, { body: { sex: 'male' } })).status,
    ).toBe(400);
    const capabilityStep = async (job_id: number) =>
      (await api.job(job_id)).timeline.find(({ step }: { step: string }) => step === 'capabilities');
    expect((await capabilityStep(less))?.detail).toStrictEqual({
      gained: [],
      lost: expect.toSatisfy((names) => names.sort().join() === lost.sort().join()),
    });
    server.reset();
    // An unreadable capability statement changes nothing and does not stop the sync.
    for (const kind of ['html_500', 'not_fhir', 'forbidden'] as const) {
      server.fail({ kind, path: '/metadata' });
      expect((await capabilityStep(await api.sync()))?.detail).toHaveProperty('refused');
      expect(await capabilities()).not.toContain('uploadDocument');
    }
    server.expireTokens('access');
    await api.sync();
    expect(await capabilities()).toStrictEqual(before);
    expect(await capabilityStep(await api.sync()), 'no change').toBeUndefined();
  });

  test('costs one request per list while nothing changes', async () => {
    await runScheduledSync();
    // Changes of the last 15 minutes are read again, and the tests above made some.
    await fixture.owner`UPDATE sync_passes SET synced_as_of = now() + interval '16 minutes'
      WHERE organization_id = ${await organizationId()}`;
    server.ledger.length = 0;
    await runScheduledSync();
    const requested = server.ledger.map(({ path }) => path.replace(/[?].*/, '').replace('/fhir/R4/', ''));
    // Coverages belong to patients and are a list of their own; orders and referrals are the same type of resource.
    const repeated = requested.filter((type, n) => requested.indexOf(type) !== n);
    expect(repeated, requested.join()).toStrictEqual(['Coverage', 'ServiceRequest']);
    expect(requested.length).toBeLessThanOrEqual(19);
    expect(requested).toEqual(expect.arrayContaining(['metadata', 'Practitioner', 'Slot', 'Patient', 'Organization']));
  });

  test('updates a provider whose slots changed, although the provider did not', async () => {
    const slots = await server.resources<fhir.Slot>('Slot');
    const hours = async () => JSON.stringify((await api.call('GET', '/v1/providers')).body.providers);
    const before = await hours();
    const free = slots.filter(({ status, start }) => status === 'free' && Date.parse(start) > Date.now() + 86_400_000);
    for (const slot of free.slice(0, 3)) await change<fhir.Slot>('Slot', slot.id ?? '', { status: 'busy' });
    server.ledger.length = 0;
    await runScheduledSync();
    expect(await hours()).not.toBe(before);
    // Blocked time is read as a whole then, but not every list of practitioners.
    expect(searches(server, 'Practitioner').filter((path) => !/_lastUpdated|_id/.test(path))).toHaveLength(1);
  });

  test('finds deletions within an hour without reading the whole list, and by a requested sync', async () => {
    await server.remove('Patient', 'pat-new');
    await runScheduledSync();
    expect(await patient('pat-new')).toBeDefined();
    const passed = (minutes: number) => fixture.owner`UPDATE sync_passes
      SET full_as_of = full_as_of - make_interval(mins => ${minutes}), presence_as_of = presence_as_of - make_interval(mins => ${minutes})`;
    await passed(46);
    await server.remove('Location', 'loc-3');
    server.ledger.length = 0;
    await runScheduledSync();
    expect(await patient('pat-new')).toBeUndefined();
    const listed = searches(server, 'Patient').filter((path) => !/_lastUpdated|_id=/.test(path));
    expect(listed.every((path) => path.includes('_elements=id'))).toBe(true);
    expect(listed.length).toBeGreaterThan(0);
    const { locations } = (await api.call('GET', '/v1/locations')).body;
    expect(locations.map(({ ehr_id }: { ehr_id: string }) => ehr_id)).not.toContain('loc-3');
    await server.remove('Patient', 'pat-10');
    await api.sync();
    expect(await patient('pat-10')).toBeUndefined();
    expect(await patients()).toHaveLength((await server.resources('Patient')).length);
  });

  test('reads everything once a day', async () => {
    await fixture.owner`UPDATE sync_passes SET full_as_of = full_as_of - interval '25 hours'
      WHERE organization_id = ${await organizationId()} AND kind = 'patients'`;
    server.ledger.length = 0;
    await runScheduledSync();
    expect(
      searches(server, 'Patient').some((path) => path.includes('_sort=') && !path.includes('_lastUpdated=ge')),
    ).toBe(true);
  });

  test('continues from the last complete sync after the account was re-linked', async () => {
    await fixture.owner`UPDATE sync_passes SET synced_as_of = synced_as_of - interval '3 days'
      WHERE organization_id = ${await organizationId()}`;
    await runScheduledSync();
    const before = (await lastSync())?.id ?? 0;
    server.ledger.length = 0;
    await link(server);
    await untilSynced(before);
    // Probes search for a known record.
    const since = searches(server, 'Appointment')
      .filter((path) => !path.includes('_id='))
      .map((path) => /_lastUpdated=ge([^&]+)/.exec(path)?.[1])
      .find((instant) => instant !== undefined);
    expect(Date.parse(since ?? '')).toBeGreaterThan(Date.now() - 20 * 60_000);
  });
});

test('10,000 patients are read page by page, and an interrupted sync resumes where it stopped', async () => {
  org_id = 'large-practice';
  const server = await startFhirServer({ data: 'none' });
  const total = 10_000;
  for (let n = 0; n < total; n++) {
    // One per second from midnight on.
    const lastUpdated = new Date(Date.parse('2026-01-01T00:00:00Z') + n * 1000).toISOString();
    const name = [{ family: 'Manyson', given: [`N${n}`] }];
    await server.storeUnchecked({ resourceType: 'Patient', id: `many-${n}`, name, meta: { lastUpdated } });
  }
  server.fail({ kind: 'error_500', method: 'GET', path: '_lastUpdated=ge2026-01-01T01%3A' });
  const api = await link(server);
  const failed = await until(
    'the sync to be interrupted',
    async () => {
      const job = await lastSync();
      return job?.error ? job : undefined;
    },
    120_000,
  );
  const storedPatients = async () => {
    const [row] = await fixture.owner<{ n: number }[]>`SELECT count(*)::int AS n FROM patients
      WHERE organization_id = ${await organizationId()}`;
    return row?.n ?? 0;
  };
  expect(await storedPatients()).toBeGreaterThan(3000);
  expect(await storedPatients()).toBeLessThan(total);
  await endPauses(fixture.owner);
  expect(await untilSynced()).toBe(failed.id);
  expect(await storedPatients()).toBe(total);
  // What was read before the fault is not read again.
  const requested = searches(server, 'Patient').filter((path) => path.includes('_sort='));
  expect(requested.filter((path) => !path.includes('_lastUpdated='))).toHaveLength(1);
  expect(requested.filter((path) => path.includes('ge2026-01-01T00:13:')).length).toBeLessThanOrEqual(1);
  const { timeline } = await api.job(failed.id);
  const progress = timeline.filter(({ step, name = step }: { step?: string; name?: string }) => name === 'patients');
  expect(progress.length).toBeGreaterThan(5);
  await stopScheduledSyncs(fixture.owner, org_id);
  await server.close();
});

test('a server that lists homes as locations shows none of them, and the connection report says why', async () => {
  org_id = 'homes';
  const server = await startFhirServer();
  server.faults.withheld = { PractitionerRole: 'all', Schedule: 'all', Appointment: 'all' };
  const address = { line: ['9 Private Lane'], city: 'Exampleton', postalCode: '12207' };
  await server.storeUnchecked({ resourceType: 'Organization', id: 'clinic', name: 'Meadow Clinic' });
  await server.storeUnchecked({ resourceType: 'Patient', id: 'p', name: [{ family: 'Housed' }], address: [address] });
  await server.storeUnchecked({ resourceType: 'Location', id: 'clinic', name: 'Meadow Clinic' });
  await server.storeUnchecked({ resourceType: 'Location', id: 'home', name: 'Home Address', address });
  const api = await link(server);
  await untilSynced();
  const { locations } = (await api.call('GET', '/v1/locations')).body;
  expect(locations.map(({ name }: { name: string }) => name)).toStrictEqual(['Meadow Clinic']);
  const { body } = await api.call('GET', '/v1/account/connection-report');
  expect(body.data.findings).toContainEqual(expect.stringContaining('may be homes of patients'));
  await stopScheduledSyncs(fixture.owner, org_id);
  await server.close();
});
