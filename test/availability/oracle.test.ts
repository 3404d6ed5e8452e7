import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findAvailability } from '../../src/product/records/availability/findAvailability.ts';
import { type AvailabilityInput, reasons } from '../../src/product/records/availability/types.ts';
import { figure, timeoutFor } from '../harness/figure.ts';
import { schedules } from './arbitraries.ts';
import { oracleAvailability } from './oracle.ts';
import { minutesOfDay, plusDays } from './oracleClock.ts';

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

test('a minute is free if and only if it is not explained, at each location', () => {
  fc.assert(
    fc.property(schedules, (input) => {
      const { availability, explanations = [] } = findAvailability(input);
      for (const { ehr_id: provider_id, unavailable } of input.providers) {
        const own = <T extends { provider_id: string }>(ranges: T[]) =>
          ranges.filter((each) => each.provider_id === provider_id);
        const free = own(availability);
        const explained = own(explanations).filter(({ reason }) => reason !== 'clock_change');
        if (unavailable) expect(free).toStrictEqual([]);
        for (let date = input.start_date; date <= input.end_date; date = plusDays(date, 1)) {
          const of_day = <T extends { date: string }>(ranges: T[]) => ranges.filter((each) => each.date === date);
          const [free_today, explained_today] = [of_day(free), of_day(explained)];
          for (const { ms } of minutesOfDay(input.timezone, date)) {
            const at = (ranges: { range_start: string; range_end: string; facility_id: string | null }[]) =>
              ranges.filter(
                ({ range_start, range_end }) => Date.parse(range_start) <= ms && ms < Date.parse(range_end),
              );
            const [free_at, explained_at] = [at(free_today), at(explained_today)];
            if (free_at.length + explained_at.length === 0) throw new Error(`${date} ${ms} is neither`);
            const both = explained_at.filter((each) => free_at.some((one) => one.facility_id === each.facility_id));
            // A shift that cannot be read is reported beside those that can.
            const contradicting = both.filter((each) => (each as { reason?: string }).reason !== 'invalid_shift');
            if (contradicting.length > 0) throw new Error(`${date} ${ms} is free and explained`);
          }
        }
      }
    }),
    { numRuns: Math.min(runs, 60), seed },
  );
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
