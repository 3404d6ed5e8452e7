import { afterAll, beforeAll, expect, test } from 'vitest';
import { certify } from '../../src/certification/certify.ts';
import { larkspur } from '../../src/connectors/larkspur/larkspur.ts';
import { createOutbound } from '../../src/security/outbound.ts';
import { type LarkspurFixture, openFixture } from '../connectors/larkspur/fixture.ts';
import { type FaultyConnector, faulty_connectors } from './faultyConnectors.ts';

let place: LarkspurFixture;
beforeAll(async () => {
  place = await openFixture({ small: true });
});
afterAll(() => place.close());

const outbound = createOutbound({ sandbox: true, allow: [] });

/** The promises that a connector with this fault breaks. Each try is another person's, who has spoilt no sign-in yet. */
async function brokenBy({ grow }: Pick<FaultyConnector, 'grow'>, index: number): Promise<string[]> {
  const { credentials, code } = place.person(index);
  const expire = (mode: 'session' | 'link') => async () =>
    void (await place.control('POST', '/sessions/expire', { mode }));
  const results = await certify({
    connector: grow(larkspur),
    address: place.emr.url,
    credentials,
    one_time_code: code,
    outbound,
    writes: true,
    endSession: expire('session'),
    endLink: expire('link'),
  });
  return results.filter(({ outcome }) => outcome === 'broken').map(({ check }) => check.id);
}

test('a connector without a planted fault breaks no promise', { timeout: 180_000 }, async () => {
  expect(await brokenBy({ grow: (good) => good }, 0)).toEqual([]);
});

test.for(faulty_connectors.map((plant, index) => ({ ...plant, index: index + 1 })))(
  'the kit finds one that $fault',
  { timeout: 180_000 },
  async ({ index, found_by, ...plant }) => {
    expect(await brokenBy(plant, index)).toContain(found_by);
  },
);
