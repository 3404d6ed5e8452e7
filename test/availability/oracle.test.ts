import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findAvailability } from '../../src/availability/findAvailability.ts';
import { type AvailabilityInput, reasons } from '../../src/availability/types.ts';
import { askOracle } from './oracle.ts';
import { schedules } from './schedules.ts';

const runs = Number(process.env.AVAILABILITY_RUNS ?? 2_000);
const seed = Number(process.env.AVAILABILITY_SEED ?? 20_260_308);
const timeout_ms = Math.max(120_000, runs * 60);

test(`${runs} generated schedules (seed ${seed}) are answered as the minute-by-minute oracle does`, {
  timeout: timeout_ms,
}, () => {
  const seen = new Set<string>();
  let offering = 0;
  fc.assert(
    fc.property(schedules, (question) => {
      const { availability, explanations = [] } = findAvailability(question);
      const expected = askOracle(question);
      expect(inOrder(availability.map(comparable))).toStrictEqual(inOrder(expected.offers));
      expect(inOrder(explanations)).toStrictEqual(inOrder(expected.explanations));
      for (const { reason } of explanations) seen.add(reason);
      if (availability.length > 0) offering++;
    }),
    { numRuns: runs, seed },
  );
  // Agreement about nothing would prove nothing: most schedules offer something, and every reason has come up.
  expect(offering).toBeGreaterThan(runs * 0.4);
  expect([...seen].sort()).toStrictEqual([...reasons].sort());
});

test('the order of providers, appointments and blocks changes no offer, and neither do the providers’ own zones', () => {
  fc.assert(
    fc.property(schedules, (question) => {
      const turned: AvailabilityInput = {
        ...question,
        providers: question.providers.toReversed().map((provider) => ({ ...provider, timezone: 'Europe/Paris' })),
        appointments: question.appointments.toReversed(),
        blocks: question.blocks.toReversed(),
      };
      const [one, other] = [findAvailability(question), findAvailability(turned)];
      expect(inOrder(other.availability)).toStrictEqual(inOrder(one.availability));
    }),
    { numRuns: 300, seed },
  );
});

function comparable(offer: ReturnType<typeof findAvailability>['availability'][number]) {
  const { duration_string: _d, provider_name: _p, facility_name: _f, timezone_abbr: _z, ...rest } = offer;
  return rest;
}

function inOrder<T>(list: T[]): T[] {
  return list
    .map((each) => [JSON.stringify(each, Object.keys(each as object).sort()), each] as const)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, each]) => each);
}
