import { expect, test } from 'vitest';
import type { HoursShift } from '../../src/product/records/availability/types.ts';
import { availabilityFor, examples, shift, visit } from './examples.ts';

examples('daily limit: a day with that many appointments of that type is full', [
  [
    'below the limit the day is available',
    { appointments: [visit('09:00', 60)], options: { daily_appointment_limit: 2, daily_limit_type: 'OV' } },
    ['06-01 10:00–12:00'],
  ],
  [
    'at the limit only other days are available',
    {
      end_date: '2026-06-02',
      appointments: [visit('09:00', 60)],
      options: { daily_appointment_limit: 1, daily_limit_type: 'OV' },
    },
    ['06-02 09:00–12:00'],
    ['06-01 09:00–12:00 daily_limit'],
  ],
  [
    'other types do not count',
    { appointments: [visit('07:00', 60)], options: { daily_appointment_limit: 1, daily_limit_type: 'NP' } },
    ['06-01 09:00–12:00'],
  ],
  [
    'with all, every type counts',
    { appointments: [visit('07:00', 60)], options: { daily_appointment_limit: 1, daily_limit_type: 'all' } },
    [],
  ],
  [
    'an appointment counts on the day it starts',
    {
      end_date: '2026-06-02',
      appointments: [visit('23:30', 60)],
      options: { daily_appointment_limit: 1, daily_limit_type: 'OV' },
    },
    ['06-02 09:00–12:00'],
  ],
]);

examples('providers and facilities', [
  [
    'an appointment makes the provider busy in either role',
    {
      appointments: [
        visit('09:00', 60),
        visit('10:00', 60, { provider_ehr_id: 'P2', secondary_provider_ehr_id: 'P1' }),
      ],
    },
    ['06-01 11:00–12:00'],
    ['06-01 09:00–11:00 appointment'],
  ],
  [
    'secondary: only appointments as the secondary provider count for the daily limit',
    {
      end_date: '2026-06-02',
      appointments: [
        visit('09:00', 60),
        visit('10:00', 60),
        visit('11:00', 30, { provider_ehr_id: 'P2', secondary_provider_ehr_id: 'P1' }),
      ],
      options: { provider_type: 'secondary', daily_appointment_limit: 2, daily_limit_type: 'all' },
    },
    ['06-01 11:30–12:00', '06-02 09:00–12:00'],
  ],
  [
    'time that has passed is not offered, and the current minute counts as past',
    { end_date: '2026-06-02', not_before: '2026-06-01T10:30:20-04:00', shifts: [shift('09:00', '12:00')] },
    ['06-01 10:31–12:00', '06-02 09:00–12:00'],
    ['06-01 09:00–10:31 past'],
  ],
  [
    'inactive locations are not offered',
    {
      shifts: [shift('09:00', '10:00', { facility_id: 'A' }), shift('10:00', '11:00', { facility_id: 'B' })],
      inactive_facilities: new Set(['A']),
    },
    ['06-01 10:00–11:00 B'],
    ['06-01 09:00–10:00 inactive_location'],
  ],
  [
    'an appointment at another facility takes time',
    {
      shifts: [shift('09:00', '12:00', { facility_id: 'A' })],
      appointments: [visit('09:00', 60, { facility_ehr_id: 'B' })],
    },
    ['06-01 10:00–12:00 A'],
  ],
  [
    'facility_scoped_scheduling: only appointments at the shift’s facility or without a facility take time',
    {
      shifts: [shift('09:00', '12:00', { facility_id: 'A' })],
      appointments: [
        visit('09:00', 60, { facility_ehr_id: 'B' }),
        visit('10:00', 30, { facility_ehr_id: 'A' }),
        visit('11:00', 30),
      ],
      options: { facility_scoped_scheduling: true },
    },
    ['06-01 09:00–10:00 A', '06-01 10:30–11:00 A', '06-01 11:30–12:00 A'],
  ],
  [
    'location_ids: only shifts at these locations are available',
    {
      shifts: [
        shift('09:00', '10:00', { facility_id: 'A' }),
        shift('10:00', '11:00', { facility_id: 'B' }),
        shift('11:00', '12:00'),
      ],
      options: { location_ids: ['B'] },
    },
    ['06-01 10:00–11:00 B'],
    ['06-01 09:00–10:00 location', '06-01 11:00–12:00 location'],
  ],
  ['a provider without hours is not available', { hours: [] }, [], ['06-01 00:00–00:00 no_hours']],
  [
    'a provider without hours gets the default hours if requested',
    {
      hours: [{ day: 'Monday', shifts: [] }],
      options: { fallback_hours: [{ day: 'Monday', shifts: [shift('09:00', '17:00')] }] },
    },
    ['06-01 09:00–17:00'],
  ],
  [
    'a provider with hours does not get the default hours',
    {
      hours: [{ day: 'Tuesday', shifts: [shift('09:00', '10:00')] }],
      options: { fallback_hours: [{ day: 'Monday', shifts: [shift('09:00', '17:00')] }] },
    },
    [],
    [],
  ],
]);

