import type * as fhir from 'fhir/r4.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Api, createApi } from '../../harness/api.ts';
import { bulk_behavior } from '../../harness/fhir/bulkSwitches.ts';
import { appFor } from '../../harness/fhir/registrations.ts';
import { type FhirServer, startFhirServer } from '../../harness/fhir/startFhirServer.ts';
import { signInOperator } from '../../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { linkSteps } from '../../linking/linkSteps.ts';
import { stopScheduledSyncs } from '../support.ts';

const param = 'ah-practice';
let fixture: TestSandbox;
let server: FhirServer;
beforeAll(async () => {
  [fixture, server] = await Promise.all([
    startSandbox({ small: true, sync_after_link: false }),
    startFhirServer({ data: 'small' }),
  ]);
  for (const { id = '' } of await server.resources('Patient')) await server.remove('Patient', id);
  Object.assign(server.faults, {
    unknown_parameter: 'ignore',
    narrow: ['Patient'],
    withheld_params: { Patient: ['_id', '_lastUpdated', 'birthdate', 'active', 'name'] },
    withheld: { Appointment: 'all', Claim: 'all', ServiceRequest: 'all', Slot: 'all' },
    bulk: { ...bulk_behavior, practice_param: param, polls: 1, retry_after: '7200' },
  });
  for (const practice of ['east', 'west']) await addPatient(practice);
  const owner = await signInOperator(fixture);
  const credentials = { way: 'client_secret', ...server.clients.confidential };
  const app = appFor(server.url, credentials, { search_params: { [param]: '' } });
  expect((await owner.post('clients/{client}/emr-apps', app)).status).toBe(200);
});
afterAll(async () => {
  await fixture.close();
  await server.close();
});

async function addPatient(practice: string): Promise<void> {
  const patient: fhir.Patient = {
    resourceType: 'Patient',
    id: `patient-${practice}`,
    extension: [{ url: `https://fhir.example/StructureDefinition/${param}`, valueString: practice }],
    identifier: [{ type: { coding: [{ code: 'MR' }] }, system: 'urn:synthetic', value: `MB-${practice}` }],
    name: [{ family: 'Placeholder', given: [`Synthetic-${practice}`] }],
    gender: 'unknown',
    active: true,
  };
  await server.storeUnchecked(patient);
}

async function link(practice: string, org_id = practice): Promise<Api> {
  const steps = linkSteps(fixture);
  const search_params = { [param]: practice };
  const emr = { emr_name: 'fhir', emr_instance_domain: server.url, search_params };
  const link_token = await steps.linkToken({ user_id: org_id, org_id, ...emr });
  const linked = await steps.signIn(link_token, 0, { credentials: {}, one_time_code: undefined });
  expect(linked.status, JSON.stringify(linked.body)).toBe(200);
  const { body } = await steps.exchange(linked.body.public_token);
  await stopScheduledSyncs(fixture.owner, org_id);
  return createApi({ ...fixture.sandbox, access_token: body.token });
}

test('two practices at one address export at the same time, each its own records', async () => {
  const practices = [
    { name: 'east', api: await link('east') },
    { name: 'west', api: await link('west') },
  ];
  for (const { api } of practices) await api.sync();
  expect(server.bulk.exports).toMatchObject([
    { path: 'Patient/$export', running: true },
    { path: 'Patient/$export', running: true },
  ]);
  const kicked_off = server.ledger.filter(({ path }) => path.includes('$export'));
  expect(kicked_off.map(({ path }) => new URL(path, server.url).searchParams.get(param))).toStrictEqual([
    'east',
    'west',
  ]);
  for (const { name, api } of practices) {
    await fixture.owner`UPDATE bulk_exports SET next_at = now() - interval '1 second'`;
    await api.sync();
    const listed = await api.call('GET', '/v1/patients');
    expect(listed.body.patients.map(({ ehr_id }: { ehr_id: string }) => ehr_id)).toStrictEqual([`patient-${name}`]);
  }
  expect(server.bulk.exports.filter(({ running }) => running)).toStrictEqual([]);
});

test('another organization of the same practice waits for the export that is running', async () => {
  const before = server.bulk.exports.length;
  const [first, second] = [await link('north'), await link('north', 'north-2')];
  await first.sync();
  await second.sync();
  expect(server.bulk.exports).toHaveLength(before + 1);
  const rows = await fixture.owner`SELECT target, state FROM bulk_exports WHERE state NOT IN ('done', 'failed')`;
  expect(rows).toStrictEqual([{ target: `Patient?${param}=north`, state: 'running' }]);
});
