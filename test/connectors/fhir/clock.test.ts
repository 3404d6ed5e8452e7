import { expect, test } from 'vitest';
import { searchDays, toDay, toLocalTime } from '../../../src/emr/fhir/values.ts';

test.each([
  ['2026-03-08T02:30:00Z', '2026-03-07T21:30:00'],
  ['2026-03-08T02:30:45.123-05:00', '2026-03-08T03:30:00'],
  ['2026-07-01T12:00:00+00:00', '2026-07-01T08:00:00'],
  ['2026-07-01T12:00:00+0000', '2026-07-01T08:00:00'],
  // Without an offset it is taken as local time.
  ['2026-07-01T12:00:00', '2026-07-01T12:00:00'],
  ['9999-12-31T23:59:00-05:00', '9999-12-31T23:59:00'],
  ['9999-12-31T23:59:00-12:00', null],
  ['0001-01-01T00:00:00Z', null],
  ['0001-01-01T06:00:00Z', '0001-01-01T01:04:00'],
  ['2026-07-01', null],
  ['2026-02-30T12:00:00', null],
  ['nonsense', null],
  ['', null],
  [undefined, null],
  [17, null],
])('the instant %s is %s in New York', (moment, local) => {
  expect(toLocalTime(moment, 'America/New_York')).toBe(local);
});

test.each([
  ['2026-07-01', '2026-07-01'],
  ['2026-07-01T03:00:00Z', '2026-06-30'],
  ['2026-02-30', null],
  ['2026-07', null],
  ['2026', null],
  [undefined, null],
  [{}, null],
])('%s falls on %s', (moment, day) => {
  expect(toDay(moment, 'America/New_York')).toBe(day);
});

test('searches one more day on either side, because servers use time zones of their own', () => {
  expect(searchDays('2026-03-01', '2026-03-01')).toStrictEqual(['ge2026-02-28', 'le2026-03-02']);
});
