import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Api } from '../harness/api.ts';
import { linkFhir } from '../harness/fhir/linkFhir.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import { newOperator, signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { stopScheduledSyncs, until } from './support.ts';

let fixture: TestSandbox;
let operator: TestOperator;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  operator = await signInOperator(fixture);
});
afterAll(() => fixture.close());

async function organization(org_id: string) {
  const { body } = await operator.get('clients/{client}/accounts');
  return body.organizations.find((each: { org_id: string }) => each.org_id === org_id);
}

const readNote = async (api: Api, job_id: number, list: string) =>
  (await api.job(job_id)).timeline.filter(({ step }: { step: string }) => step === list).at(-1)?.detail;

const confirm = async (org_id: string, kind: string, by: TestOperator = operator) =>
  by.post(`clients/{client}/organizations/${(await organization(org_id)).id}/removals/${kind}/confirm`);

describe('a list of Larkspur that lost too many records at once', () => {
  const count = async () => (await fixture.api.call('GET', '/v1/pharmacies')).body.pharmacies.length;
  const readHeld = async () => (await organization(fixture.sandbox.org_id)).held_removals;

  test('keeps them, and the sync succeeds with a warning', async () => {
    const { body } = await fixture.api.call('GET', '/v1/pharmacies');
    const ids: string[] = body.pharmacies.map(({ ehr_id }: { ehr_id: string }) => ehr_id);
    expect(ids.length).toBe(15);
    for (const id of ids.slice(0, 11)) await fixture.api.control('DELETE', `/control/pharmacies/${id}`);
    const job_id = await fixture.api.sync();
    expect(await count()).toBe(15);
    expect(await readNote(fixture.api, job_id, 'pharmacies')).toStrictEqual({
      stored: 4,
      removed: 0,
      held_back: { stored: 15, missing: 11 },
    });
    expect(await readHeld()).toStrictEqual([
      { kind: 'pharmacies', stored: 15, missing: 11, at: expect.any(String), confirmed: false },
    ]);
    expect(await fixture.ctx.metrics.registry.metrics()).toContain(
      'chartwire_removals_held_back_total{kind="pharmacies"} 1',
    );
  });

  test('keeps them in every later sync until an operator confirms', async () => {
    await fixture.api.sync();
    expect(await count()).toBe(15);
  });

  test('is confirmed only by an operator, and only if something is held back', async () => {
    const reader = await newOperator(fixture, 'read_only');
    expect((await confirm(fixture.sandbox.org_id, 'pharmacies', reader)).status).toBe(403);
    expect((await confirm(fixture.sandbox.org_id, 'staff')).status).toBe(404);
    expect((await readHeld())[0].confirmed).toBe(false);
  });

  test('is applied by the next sync after the confirmation, which is audited', async () => {
    const response = await confirm(fixture.sandbox.org_id, 'pharmacies');
    expect(response.status).toBe(200);
    const records = await fixture.owner`SELECT detail FROM audit_records
      WHERE request_id = ${response.headers.get('x-request-id')}`;
    expect([...records]).toStrictEqual([{ detail: expect.objectContaining({ kind: 'pharmacies', missing: 11 }) }]);
    await until('the removals', async () => (await count()) === 4);
    await until('the mark to be removed', async () => (await readHeld()).length === 0);
  });

  test('does not hold back a few records of a list', async () => {
    const { body } = await fixture.api.call('GET', '/v1/staff');
    await fixture.api.control('DELETE', `/control/staff/${body.staff.at(-1).ehr_id}`);
    await fixture.api.sync();
    expect((await fixture.api.call('GET', '/v1/staff')).body.staff).toHaveLength(body.staff.length - 1);
    expect(await readHeld()).toStrictEqual([]);
  });
});

describe('a list of a FHIR server that comes back empty', () => {
  const org_id = 'vanishing-clinic';
  let server: FhirServer;
  let api: Api;
  beforeAll(async () => {
    server = await startFhirServer({ data: 'small' });
    api = await linkFhir(fixture, server, { user_id: 'vanishing', org_id });
    await api.sync();
  });
  afterAll(async () => {
    await stopScheduledSyncs(fixture.owner, org_id);
    await server.close();
  });
  const patients = async () => (await api.call('GET', '/v1/patients')).body.pagination.total_count;

  test('keeps the cached records of an incremental list and of a short one', async () => {
    const before = await patients();
    const locations = (await api.call('GET', '/v1/locations')).body.locations;
    server.faults.hidden = ['Patient', 'Location'];
    const job_id = await api.sync();
    expect(await readNote(api, job_id, 'patients')).toMatchObject({ held_back: { stored: before, missing: before } });
    expect(await patients()).toBe(before);
    expect((await api.call('GET', '/v1/locations')).body.locations).toStrictEqual(locations);
    const kinds = (await organization(org_id)).held_removals.map(({ kind }: { kind: string }) => kind);
    expect(kinds).toEqual(expect.arrayContaining(['locations', 'patients']));
  });

  test('removes nothing after a confirmation of less than what is missing then', async () => {
    server.reset();
    const all = await server.resources('Patient');
    await fixture.owner`UPDATE sync_passes SET held_missing = 1
      WHERE kind = 'patients' AND organization_id = (SELECT id FROM organizations WHERE org_id = ${org_id})`;
    server.faults.hidden = ['Patient'];
    expect((await confirm(org_id, 'patients')).status).toBe(200);
    await api.sync();
    expect(await patients()).toBeGreaterThanOrEqual(all.length);
    // Orders without their patients are left out, so their list is shorter too.
    expect((await organization(org_id)).held_removals).toEqual(
      expect.arrayContaining([expect.objectContaining({ kind: 'patients', confirmed: false })]),
    );
  });

  test('is no longer held back once the list is complete again', async () => {
    server.reset();
    await api.sync();
    expect((await organization(org_id)).held_removals).toStrictEqual([]);
  });
});
