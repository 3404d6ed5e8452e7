import { afterAll, beforeAll, expect, test } from 'vitest';
import { certify } from '../../src/emr/certification/certify.ts';
import type { Connector } from '../../src/emr/connector.ts';
import { EmrFailure } from '../../src/emr/emrFailure.ts';
import { fhir } from '../../src/emr/fhir/fhir.ts';
import { larkspur } from '../../src/emr/larkspur/larkspur.ts';
import { createOutbound } from '../../src/platform/security/outbound.ts';
import { type LarkspurFixture, openFixture } from '../connectors/larkspur/fixture.ts';
import { startFhirServer } from '../harness/fhir/startFhirServer.ts';
import { type FaultyConnector, type FaultyServer, faulty_connectors, faulty_servers } from './faultyConnectors.ts';

let fixture: LarkspurFixture;
beforeAll(async () => {
  fixture = await openFixture({ small: true });
});
afterAll(() => fixture.close());

const outbound = createOutbound({ sandbox: true, allow: [] });

/** The checks that a connector fails. Each run uses another person, because failed sign-ins lock a user out. */
async function failedChecks(
  { inject = (original) => original, change = (same) => same }: Partial<FaultyConnector & FaultyServer>,
  index: number,
  only: readonly string[],
): Promise<string[]> {
  const { credentials, code } = fixture.person(index);
  const expire = (mode: 'session' | 'link') => async () =>
    void (await fixture.control('POST', '/sessions/expire', { mode }));
  const target = {
    connector: inject(larkspur),
    address: fixture.emr.url,
    credentials,
    one_time_code: code,
    outbound: change(outbound),
    writes: true,
    endSession: expire('session'),
    endLink: expire('link'),
  };
  const results = await certify(target, only);
  return results.filter(({ outcome }) => outcome === 'failed').map(({ check }) => check.id);
}

// shippedConnectors.test.ts runs all checks.
test('a connector without a fault passes these checks', async () => {
  const detecting = [...faulty_connectors, ...faulty_servers].map(({ detected_by }) => detected_by);
  expect(await failedChecks({}, 0, detecting)).toEqual([]);
});

test.for(faulty_connectors.map((faulty, index) => ({ ...faulty, index: index + 1 })))(
  'detects a connector that $fault',
  async ({ index, detected_by, ...faulty }) => {
    // The checks of error texts examine what others reported: here a missing record and every kind of outage.
    const only = detected_by.startsWith('errors.') ? ['listMedications', detected_by] : [detected_by];
    expect(await failedChecks(faulty, index, only)).toContain(detected_by);
  },
);

test.for(faulty_servers.map((faulty, index) => ({ ...faulty, index: index + 1 + faulty_connectors.length })))(
  'detects a server that $fault',
  async ({ index, detected_by, change }) => {
    expect(await failedChecks({ change }, index, [detected_by])).toContain(detected_by);
  },
);

test('detects a connector that does not follow merged charts', async () => {
  const server = await startFhirServer({ data: 'small' });
  const link = [{ other: { reference: 'Patient/pat-1' }, type: 'replaced-by' as const }];
  await server.storeUnchecked({ resourceType: 'Patient', id: 'merged-chart', link });
  const certifyWith = async (connector: Connector) => {
    const credentials = { way: 'client_secret', ...server.clients.confidential };
    const target = { connector, address: server.url, credentials, outbound, writes: false, merged_mrn: 'merged-chart' };
    const results = await certify(target, ['findPatient.merged']);
    return results.find(({ check }) => check.id === 'findPatient.merged')?.outcome;
  };
  expect(await certifyWith(fhir)).toBe('passed');
  const open: Connector['open'] = (...at) => ({ ...fhir.open(...at), searchPatients: async () => [] });
  expect(await certifyWith({ ...fhir, open })).toBe('failed');
  await server.close();
});

test('a write that fails is one failure: checks that only need its record are not tried', async () => {
  const { credentials, code } = fixture.person(0);
  const refused = async () => {
    throw new EmrFailure('unavailable', 'The EMR did not respond.');
  };
  const open: Connector['open'] = (...at) => ({ ...larkspur.open(...at), createPatient: { send: refused } });
  const target = {
    ...{ connector: { ...larkspur, open }, address: fixture.emr.url, credentials, one_time_code: code },
    ...{ outbound, writes: true },
  };
  const results = await certify(target, ['createPatient.written', 'createTelephoneEncounter', 'addGuarantor']);
  const outcomes = new Map(results.map(({ check, outcome, reason }) => [check.id, `${outcome} ${reason}`]));
  expect(outcomes.get('createPatient.written')).toMatch(/^failed/);
  expect(outcomes.get('addGuarantor.written')).toBe('skipped not tried, because createPatient failed');
  expect([...outcomes.values()].filter((each) => each.startsWith('failed'))).toHaveLength(1);
});
