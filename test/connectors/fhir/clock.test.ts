import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dayOf, daysAround, instantAt, wallTime } from '../../../src/connectors/fhir/clock.ts';
import { withOffset } from '../../../src/records/withOffset.ts';

const zones = [
  'America/New_York',
  'America/Phoenix',
  'Pacific/Honolulu',
  'America/St_Johns',
  'Australia/Lord_Howe',
  'UTC',
];

describe('the clock of the practice', () => {
  test('is read as everywhere else in the service, also in the hours that it skips and shows twice', () => {
    const minute = fc.integer({ min: Date.parse('2020-01-01') / 60_000, max: Date.parse('2035-01-01') / 60_000 });
    fc.assert(
      fc.property(fc.constantFrom(...zones), minute, (zone, at) => {
        const shown = new Date(at * 60_000).toISOString().slice(0, 19);
        expect(instantAt(shown, zone)).toBe(withOffset(shown, zone));
      }),
      { numRuns: 3000 },
    );
    for (const zone of zones) {
      for (let n = 0; n < 24 * 12; n++) {
        for (const day of [
          '2026-03-08T00:00:00Z',
          '2026-11-01T00:00:00Z',
          '2026-04-05T00:00:00Z',
          '2026-10-04T00:00:00Z',
        ]) {
          const shown = new Date(Date.parse(day) + n * 5 * 60_000).toISOString().slice(0, 19);
          expect(instantAt(shown, zone), `${shown} in ${zone}`).toBe(withOffset(shown, zone));
        }
      }
    }
  });

  test('shows every instant as it was told', () => {
    const minute = fc.integer({ min: Date.parse('2020-01-01') / 60_000, max: Date.parse('2035-01-01') / 60_000 });
    fc.assert(
      fc.property(fc.constantFrom(...zones), minute, (zone, at) => {
        const shown = wallTime(new Date(at * 60_000).toISOString(), zone) ?? '';
        // An hour that is shown twice is told by its first showing.
        const told = Date.parse(instantAt(shown, zone));
        expect(wallTime(new Date(told).toISOString(), zone)).toBe(shown);
        expect(at * 60_000 - told).toBeGreaterThanOrEqual(0);
        expect(at * 60_000 - told).toBeLessThanOrEqual(3_600_000);
      }),
      { numRuns: 3000 },
    );
  });
});

test.each([
  ['2026-03-08T02:30:00Z', '2026-03-07T21:30:00'],
  ['2026-03-08T02:30:45.123-05:00', '2026-03-08T03:30:00'],
  ['2026-07-01T12:00:00+00:00', '2026-07-01T08:00:00'],
  // No instant by the standard: the practice's own clock is meant.
  ['2026-07-01T12:00:00', '2026-07-01T12:00:00'],
  ['2026-07-01', null],
  ['2026-02-30T12:00:00', null],
  ['nonsense', null],
  ['', null],
  [undefined, null],
  [17, null],
])('the instant %s is shown as %s', (told, shown) => {
  expect(wallTime(told, 'America/New_York')).toBe(shown);
});

test.each([
  ['2026-07-01', '2026-07-01'],
  ['2026-07-01T03:00:00Z', '2026-06-30'],
  ['2026-02-30', null],
  ['2026-07', null],
  ['2026', null],
  [undefined, null],
  [{}, null],
])('%s falls on %s', (told, day) => {
  expect(dayOf(told, 'America/New_York')).toBe(day);
});

test('days are searched for with one to spare on either side, as servers read them in zones of their own', () => {
  expect(daysAround('2026-03-01', '2026-03-01')).toStrictEqual(['ge2026-02-28', 'le2026-03-02']);
});
