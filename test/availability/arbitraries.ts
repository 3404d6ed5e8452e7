import fc from 'fast-check';
import type {
  Appointment,
  AvailabilityInput,
  Block,
  Hours,
  HoursShift,
  Options,
} from '../../src/product/records/availability/types.ts';
import { plusDays, startOfDay, weekdayName } from './oracleClock.ts';

/** Time zones, with days on which their clocks change or that are otherwise special. */
const places: { zone: string; days: string[] }[] = [
  { zone: 'America/New_York', days: ['2026-03-08', '2026-11-01', '2026-02-28', '2028-02-29'] },
  { zone: 'Europe/London', days: ['2026-03-29', '2026-10-25', '2026-12-31'] },
  { zone: 'Australia/Lord_Howe', days: ['2026-04-05', '2026-10-04'] }, // changes by half an hour
  { zone: 'America/Phoenix', days: ['2026-03-08', '2026-06-01'] }, // never changes
  { zone: 'America/St_Johns', days: ['2010-03-14', '2010-11-07'] }, // changed at 00:01: back into the day before
  { zone: 'America/Sao_Paulo', days: ['2018-11-04', '2018-02-18'] }, // changed at midnight: a day without 00:00
  { zone: 'Africa/Cairo', days: ['2026-04-24', '2026-10-30'] },
  { zone: 'Antarctica/Troll', days: ['2026-03-29', '2026-10-25'] }, // changes by two hours
  { zone: 'Pacific/Apia', days: ['2011-12-30'] }, // a day that was skipped
  { zone: 'Asia/Kolkata', days: ['2026-01-15'] },
];
const providers = ['P1', 'P2'];
const facilities = ['A', 'B'];
const visit_types = ['OV', 'NP', 'TEL'];

const two = (value: number) => String(value).padStart(2, '0');
const oneOf = <const T>(...values: T[]) => fc.constantFrom(...values);
/** Defined once in `n` times: for options that leave little free time. */
const onceIn = <T>(n: number, value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: n - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });

/** Mostly quarters of an hour, many of them at night, when clocks change. */
const time = fc.oneof(
  { weight: 4, arbitrary: fc.nat(16).map((quarter) => `${two(quarter >> 2)}:${two((quarter & 3) * 15)}:00`) },
  { weight: 4, arbitrary: fc.nat(95).map((quarter) => `${two(quarter >> 2)}:${two((quarter & 3) * 15)}:00`) },
  { weight: 1, arbitrary: fc.nat(1439).map((minute) => `${two(Math.floor(minute / 60))}:${two(minute % 60)}:00`) },
  { weight: 1, arbitrary: oneOf('24:00:00', '23:59:59', '02:30:30', '00:00:00') },
);

/** Start and end are in order nine times out of ten. */
const times = fc.tuple(time, time, fc.nat(9)).map(([a, b, n]): [string, string] => (n > 0 && b < a ? [b, a] : [a, b]));

const rule = fc.record({ times, total_visits: fc.nat(3), visit_type_id: oneOf(...visit_types) }).map((generated) => ({
  start_time: generated.times[0],
  end_time: generated.times[1],
  total_visits: generated.total_visits,
  visit_type_id: generated.visit_type_id,
  visit_type_desc: generated.visit_type_id,
}));

const dated = (day: string, before: number, after: number) =>
  fc.tuple(fc.integer({ min: -before, max: after }), fc.boolean()).map(([days, with_time]) => {
    return plusDays(day, days) + (with_time ? 'T00:00:00' : '');
  });

const recurrence = (day: string) =>
  fc.record(
    {
      rec_start_date: dated(day, 75, 2),
      rec_end_date: onceIn(4, dated(day, 1, 3)),
      recur_interval_type: oneOf('days', 'weeks', 'months', 'days', 'weeks', 'months', 'Month', '', 'years', 'decades'),
      recur_interval_amount: oneOf(1, 2, 3, 4, 1, 2, 3, 7, 0),
      recur_interval_description: fc.constant(''),
    },
    { noNullPrototype: true },
  );

const shift = (day: string): fc.Arbitrary<HoursShift> =>
  fc
    .record({
      times,
      facility_id: fc.option(oneOf(...facilities), { nil: undefined, freq: 4 }),
      set_start_date: onceIn(5, dated(day, 3, 3)),
      set_end_date: onceIn(5, dated(day, 2, 4)),
      recurrence: onceIn(4, recurrence(day)),
      visit_type_rules: fc.array(rule, { maxLength: 3 }),
    })
    .map(({ times: [start, end], ...rest }) => {
      const defined = Object.entries(rest).filter(([, value]) => value !== undefined);
      return { start: `T${start}`, end: `T${end}`, ...Object.fromEntries(defined) };
    });

