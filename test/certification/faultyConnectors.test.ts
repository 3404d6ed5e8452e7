import { afterAll, beforeAll, expect, test } from 'vitest';
import { certify } from '../../src/emr/certification/certify.ts';
import { larkspur } from '../../src/emr/larkspur/larkspur.ts';
import { createOutbound } from '../../src/platform/security/outbound.ts';
import { type LarkspurFixture, openFixture } from '../connectors/larkspur/fixture.ts';
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
