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

describe('the local time of the practice', () => {
  test('is converted as in the rest of the service, including skipped and repeated hours', () => {
    const minute = fc.integer({ min: Date.parse('2020-01-01') / 60_000, max: Date.parse('2035-01-01') / 60_000 });
    fc.assert(
      fc.property(fc.constantFrom(...zones), minute, (zone, at) => {
        const local = new Date(at * 60_000).toISOString().slice(0, 19);
        expect(instantAt(local, zone)).toBe(withOffset(local, zone));
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
          const local = new Date(Date.parse(day) + n * 5 * 60_000).toISOString().slice(0, 19);
          expect(instantAt(local, zone), `${local} in ${zone}`).toBe(withOffset(local, zone));
        }
      }
    }
  });

  test('round-trips every instant', () => {
    const minute = fc.integer({ min: Date.parse('2020-01-01') / 60_000, max: Date.parse('2035-01-01') / 60_000 });
    fc.assert(
      fc.property(fc.constantFrom(...zones), minute, (zone, at) => {
        const local = wallTime(new Date(at * 60_000).toISOString(), zone) ?? '';
        // A repeated hour is represented by its first occurrence.
        const value = Date.parse(instantAt(local, zone));
        expect(wallTime(new Date(value).toISOString(), zone)).toBe(local);
        expect(at * 60_000 - value).toBeGreaterThanOrEqual(0);
        expect(at * 60_000 - value).toBeLessThanOrEqual(3_600_000);
      }),
      { numRuns: 3000 },
    );
  });
});

test.each([
  ['2026-03-08T02:30:00Z', '2026-03-07T21:30:00'],
  ['2026-03-08T02:30:45.123-05:00', '2026-03-08T03:30:00'],
  ['2026-07-01T12:00:00+00:00', '2026-07-01T08:00:00'],
  // Not an instant by the standard: taken as local time of the practice.
  ['2026-07-01T12:00:00', '2026-07-01T12:00:00'],
  ['2026-07-01', null],
  ['2026-02-30T12:00:00', null],
  ['nonsense', null],
  ['', null],
  [undefined, null],
  [17, null],
])('the instant %s is %s in local time', (value, local) => {
  expect(wallTime(value, 'America/New_York')).toBe(local);
});

test.each([
  ['2026-07-01', '2026-07-01'],
  ['2026-07-01T03:00:00Z', '2026-06-30'],
  ['2026-02-30', null],
  ['2026-07', null],
  ['2026', null],
  [undefined, null],
  [{}, null],
])('%s is on %s', (value, day) => {
  expect(dayOf(value, 'America/New_York')).toBe(day);
});

test('date ranges are searched with one day to spare on either side, because servers use their own zones', () => {
  expect(daysAround('2026-03-01', '2026-03-01')).toStrictEqual(['ge2026-02-28', 'le2026-03-02']);
});
