import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findAvailability } from '../../src/availability/findAvailability.ts';
import type { Question } from '../../src/availability/question.ts';
import { askOracle } from './oracle.ts';
import { schedules } from './schedules.ts';

const runs = Number(process.env.AVAILABILITY_RUNS ?? 2_000);
const seed = Number(process.env.AVAILABILITY_SEED ?? 20_260_308);

test(
  `${runs} generated schedules (seed ${seed}) are answered as a minute-by-minute oracle answers them`,
  () => {
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(schedules, (question) => {
        const { availability, explanations = [] } = findAvailability(question);
        const expected = askOracle(question);
        expect(inOrder(availability.map(comparable))).toStrictEqual(inOrder(expected.offers));
        expect(inOrder(explanations)).toStrictEqual(inOrder(expected.explanations));
        for (const { reason } of explanations) seen.set(reason, (seen.get(reason) ?? 0) + 1);
        seen.set('offered', (seen.get('offered') ?? 0) + availability.length);
      }),
      { numRuns: runs, seed, endOnFailure: true },
    );
    // Agreement about nothing would prove nothing: every reason has come up.
    expect([...seen.keys()].sort()).toStrictEqual([...every_outcome].sort());
  },
  Math.max(120_000, runs * 60),
);

test('the order of providers, appointments and blocks changes no offer, and neither do the providers’ own zones', () => {
  fc.assert(
    fc.property(schedules, (question) => {
      const turned: Question = {
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

const every_outcome = [
  ...['offered', 'location', 'daily_limit', 'appointment', 'block', 'buffer', 'quota_full', 'visit_type', 'no_rule'],
  ...['too_short', 'outside_dates', 'recurrence', 'invalid_shift', 'no_hours'],
];

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