const nine = (more: Partial<HoursShift>) => ({ shifts: [shift('09:00', '10:00', more)] });

examples('dates of a shift', [
  [
    'both dates are inclusive and may have a time',
    {
      ...nine({ set_start_date: '2026-06-02', set_end_date: '2026-06-03T00:00:00' }),
      end_date: '2026-06-04',
    },
    ['06-02 09:00–10:00', '06-03 09:00–10:00'],
    ['06-01 09:00–10:00 outside_dates', '06-04 09:00–10:00 outside_dates'],
  ],
  [
    'time that another shift covers is not explained',
    { shifts: [shift('09:00', '12:00', { set_end_date: '2026-05-31' }), shift('10:00', '11:00')] },
    ['06-01 10:00–11:00'],
    ['06-01 09:00–10:00 outside_dates', '06-01 11:00–12:00 outside_dates'],
  ],
  [
    'a shift that ends before it starts is invalid',
    { shifts: [shift('17:00', '09:00')] },
    [],
    ['06-01 17:00–09:00 invalid_shift'],
  ],
  ['a shift of no length is invalid', { shifts: [shift('09:00', '09:00')] }, [], ['06-01 09:00–09:00 invalid_shift']],
  [
    'a shift with times that cannot be parsed is invalid',
    { shifts: [shift('9am', '25:00')] },
    [],
    ['06-01 00:00–00:00 invalid_shift'],
  ],
  [
    'a shift with dates that do not exist is invalid',
    nine({ set_start_date: '2026-02-30' }),
    [],
    ['06-01 09:00–10:00 invalid_shift'],
  ],
]);

const every = (recur_interval_amount: number, recur_interval_type: string, rec_start_date: string, more = {}) =>
  nine({
    recurrence: { rec_start_date, recur_interval_type, recur_interval_amount, recur_interval_description: '', ...more },
  });

const mondays = (fields: { shifts: HoursShift[] }) => ({
  hours: [{ day: 'Monday', ...fields }],
  end_date: '2026-08-31',
});

