import type * as fhir from 'fhir/r4.js';
import { describe, expect, test } from 'vitest';
import { fhir as fhirConnector } from '../../../../src/emr/fhir/fhir.ts';
import { createClient } from '../../../../src/emr/fhir/transport/client.ts';
import { collect } from '../../../../src/emr/operations/operation.ts';
import type { Operations } from '../../../../src/emr/operations/operations.ts';
import { sharedFhirServer } from '../../../harness/fhir/sharedFhirServer.ts';
import { awaitFailure, createEndpoint } from '../../larkspur/fixture.ts';
import { bySecret, linkedClient, signedIn } from '../fixture.ts';

const server = sharedFhirServer({ data: 'small' });

/** The operations and facts of an account that is linked now. */
async function link() {
  const { access, client } = await linkedClient(server);
  const { capabilities = [] } = await signedIn(createEndpoint(server.url), bySecret(server));
  // A test that uses an unsupported operation fails.
  const emr = fhirConnector.open(createEndpoint(server.url), access) as Operations;
  return { access, client, capabilities, emr, facts: JSON.parse(access.grant.server ?? '{}') };
}

describe('a server that finds nothing if a search has a parameter it does not handle', () => {
  test('is read completely without _count and _sort', async () => {
    server.faults.useless_params = ['_count', '_sort'];
    const { emr, facts } = await link();
    expect(facts.useless_params.Patient).toEqual(['_count', '_sort']);
    expect(facts.working_params.Patient).toEqual(expect.arrayContaining(['_id', '_lastUpdated', 'identifier']));
    const ids = async (list: AsyncIterable<{ ehr_id: string }[]>) =>
      new Set((await collect(list)).map(({ ehr_id }) => ehr_id));
    expect(await ids(emr.listPatients())).toHaveProperty('size', (await server.resources('Patient')).length);
    expect(await ids(emr.listClaims())).toHaveProperty('size', (await server.resources('Claim')).length);
    expect(await ids(emr.listProviders())).toHaveProperty('size', (await server.resources('Practitioner')).length);
    expect(await ids(emr.listPatients({ since: '2000-01-01T00:00:00Z' }))).not.toHaveProperty('size', 0);
    expect(await emr.searchPatients({ mrn: 'MB100001' })).toHaveLength(1);
  });

  test('is not asked for changes if _lastUpdated is such a parameter', async () => {
    server.faults.useless_params = ['_lastUpdated'];
    const { emr } = await link();
    expect(emr.listPatients.incremental).toBeUndefined();
    expect(await collect(emr.listPatients())).toHaveLength((await server.resources('Patient')).length);
  });

  test.each(['identifier', 'birthdate', 'family', 'given'])(
    'never answers a patient search with nobody because of %s, which is not used',
    async (param) => {
      const { emr: before } = await link();
      const [patient] = await before.searchPatients({ mrn: 'MB100001' });
      const { first_name = '', last_name = '', dob } = patient ?? {};
      server.faults.useless_params = [param];
      const { capabilities, client, emr } = await link();
      expect(capabilities).toContain('listPatients');
      // By what is left of the criteria, or not at all.
      const searches = [{ mrn: 'MB100001' }, { first_name, last_name }, { dob: dob ?? '' }];
      const results = await Promise.allSettled(searches.map((search) => emr.searchPatients(search)));
      const refused = results.filter(({ status }) => status === 'rejected');
      expect(refused).toHaveLength({ identifier: 1, birthdate: 1 }[param] ?? 0);
      for (const each of results) {
        if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'not_supported' });
        else expect(each.value.map(({ ehr_id }) => ehr_id)).toContain(patient?.ehr_id);
      }
      const failure = await awaitFailure(client.searchAll<fhir.Patient>('Patient', { [param]: 'x' }));
      expect(failure).toMatchObject({ kind: 'refused', code: 'not_supported' });
    },
  );

  test('is probed with a patient of another record if patients are listed by criteria only', async () => {
    server.faults.useless_params = ['identifier'];
    server.faults.narrow = ['Patient'];
    const { capabilities, facts } = await link();
    expect(facts.useless_params.Patient).toContain('identifier');
    expect(capabilities).not.toContain('findPatient');
  });

  test('does not make a lost create look as if it had not arrived', async () => {
    server.faults.useless_params = ['identifier'];
    const { client } = await link();
    expect(client.canFind('Patient')).toBe(false);
    expect(client.canFind('DocumentReference')).toBe(false);
    expect(await awaitFailure(client.findByMarker('Patient', 'a-marker'))).toMatchObject({ kind: 'unknown_outcome' });
  });

  test('does not change what an ordinary server offers', async () => {
    const { facts, capabilities } = await link();
    expect(Object.values(facts.useless_params as Record<string, string[]>).flat()).toEqual([]);
    expect(capabilities).toEqual(expect.arrayContaining(['searchPatients', 'listScheduleBlocks', 'listClaims']));
  });
});

