import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { certify } from '../../src/certification/certify.ts';
import type { CertificationTarget } from '../../src/certification/environment.ts';
import { formatReport } from '../../src/certification/report.ts';
import { fhir } from '../../src/connectors/fhir/fhir.ts';
import { larkspur } from '../../src/connectors/larkspur/larkspur.ts';
import { createOutbound } from '../../src/security/outbound.ts';
import { type LarkspurFixture, openFixture } from '../connectors/larkspur/fixture.ts';
import { type FaultSwitches, type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';

const read_only: FaultSwitches['withheld'] = Object.fromEntries(
  ['Patient', 'Coverage', 'RelatedPerson', 'Appointment', 'DocumentReference', 'Binary'].map((type) => [
    type,
    ['create', 'update'] as const,
  ]),
);

const outbound = createOutbound({ sandbox: true, allow: [] });

/** Prints the report, or its first line, and returns the failed checks. */
async function failedChecks(
  title: string,
  target: Omit<CertificationTarget, 'outbound' | 'writes'>,
  printed: 'report' | 'first line' = 'report',
): Promise<string[]> {
  const results = await certify({ ...target, outbound, writes: true });
  const report = formatReport(title, results);
  process.stdout.write(printed === 'report' ? `\n${report}` : `${report.split('\n')[0]}\n`);
  return results.filter(({ outcome }) => outcome === 'failed').map(({ check, reason }) => `${check.id}: ${reason}`);
}

describe('Larkspur', () => {
  let fixture: LarkspurFixture;
  beforeAll(async () => {
    // Orders still fill two pages. Reading all claims for each check took three quarters of the time.
    fixture = await openFixture({ small: true });
  });
  afterAll(() => fixture.close());

  test('passes every check', { timeout: 300_000 }, async () => {
    const expire = (mode: string) => async () => void (await fixture.control('POST', '/sessions/expire', { mode }));
    const failed = await failedChecks('Larkspur', {
      connector: larkspur,
      address: fixture.emr.url,
      credentials: fixture.credentials,
      one_time_code: fixture.code,
      patient_mrn: fixture.emr.example.patient_mrn,
      counts: { listProviders: 8, listStaff: 12, listLocations: 3, listPatients: 200 },
      endSession: expire('session'),
      endLink: expire('link'),
    });
    expect(failed).toEqual([]);
  });
});

describe('a FHIR server', () => {
  let server: FhirServer;
  afterEach(() => server.close());

  function target(): Omit<CertificationTarget, 'outbound' | 'writes'> {
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

  test('passes every check', { timeout: 300_000 }, async () => {
    server = await startFhirServer({ data: 'paged' });
    const counts = { listPatients: 120, listClaims: 450 };
    expect(await failedChecks('FHIR R4', { ...target(), counts })).toEqual([]);
  });

  // Several habits in one server: a certification of each took half of the suite's time for connectors. Each habit alone
  // is tested in test/connectors/fhir, and `npm run scorecards` certifies twelve more servers.
  test.for<[string, Partial<FaultSwitches>]>([
    [
      'sends no body after a create, returns lists as whole collections and finds nothing by a plain date',
      {
        create_response: 'empty',
        paging: 'whole',
        total: false,
        bundle_type: 'collection',
        day_matches_nothing: true,
      },
    ],
    [
      'sends text after a create, links pages by query only, rejects unknown parameters and allows one create at a time',
      {
        create_response: 'not_fhir',
        etag: 'strong',
        paging: 'relative_links',
        unknown_parameter: 'refuse',
        one_create_at_a_time: true,
      },
    ],
    ['has no conditional create', { conditional_create: false }],
    [
      'has neither conditional create nor search by identifier',
      { conditional_create: false, search_by_identifier: false },
    ],
    ['is read-only', { withheld: read_only }],
  ])('that %s passes every check', { timeout: 300_000 }, async ([behavior, faults]) => {
    server = await startFhirServer({ data: 'small' });
    Object.assign(server.faults, faults);
    expect(await failedChecks(`FHIR R4 that ${behavior}`, target(), 'first line')).toEqual([]);
  });
});