test.each([
  ['every day from the start date', { ...every(1, 'days', '2026-06-03'), end_date: '2026-06-05' }, '06-03 06-04 06-05'],
  ['every third day', { ...every(3, 'days', '2026-05-30'), end_date: '2026-06-09' }, '06-02 06-05 06-08'],
  [
    'until the end date',
    { ...every(1, 'days', '2026-05-01', { rec_end_date: '2026-06-02' }), end_date: '2026-06-09' },
    '06-01 06-02',
  ],
  ['every 14 days on Mondays', mondays(every(14, 'days', '2026-06-08')), '06-08 06-22 07-06 07-20 08-03 08-17 08-31'],
  [
    'every other week, from a Monday',
    mondays(every(2, 'weeks', '2026-06-01')),
    '06-01 06-15 06-29 07-13 07-27 08-10 08-24',
  ],
  [
    'every other week, counted from the week of a start on a Sunday',
    mondays(every(2, 'weeks', '2026-06-07')),
    '06-15 06-29 07-13 07-27 08-10 08-24',
  ],
  ['every month on the second Monday', mondays(every(1, 'months', '2026-05-11')), '06-08 07-13 08-10'],
  [
    'every month, from the first Monday after the start date',
    mondays(every(1, 'months', '2026-06-12')),
    '06-15 07-20 08-17',
  ],
  ['every second month', mondays(every(2, 'months', '2026-06-08')), '06-08 08-10'],
  ['every fifth Monday, in months that have one', mondays(every(1, 'months', '2026-03-30')), '06-29 08-31'],
  ['an interval without a type is in weeks', mondays(every(4, '', '2026-06-01')), '06-01 06-29 07-27 08-24'],
  ['an interval of 0 never recurs', mondays(every(0, 'weeks', '2026-06-01')), ''],
  ['every year on the first Monday of June', mondays(every(1, 'years', '2024-06-03')), '06-01'],
  ['every second year, from a year ago', mondays(every(2, 'years', '2025-06-02')), ''],
  ['an interval of an unknown type never recurs', mondays(every(1, 'decades', '2026-06-01')), ''],
])('recurrence: %s', (_title, fields, dates) => {
  expect(
    availabilityFor(fields)
      .availability.map((range) => range.date.slice(5))
      .join(' '),
  ).toBe(dates);
});

test.each([
  [
    'spring in New York: 01:00–04:00 lasts two hours',
    'America/New_York',
    '2026-03-08',
    '01:00',
    '04:00',
    '01:00:00-05:00 04:00:00-04:00 2h EST',
  ],
  [
    'a start that is skipped becomes the moment of the change',
    'America/New_York',
    '2026-03-08',
    '02:30',
    '04:00',
    '03:00:00-04:00 04:00:00-04:00 1h EDT',
  ],
  [
    'an end that is skipped becomes the moment of the change',
    'America/New_York',
    '2026-03-08',
    '01:30',
    '02:30',
    '01:30:00-05:00 03:00:00-04:00 30min EST',
  ],
  ['a shift inside the skipped hour is not worked', 'America/New_York', '2026-03-08', '02:10', '02:50', ''],
  [
    'fall in New York: 00:00–04:00 lasts five hours',
    'America/New_York',
    '2026-11-01',
    '00:00',
    '04:00',
    '00:00:00-04:00 04:00:00-05:00 5h EDT',
  ],
  [
    'times that occur twice are the first of the two',
    'America/New_York',
    '2026-11-01',
    '01:15',
    '01:45',
    '01:15:00-04:00 01:45:00-04:00 30min EDT',
  ],
  [
    'Lord Howe changes by half an hour',
    'Australia/Lord_Howe',
    '2026-10-04',
    '01:00',
    '04:00',
    '01:00:00+10:30 04:00:00+11:00 2h 30min LHST',
  ],
  ['fall in London', 'Europe/London', '2026-10-25', '00:30', '03:00', '00:30:00+01:00 03:00:00+00:00 3h 30min BST'],
  ['Phoenix never changes', 'America/Phoenix', '2026-03-08', '01:00', '04:00', '01:00:00-07:00 04:00:00-07:00 3h MST'],
  [
    'a day without midnight starts later',
    'America/Sao_Paulo',
    '2018-11-04',
    '00:00',
    '02:00',
    '01:00:00-02:00 02:00:00-02:00 1h GMT-2',
  ],
  ['a day that was skipped has no hours', 'Pacific/Apia', '2011-12-30', '09:00', '17:00', ''],
])('clock changes: %s', (_title, timezone, date, start, end, expected) => {
  const { availability } = availabilityFor({ timezone, start_date: date, shifts: [shift(start, end)] });
  const shown = availability.map((range) =>
    [range.range_start.slice(11), range.range_end.slice(11), range.duration_string, range.timezone_abbr].join(' '),
  );
  expect(shown.join()).toBe(expected);
});
