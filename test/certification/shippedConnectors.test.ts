import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type CertificationTarget, certify } from '../../src/certification/certify.ts';
import { formatReport } from '../../src/certification/report.ts';
import { fhir } from '../../src/connectors/fhir/fhir.ts';
import { larkspur } from '../../src/connectors/larkspur/larkspur.ts';
import { createOutbound } from '../../src/security/outbound.ts';
import { type LarkspurFixture, openFixture } from '../connectors/larkspur/fixture.ts';
import { type FaultSwitches, type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';

/** What a server withholds that can only be read. */
const readable: FaultSwitches['withheld'] = Object.fromEntries(
  ['Patient', 'Coverage', 'RelatedPerson', 'Appointment', 'DocumentReference', 'Binary'].map((type) => [
    type,
    ['create', 'update'] as const,
  ]),
);

const outbound = createOutbound({ sandbox: true, allow: [] });

/** The promises that are broken. The card is printed: the whole of it, or its first line. */
async function brokenIn(
  title: string,
  world: Omit<CertificationTarget, 'outbound' | 'writes'>,
  shown: 'whole' | 'first line' = 'whole',
): Promise<string[]> {
  const results = await certify({ ...world, outbound, writes: true });
  const card = formatReport(title, results);
  process.stdout.write(shown === 'whole' ? `\n${card}` : `${card.split('\n')[0]}\n`);
  return results.filter(({ outcome }) => outcome === 'broken').map(({ check, reason }) => `${check.id}: ${reason}`);
}

describe('Larkspur', () => {
  let place: LarkspurFixture;
  beforeAll(async () => {
    place = await openFixture();
  });
  afterAll(() => place.close());

  test('keeps every promise of the contract', { timeout: 300_000 }, async () => {
    const expire = (mode: string) => async () => void (await place.control('POST', '/sessions/expire', { mode }));
    const fail = await brokenIn('Larkspur', {
      connector: larkspur,
      address: place.emr.url,
      credentials: place.credentials,
      one_time_code: place.code,
      patient_mrn: place.emr.example.patient_mrn,
      counts: { listProviders: 8, listStaff: 12, listLocations: 3, listPatients: 200 },
      endSession: expire('session'),
      endLink: expire('link'),
    });
    expect(fail).toEqual([]);
  });
});

describe('a FHIR server', () => {
  let server: FhirServer;
  afterEach(() => server.close());

  function world(): Omit<CertificationTarget, 'outbound' | 'writes'> {
    const { client_id, client_secret } = server.clients.confidential;
    return {
      connector: fhir,
      address: server.url,
      credentials: { way: 'client_secret', client_id, client_secret },
      endSession: async () => server.expireTokens('access'),
      endLink: async () => {
        server.register({ client_id, client_secret: 'another one' });
        server.expireTokens('all');
      },
    };
  }

  test('keeps every promise of the contract', { timeout: 300_000 }, async () => {
    server = await startFhirServer({ data: 'paged' });
    const counts = { listPatients: 120, listClaims: 450 };
    expect(await brokenIn('FHIR R4', { ...world(), counts })).toEqual([]);
  });

  test.for<[string, Partial<FaultSwitches>]>([
    ['answers a create without a body', { create_answer: 'empty' }],
    ['answers a create with a text', { create_answer: 'not_fhir', etag: 'strong' }],
    [
      'gives lists as collections without a total or pages',
      { paging: 'whole', total: false, bundle_type: 'collection' },
    ],
    [
      'links pages by the query alone and refuses what it does not know',
      { paging: 'relative_links', unknown_parameter: 'refuse' },
    ],
    ['finds nothing by a day', { day_matches_nothing: true }],
    ['takes one create at a time', { one_create_at_a_time: true }],
    ['has no conditional create', { conditional_create: false }],
    ['has no search by identifier', { search_by_identifier: false }],
    ['tells in no way what it has stored', { conditional_create: false, search_by_identifier: false }],
    ['can only be read', { withheld: readable }],
  ])('that %s: the promises are kept too', { timeout: 300_000 }, async ([habit, faults]) => {
    server = await startFhirServer({ data: 'small' });
    Object.assign(server.faults, faults);
    expect(await brokenIn(`FHIR R4 that ${habit}`, world(), 'first line')).toEqual([]);
  });
});
