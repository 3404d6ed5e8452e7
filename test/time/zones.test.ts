import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addDays, daysBetween, isDate, parseDay, parseInstant } from '../../src/platform/time/days.ts';
import { isZone, loadZone, localTimeAt, todayIn, toInstant, withOffset } from '../../src/platform/time/zones.ts';

const zones = [
  'America/New_York',
  'America/Phoenix',
  'Pacific/Honolulu',
  'America/St_Johns',
  'Australia/Lord_Howe',
  'Africa/Casablanca',
  'UTC',
];
const minutes = fc.integer({ min: Date.parse('2020-01-01') / 60_000, max: Date.parse('2035-01-01') / 60_000 });

describe('dates', () => {
  test.each([
    ['1970-01-01', 0],
    ['1969-12-31', -1],
    ['2028-02-29', 21_243],
    ['2026-07-01T10:00:00', 20_635],
    ['0099-01-01', -683_368],
  ])('%s is day %i', (text, day) => {
    expect(parseDay(text)).toBe(day);
  });

  test.each(['2026-02-30', '2027-02-29', '2026-13-01', '2026-1-01', '20260101', '', 'yesterday', '+002026-01-01'])(
    'rejects %o, which is not a date',
    (text) => {
      expect([parseDay(text), isDate(text)]).toStrictEqual([undefined, false]);
    },
  );

  test('isDate rejects text after the date', () => {
    expect([isDate('2026-07-01'), isDate('2026-07-01T00:00:00')]).toStrictEqual([true, false]);
  });

  test('adds and subtracts days across months and leap days', () => {
    expect(addDays('2026-02-28', 1)).toBe('2026-03-01');
    expect(addDays('2028-03-01', -1)).toBe('2028-02-29');
    expect(daysBetween('2026-12-31', '2027-01-02')).toBe(2);
    expect(() => addDays('2026-02-30', 1)).toThrow(RangeError);
  });

  test.each([
    ['2026-03-08T09:30Z', '2026-03-08T09:30:00.000Z'],
    ['2026-03-08T09:30:15.25-05:00', '2026-03-08T14:30:15.250Z'],
    ['2026-03-08T09:30:15.25-0500', '2026-03-08T14:30:15.250Z'],
    ['2026-03-08T09:30+0530', '2026-03-08T04:00:00.000Z'],
    ['2026-03-08T09:30:00-05', undefined],
    ['2026-03-08T09:30:00-2500', undefined],
    ['2026-03-08T09:30:00', undefined],
    ['2026-02-30T09:30:00Z', undefined],
    ['2026-03-08', undefined],
    ['2026-03-08T25:00:00Z', undefined],
  ])('parses the instant %s as %s', (text, expected) => {
    const ms = parseInstant(text);
    expect(ms === undefined ? undefined : new Date(ms).toISOString()).toBe(expected);
  });
});

describe('local times', () => {
  test.each([
    ['2026-01-15T09:30:00', 'America/New_York', '2026-01-15T09:30:00-05:00'],
    ['2026-07-15T09:30:00', 'America/New_York', '2026-07-15T09:30:00-04:00'],
    ['2026-07-15T00:00:00', 'Asia/Kolkata', '2026-07-15T00:00:00+05:30'],
    ['2026-07-15T23:59:00', 'UTC', '2026-07-15T23:59:00+00:00'],
    // Around the transitions of 2026.
    ['2026-03-08T01:59:00', 'America/New_York', '2026-03-08T01:59:00-05:00'],
    ['2026-03-08T03:00:00', 'America/New_York', '2026-03-08T03:00:00-04:00'],
    ['2026-11-01T00:59:00', 'America/New_York', '2026-11-01T00:59:00-04:00'],
    ['2026-11-01T02:00:00', 'America/New_York', '2026-11-01T02:00:00-05:00'],
    // Occurs twice: the first. Skipped: the moment of the transition.
    ['2026-11-01T01:30:00', 'America/New_York', '2026-11-01T01:30:00-04:00'],
    ['2026-03-08T02:30:00', 'America/New_York', '2026-03-08T03:00:00-04:00'],
    ['2026-10-04T02:15:00', 'Australia/Lord_Howe', '2026-10-04T02:30:00+11:00'],
    // Samoa skipped 30 December 2011.
    ['2011-12-30T12:00:00', 'Pacific/Apia', '2011-12-31T00:00:00+14:00'],
    ['2027-01-01T00:00:00', 'Pacific/Auckland', '2027-01-01T00:00:00+13:00'],
  ])('%s in %s is %s', (local, timezone, expected) => {
    expect(withOffset(local, timezone)).toBe(expected);
  });

  test('every instant has the local time that Intl shows', () => {
    const intl = new Map(
      zones.map((zone) => [
        zone,
        new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' }),
      ]),
    );
    fc.assert(
      fc.property(fc.constantFrom(...zones), minutes, (zone, minute) => {
        const ms = minute * 60_000;
        expect(localTimeAt(ms, zone)).toBe(`${intl.get(zone)?.format(ms).replace(' ', 'T')}:00`);
      }),
      { numRuns: 3000 },
    );
  });

  test('an instant survives the conversion to local time, except in the hour that occurs twice', () => {
    fc.assert(
      fc.property(fc.constantFrom(...zones), minutes, (zone, minute) => {
        const ms = minute * 60_000;
        const earlier = ms - toInstant(localTimeAt(ms, zone), zone);
        expect([0, 30 * 60_000, 3_600_000]).toContain(earlier);
        expect(localTimeAt(ms - earlier, zone)).toBe(localTimeAt(ms, zone));
      }),
      { numRuns: 3000 },
    );
  });

  test('today depends on the zone', () => {
    const now = Date.parse('2026-07-01T03:00:00Z');
    expect([todayIn('America/New_York', now), todayIn('UTC', now)]).toStrictEqual(['2026-06-30', '2026-07-01']);
  });
});

describe('zones', () => {
  test.each(['America/New_York', 'US/Eastern', 'UTC', 'Etc/GMT+5'])('%s is a time zone', (name) => {
    expect(isZone(name)).toBe(true);
  });

  test.each(['', 'Mars/Olympus', '+05:00', '-0500', 'GMT+5'])('%o is not a time zone', (name) => {
    expect(isZone(name)).toBe(false);
  });

  test('rejects an unknown zone', () => {
    expect(() => loadZone('Mars/Olympus')).toThrow(RangeError);
  });

  test.each([
    ['America/New_York', '2026-01-15T12:00Z', 'EST'],
    ['Europe/London', '2026-07-15T12:00Z', 'BST'],
    ['Asia/Kolkata', '2026-07-15T12:00Z', 'IST'],
    ['Asia/Kathmandu', '2026-07-15T12:00Z', 'GMT+5:45'],
  ])('%s at %s is abbreviated %s', (name, at, expected) => {
    expect(loadZone(name).abbreviation(Date.parse(at) / 60_000)).toBe(expected);
  });
});