/** Shifts on the days around `day`. */
const hours = (day: string, shifts_max: number): fc.Arbitrary<Hours> =>
  fc.array(
    fc.record({
      day: fc.integer({ min: 0, max: 2 }).map((days) => weekdayName(plusDays(day, days))),
      shifts: fc.array(shift(day), { maxLength: shifts_max, size: 'max' }),
    }),
    { maxLength: 4, size: 'max' },
  );

/** Any time from the day before on; often around midnight and where shifts and rules start and end. */
const entry = (midnight_ms: number) =>
  fc.record({
    starts_at: fc
      .record({
        steps: fc.oneof(
          fc.integer({ min: -300, max: 900 }),
          fc.tuple(fc.nat(2), fc.integer({ min: -15, max: 40 })).map(([days, steps]) => days * 288 + steps),
          fc.tuple(fc.nat(2), fc.integer({ min: -2, max: 16 })).map(([days, quarter]) => days * 288 + quarter * 3),
        ),
        more_ms: oneOf(0, 0, 0, 7 * 60_000, 30_000),
        as_text: fc.boolean(),
      })
      .map(({ steps, more_ms, as_text }) => {
        const ms = midnight_ms + steps * 5 * 60_000 + more_ms;
        return as_text ? new Date(ms).toISOString() : ms;
      }),
    minutes: fc.oneof({ weight: 5, arbitrary: oneOf(10, 15, 30, 45, 60) }, oneOf(0, 1, 240, 1_500)),
    provider_ehr_id: oneOf(...providers),
    facility_ehr_id: fc.option(oneOf(...facilities), { freq: 4 }),
  });

const appointment = (midnight_ms: number): fc.Arbitrary<Appointment> =>
  fc
    .tuple(
      entry(midnight_ms),
      fc.record({
        secondary_provider_ehr_id: fc.option(oneOf(...providers)),
        visit_type: fc.option(oneOf(...visit_types), { freq: 9 }),
        cancelled: fc.nat(9).map((n) => n === 0),
        pending: fc.nat(5).map((n) => n === 0),
      }),
    )
    .map(([taken, more]) => ({ ...taken, ...more }));

const options = (day: string): fc.Arbitrary<Options> =>
  fc
    .record({
      visit_type: oneOf('all', 'all', ...visit_types),
      buffer_min: oneOf(0, 0, 5, 10, 59),
      calculation_method: oneOf('gaps', 'slots', 'equal_slots'),
      limit: onceIn(
        5,
        fc.record({ daily_appointment_limit: fc.nat(4), daily_limit_type: oneOf('all', ...visit_types) }),
      ),
      max_slot_duration: oneOf(15, 20, 60, 600),
      uncut: fc.boolean(),
      facility_scoped_scheduling: fc.boolean(),
      provider_type: oneOf('primary', 'primary', 'secondary'),
      fallback_hours: fc.option(hours(day, 2), { nil: undefined }),
      location_ids: onceIn(8, fc.subarray(facilities)),
    })
    .map(({ limit, uncut, max_slot_duration, ...rest }) => ({
      ...rest,
      ...limit,
      ...(uncut && rest.calculation_method !== 'equal_slots' ? {} : { max_slot_duration }),
      explain: true,
    }));

export const schedules: fc.Arbitrary<AvailabilityInput> = fc
  .record({ place: oneOf(...places), pick: fc.nat(9), before: fc.nat(2), length: fc.nat(2) })
  .chain(({ place, pick, before, length }) => {
    const day = place.days[pick % place.days.length] ?? '2026-01-01';
    const start_date = plusDays(day, -before);
    const midnight_ms = startOfDay(place.zone, start_date);
    const provider = (ehr_id: string) =>
      fc.record({
        ehr_id: fc.constant(ehr_id),
        name: fc.constant(`Dr ${ehr_id}`),
        hours: hours(start_date, 3),
        timezone: oneOf('America/New_York', 'Asia/Tokyo'),
        unavailable: onceIn(12, oneOf('inactive_provider', 'hidden_provider', 'first_sync')),
      });
    return fc.record({
      start_date: fc.constant(start_date),
      end_date: fc.constant(plusDays(start_date, length)),
      timezone: fc.constant(place.zone),
      providers: fc.tuple(...providers.map(provider)),
      facilities: fc.constant(new Map([['A', 'Facility A']])),
      appointments: fc.array(appointment(midnight_ms), { maxLength: 12, size: 'max' }),
      blocks: fc.array(entry(midnight_ms) as fc.Arbitrary<Block>, { maxLength: 3 }),
      not_before: onceIn(
        4,
        fc.integer({ min: -60, max: 2_000 }).map((minutes) => midnight_ms + minutes * 60_000 + 20_000),
      ),
      inactive_facilities: onceIn(
        8,
        fc.subarray(facilities).map((ids) => new Set(ids)),
      ),
      options: options(start_date),
    });
  });
