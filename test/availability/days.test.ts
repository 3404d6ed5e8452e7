import { expect, test } from 'vitest';
import type { HoursShift } from '../../src/availability/types.ts';
import { ask, examples, shift, visit } from './ask.ts';

examples('daily limit: a day is not offered once it holds that many of that type', [
  [
    'below the limit it is',
    { appointments: [visit('09:00', 60)], options: { daily_appointment_limit: 2, daily_limit_type: 'OV' } },
    ['06-01 10:00–12:00'],
  ],
  [
    'at the limit it is not; other days are',
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
    'under all, every type counts',
    { appointments: [visit('07:00', 60)], options: { daily_appointment_limit: 1, daily_limit_type: 'all' } },
    [],
  ],
  [
    'an appointment counts on the day on which it starts',
    {
      end_date: '2026-06-02',
      appointments: [visit('23:30', 60)],
      options: { daily_appointment_limit: 1, daily_limit_type: 'OV' },
    },
    ['06-02 09:00–12:00'],
  ],
]);

examples('whose and where', [
  [
    'secondary: appointments count against their secondary provider alone',
    {
      appointments: [
        visit('09:00', 60),
        visit('10:00', 60, { provider_ehr_id: 'P2', secondary_provider_ehr_id: 'P1' }),
      ],
      options: { provider_type: 'secondary' },
    },
    ['06-01 09:00–10:00', '06-01 11:00–12:00'],
  ],
  [
    'without scoping, an appointment at another facility takes time',
    {
      shifts: [shift('09:00', '12:00', { facility_id: 'A' })],
      appointments: [visit('09:00', 60, { facility_ehr_id: 'B' })],
    },
    ['06-01 10:00–12:00 A'],
  ],
  [
    'with it, only those at the shift’s own do, and those of which nobody knows where',
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
    'only the locations asked for',
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
  ['a provider without hours is not offered', { hours: [] }, [], ['06-01 00:00–00:00 no_hours']],
  [
    'unless default hours are asked for',
    {
      hours: [{ day: 'Monday', shifts: [] }],
      options: { fallback_hours: [{ day: 'Monday', shifts: [shift('09:00', '17:00')] }] },
    },
    ['06-01 09:00–17:00'],
  ],
  [
    'which a provider with hours does not get',
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
    'both ends are included; dates may carry a time',
    {
      ...nine({ set_start_date: '2026-06-02', set_end_date: '2026-06-03T00:00:00' }),
      end_date: '2026-06-04',
    },
    ['06-02 09:00–10:00', '06-03 09:00–10:00'],
    ['06-01 09:00–10:00 outside_dates', '06-04 09:00–10:00 outside_dates'],
  ],
  [
    'what another shift works at that time needs no explanation',
    { shifts: [shift('09:00', '12:00', { set_end_date: '2026-05-31' }), shift('10:00', '11:00')] },
    ['06-01 10:00–11:00'],
    ['06-01 09:00–10:00 outside_dates', '06-01 11:00–12:00 outside_dates'],
  ],
  [
    'a shift that ends before it starts is not worked',
    { shifts: [shift('17:00', '09:00')] },
    [],
    ['06-01 17:00–09:00 invalid_shift'],
  ],
  ['nor is one that ends as it starts', { shifts: [shift('09:00', '09:00')] }, [], ['06-01 09:00–09:00 invalid_shift']],
  ['nor one whose times cannot be read', { shifts: [shift('9am', '25:00')] }, [], ['06-01 00:00–00:00 invalid_shift']],
  [
    'nor one whose dates cannot be read',
    nine({ set_start_date: '2026-02-30' }),
    [],
    ['06-01 09:00–10:00 invalid_shift'],
  ],
]);

const every = (recur_interval_amount: number, recur_interval_type: string, rec_start_date: string, more = {}) =>
  nine({
    recurrence: { rec_start_date, recur_interval_type, recur_interval_amount, recur_interval_description: '', ...more },
  });

const mondays = (given: { shifts: HoursShift[] }) => ({ hours: [{ day: 'Monday', ...given }], end_date: '2026-08-31' });

test.each([
  ['every day, from its start', { ...every(1, 'days', '2026-06-03'), end_date: '2026-06-05' }, '06-03 06-04 06-05'],
  ['every third day', { ...every(3, 'days', '2026-05-30'), end_date: '2026-06-09' }, '06-02 06-05 06-08'],
  [
    'to its end',
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
    'every other week, counted from the week of its start, a Sunday',
    mondays(every(2, 'weeks', '2026-06-07')),
    '06-15 06-29 07-13 07-27 08-10 08-24',
  ],
  ['every month on the second Monday', mondays(every(1, 'months', '2026-05-11')), '06-08 07-13 08-10'],
  [
    'every month, from the first Monday after its start',
    mondays(every(1, 'months', '2026-06-12')),
    '06-15 07-20 08-17',
  ],
  ['every second month', mondays(every(2, 'months', '2026-06-08')), '06-08 08-10'],
  ['a fifth Monday, in months that have one', mondays(every(1, 'months', '2026-03-30')), '06-29 08-31'],
  ['without a type it is weeks', mondays(every(4, '', '2026-06-01')), '06-01 06-29 07-27 08-24'],
  ['a recurrence of nothing never comes', mondays(every(0, 'weeks', '2026-06-01')), ''],
  ['nor one of unknown kind', mondays(every(1, 'years', '2026-06-01')), ''],
])('recurrence: %s', (_title, given, dates) => {
  expect(
    ask(given)
      .availability.map((offer) => offer.date.slice(5))
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
    'a start that does not exist is the moment of the change',
    'America/New_York',
    '2026-03-08',
    '02:30',
    '04:00',
    '03:00:00-04:00 04:00:00-04:00 1h EDT',
  ],
  ['so is an end', 'America/New_York', '2026-03-08', '01:30', '02:30', '01:30:00-05:00 03:00:00-04:00 30min EST'],
  ['a shift inside the hour that does not exist is not worked', 'America/New_York', '2026-03-08', '02:10', '02:50', ''],
  [
    'autumn: 00:00–04:00 lasts five hours',
    'America/New_York',
    '2026-11-01',
    '00:00',
    '04:00',
    '00:00:00-04:00 04:00:00-05:00 5h EDT',
  ],
  [
    'times that exist twice are the first of the two',
    'America/New_York',
    '2026-11-01',
    '01:15',
    '01:45',
    '01:15:00-04:00 01:45:00-04:00 30min EDT',
  ],
  [
    'half an hour on Lord Howe',
    'Australia/Lord_Howe',
    '2026-10-04',
    '01:00',
    '04:00',
    '01:00:00+10:30 04:00:00+11:00 2h 30min LHST',
  ],
  ['London', 'Europe/London', '2026-10-25', '00:30', '03:00', '00:30:00+01:00 03:00:00+00:00 3h 30min BST'],
  ['Phoenix never changes', 'America/Phoenix', '2026-03-08', '01:00', '04:00', '01:00:00-07:00 04:00:00-07:00 3h MST'],
  [
    'a day without midnight begins later',
    'America/Sao_Paulo',
    '2018-11-04',
    '00:00',
    '02:00',
    '01:00:00-02:00 02:00:00-02:00 1h GMT-2',
  ],
  ['a day that was skipped has no hours', 'Pacific/Apia', '2011-12-30', '09:00', '17:00', ''],
])('clock changes: %s', (_title, timezone, date, start, end, expected) => {
  const { availability } = ask({ timezone, start_date: date, shifts: [shift(start, end)] });
  const told = availability.map((offer) =>
    [offer.range_start.slice(11), offer.range_end.slice(11), offer.duration_string, offer.timezone_abbr].join(' '),
  );
  expect(told.join()).toBe(expected);
});
