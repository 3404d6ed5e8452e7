import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findAvailability } from '../../src/product/records/availability/findAvailability.ts';
import { type AvailabilityInput, reasons } from '../../src/product/records/availability/types.ts';
import { figure, timeoutFor } from '../harness/figure.ts';
import { schedules } from './arbitraries.ts';
import { oracleAvailability } from './oracle.ts';

const runs = figure('AVAILABILITY_RUNS', 2_000);
const seed = figure('AVAILABILITY_SEED', 20_260_308);
const timeout_ms = timeoutFor(runs, 60);

test(`${runs} generated schedules (seed ${seed}) have the availability that a minute-by-minute oracle finds`, {
  timeout: timeout_ms,
}, () => {
  const reasons_found = new Set<string>();
  let with_free_time = 0;
  fc.assert(
    fc.property(schedules, (input) => {
      const { availability, explanations = [] } = findAvailability(input);
      const expected = oracleAvailability(input);
      expect(inOrder(availability.map(comparable))).toStrictEqual(inOrder(expected.free));
      expect(inOrder(explanations)).toStrictEqual(inOrder(expected.explanations));
      for (const { reason } of explanations) reasons_found.add(reason);
      if (availability.length > 0) with_free_time++;
    }),
    { numRuns: runs, seed },
  );
  // The generated schedules must be worth comparing: many have free time, and every reason occurs.
  expect(with_free_time).toBeGreaterThan(runs * 0.4);
  expect([...reasons_found].sort()).toStrictEqual([...reasons].sort());
});

test('the order of providers, appointments and blocks and the providers’ own time zones do not matter', () => {
  fc.assert(
    fc.property(schedules, (input) => {
      const reversed: AvailabilityInput = {
        ...input,
        providers: input.providers.toReversed().map((provider) => ({ ...provider, timezone: 'Europe/Paris' })),
        appointments: input.appointments.toReversed(),
        blocks: input.blocks.toReversed(),
      };
      const [one, other] = [findAvailability(input), findAvailability(reversed)];
      expect(inOrder(other.availability)).toStrictEqual(inOrder(one.availability));
    }),
    { numRuns: 300, seed },
  );
});

function comparable(range: ReturnType<typeof findAvailability>['availability'][number]) {
  const { duration_string: _d, provider_name: _p, facility_name: _f, timezone_abbr: _z, ...rest } = range;
  return rest;
}

function inOrder<T>(list: T[]): T[] {
  return list
    .map((each) => [JSON.stringify(each, Object.keys(each as object).sort()), each] as const)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, each]) => each);
}