describe('a parameter that stops working, or was never probed', () => {
  const unprobed = async () => {
    const { access } = await linkedClient(server);
    const { useless_params: _useless, working_params: _working, ...facts } = JSON.parse(access.grant.server ?? '{}');
    const saved: string[] = [];
    const grant = { ...access.grant, server: JSON.stringify(facts) };
    const saveGrant = async (renewed: Record<string, string>) => void saved.push(renewed.server ?? '');
    return { client: createClient(createEndpoint(server.url), { ...access, grant, saveGrant }), saved };
  };

  test('is noticed when a search by it finds nothing, and remembered', async () => {
    const { client, saved } = await unprobed();
    server.faults.useless_params = ['birthdate'];
    const search = () => client.searchAll<fhir.Patient>('Patient', { birthdate: 'ge1900-01-01' });
    expect(await awaitFailure(search())).toMatchObject({ kind: 'refused', code: 'not_supported' });
    expect(saved.at(-1)).toContain('"useless_params":{"Patient":["birthdate"]}');
    const before = server.ledger.length;
    expect(await awaitFailure(search())).toMatchObject({ code: 'not_supported' });
    expect(server.ledger.length, 'not asked again').toBe(before);
  });

  test('still means nothing found if it finds other records', async () => {
    const { client } = await unprobed();
    expect(await client.searchAll<fhir.Patient>('Patient', { birthdate: 'ge2999-01-01' })).toEqual([]);
  });

  test('does not empty a list, even if it worked at linking', async () => {
    const { emr } = await link();
    server.faults.useless_params = ['_count'];
    expect(await collect(emr.listLocations())).not.toHaveLength(0);
  });

  test('is used again once a refresh sees it work', async () => {
    server.faults.useless_params = ['family'];
    const { access } = await linkedClient(server);
    server.reset();
    const refreshed = await fhirConnector.refreshCapabilities?.(createEndpoint(server.url), access);
    expect(refreshed?.capabilities).toContain('searchPatients');
  });
});

test('probing at linking is time-bounded, and the rest is probed with the next sync', async () => {
  server.faults.latency_ms = 700;
  const { access } = await linkedClient(server);
  // It ended before everything was probed.
  expect(JSON.parse(access.grant.server ?? '{}')).not.toHaveProperty('probed_at');
  server.reset();
  const refreshed = await fhirConnector.refreshCapabilities?.(createEndpoint(server.url), access);
  expect(JSON.parse(refreshed?.grant.server ?? '{}')).toHaveProperty('probed_at');
});

test('a type that the account may not read is not listed', async () => {
  server.faults.forbidden = ['Claim'];
  const { capabilities, client } = await link();
  expect(capabilities).not.toContain('listClaims');
  expect(capabilities).toContain('listPatients');
  const failure = await awaitFailure(client.searchAll('Claim', {}));
  expect(failure).toMatchObject({ kind: 'refused', code: 'not_permitted', not_offered: true });
});
