import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { scoreCard } from '../../src/connectors/contract/scoreCard.ts';
import { certify, type World } from '../../src/connectors/contract.ts';
import { fhir } from '../../src/connectors/fhir/fhir.ts';
import { larkspur } from '../../src/connectors/larkspur/larkspur.ts';
import { createOutbound } from '../../src/security/outbound.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import { openPlace, type Place } from './place.ts';

const outbound = createOutbound({ sandbox: true, allow: [] });

/** The promises that are broken; the whole card is printed. */
async function brokenIn(title: string, world: Omit<World, 'outbound' | 'writes'>): Promise<string[]> {
  const verdicts = await certify({ ...world, outbound, writes: true });
  process.stdout.write(`\n${scoreCard(title, verdicts)}`);
  return verdicts.filter(({ outcome }) => outcome === 'broken').map(({ check, reason }) => `${check.id}: ${reason}`);
}

describe('Larkspur', () => {
  let place: Place;
  beforeAll(async () => {
    place = await openPlace();
  });
  afterAll(() => place.close());

  test('keeps every promise of the contract', { timeout: 300_000 }, async () => {
    const expire = (mode: string) => async () => void (await place.control('POST', '/sessions/expire', { mode }));
    const broken = await brokenIn('Larkspur', {
      connector: larkspur,
      address: place.emr.url,
      credentials: place.credentials,
      one_time_code: place.code,
      patient_mrn: place.emr.example.patient_mrn,
      counts: { listProviders: 8, listStaff: 12, listLocations: 3, listPatients: 200 },
      endSession: expire('session'),
      endLink: expire('link'),
    });
    expect(broken).toEqual([]);
  });
});

describe('a FHIR server', () => {
  let server: FhirServer;
  beforeAll(async () => {
    server = await startFhirServer({ data: 'paged' });
  });
  afterEach(() => server.calm());
  afterAll(() => server.close());

  function world(): Omit<World, 'outbound' | 'writes'> {
    const { client_id, client_secret } = server.clients.confidential;
    return {
      connector: fhir,
      address: server.url,
      credentials: { way: 'client_secret', client_id, client_secret },
      counts: { listPatients: 120, listClaims: 450 },
      endSession: async () => server.expireTokens('access'),
      endLink: async () => {
        server.register({ client_id, client_secret: 'another one' });
        server.expireTokens('all');
      },
    };
  }

  test('keeps every promise of the contract', { timeout: 300_000 }, async () => {
    expect(await brokenIn('FHIR R4', world())).toEqual([]);
  });
});
