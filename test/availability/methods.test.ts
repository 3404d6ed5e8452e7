import { expect, test } from 'vitest';
import type { HoursShift } from '../../src/product/records/availability/types.ts';
import { availabilityFor, type Case, examples, rule, shift, visit } from './examples.ts';

const late_shift: HoursShift = { start: 'T22:00:00', end: 'T23:59:59' };
const night = [
  { day: 'Monday', shifts: [shift('22:00', '24:00')] },
  { day: 'Tuesday', shifts: [shift('00:00', '06:00')] },
];

test('a free range has a time in the zone of the EMR instance, a provider and a facility', () => {
  const { availability } = availabilityFor({ shifts: [shift('09:00', '13:20', { facility_id: 'A' })] });
  expect(availability).toStrictEqual([
    {
      day_of_week: 1,
      date: '2026-06-01',
      duration_string: '4h 20min',
      range_start: '2026-06-01T09:00:00-04:00',
      range_end: '2026-06-01T13:20:00-04:00',
      provider_id: 'P1',
      provider_name: 'Dr Grey',
      facility_id: 'A',
      facility_name: 'North Clinic',
      timezone_abbr: 'EDT',
      visit_type: 'all',
      available_appointments: null,
      max_visits: null,
    },
  ]);
});

test('an unknown facility has the name that the shift gives it; a shift without a facility has no name', () => {
  const at = (more: Partial<HoursShift>) =>
    availabilityFor({ shifts: [shift('09:00', '10:00', more)] }).availability[0];
  expect(at({ facility_id: 'Z', facility_name: 'Zoo' })).toMatchObject({ facility_id: 'Z', facility_name: 'Zoo' });
  expect(at({})).toMatchObject({ facility_id: null, facility_name: null });
});

test('explanations are returned only on request', () => {
  expect(availabilityFor({ options: { explain: false } })).not.toHaveProperty('explanations');
});

test.each([
  ['a date that does not exist', { start_date: '2026-02-30' }],
  ['equal_slots without a duration', { options: { calculation_method: 'equal_slots' } }],
  ['a slot of no minutes', { options: { max_slot_duration: 0 } }],
  ['an appointment without zone', { appointments: [visit('09:00', 30, { starts_at: '2026-06-01T09:00:00' })] }],
  ['an appointment without a time', { appointments: [visit('09:00', 30, { starts_at: Number.NaN })] }],
  ['an appointment of unknown length', { appointments: [visit('09:00', Number.NaN)] }],
  ['a zone that does not exist', { timezone: 'Mars/Olympus' }],
] as [string, Case][])('rejects %s', (_title, input) => {
  expect(() => availabilityFor(input)).toThrow(RangeError);
});

examples('gaps: the maximal free ranges inside shifts', [
  ['a shift without appointments is one range', {}, ['06-01 09:00–12:00'], []],
  [
    'an appointment splits the shift',
    { appointments: [visit('10:00', 30)] },
    ['06-01 09:00–10:00', '06-01 10:30–12:00'],
    ['06-01 10:00–10:30 appointment'],
  ],
  [
    'a cancelled appointment does not',
    { appointments: [visit('10:00', 30, { cancelled: true })] },
    ['06-01 09:00–12:00'],
    [],
  ],
  [
    'another provider’s appointment does not',
    { appointments: [visit('10:00', 30, { provider_ehr_id: 'P2' })] },
    ['06-01 09:00–12:00'],
  ],
  [
    'appointments that touch the shift take no time from it',
    { appointments: [visit('08:30', 30), visit('12:00', 30)] },
    ['06-01 09:00–12:00'],
  ],
  [
    'adjacent appointments leave no empty range between them',
    { appointments: [visit('09:00', 60), visit('10:00', 120)] },
    [],
  ],
  [
    'a block takes time like an appointment',
    { blocks: [{ provider_ehr_id: 'P1', facility_ehr_id: null, starts_at: '2026-06-01T13:00:00Z', minutes: 60 }] },
    ['06-01 10:00–12:00'],
    ['06-01 09:00–10:00 block'],
  ],
  [
    'an appointment of the day before lasts past midnight',
    {
      shifts: [shift('00:00', '03:00')],
      appointments: [visit('23:00', 120, { starts_at: '2026-05-31T23:00:00-04:00' })],
    },
    ['06-01 01:00–03:00'],
  ],
  [
    'overlapping and adjacent shifts of one facility are merged',
    { shifts: [shift('09:00', '11:00'), shift('10:00', '12:00'), shift('12:00', '13:00')] },
    ['06-01 09:00–13:00'],
  ],
  [
    'shifts of two facilities are not merged',
    { shifts: [shift('09:00', '11:00', { facility_id: 'B' }), shift('10:00', '12:00', { facility_id: 'A' })] },
    ['06-01 09:00–11:00 B', '06-01 10:00–12:00 A'],
  ],
  ['a shift may last until 24:00', { shifts: [shift('22:00', '24:00')] }, ['06-01 22:00–00:00']],
  ['a shift until 23:59:59 lasts until 24:00', { shifts: [late_shift] }, ['06-01 22:00–00:00']],
  [
    'a shift until 23:59:58 or 23:59:00 ends at 23:59',
    { shifts: [{ ...late_shift, end: 'T23:59:58' }, shift('21:00', '23:59', { facility_id: 'A' })] },
    ['06-01 21:00–23:59 A', '06-01 22:00–23:59'],
  ],
  [
    'two shifts that meet at midnight are two ranges',
    { end_date: '2026-06-02', hours: night },
    ['06-01 22:00–00:00', '06-02 00:00–06:00'],
  ],
  [
    'parts of a minute are not available',
    { shifts: [{ start: 'T09:00:30', end: 'T09:59:59' }] },
    ['06-01 09:01–09:59'],
  ],
  [
    'max_slot_duration cuts longer ranges and keeps the rest',
    { shifts: [shift('09:00', '10:40')], options: { max_slot_duration: 45 } },
    ['06-01 09:00–09:45', '06-01 09:45–10:30', '06-01 10:30–10:40'],
  ],
  [
    'the ranges that max_slot_duration cuts do not move with the present time',
    { shifts: [shift('09:00', '10:40')], not_before: '2026-06-01T09:50:20-04:00', options: { max_slot_duration: 45 } },
    ['06-01 09:51–10:30', '06-01 10:30–10:40'],
    ['06-01 09:00–09:51 past'],
  ],
]);

examples('equal_slots: pieces of exactly max_slot_duration', [
  [
    'the rest is dropped',
    { shifts: [shift('09:00', '10:40')], options: { calculation_method: 'equal_slots', max_slot_duration: 45 } },
    ['06-01 09:00–09:45', '06-01 09:45–10:30'],
    ['06-01 10:30–10:40 too_short'],
  ],
  [
    'each free range is cut from its start',
    { appointments: [visit('09:50', 25)], options: { calculation_method: 'equal_slots', max_slot_duration: 50 } },
    ['06-01 09:00–09:50', '06-01 10:15–11:05', '06-01 11:05–11:55'],
    ['06-01 09:50–10:15 appointment', '06-01 11:55–12:00 too_short'],
  ],
  [
    'the last slot of a day until 23:59:59 is offered',
    { shifts: [late_shift], options: { calculation_method: 'equal_slots', max_slot_duration: 60 } },
    ['06-01 22:00–23:00', '06-01 23:00–00:00'],
    [],
  ],
  [
    'slots of today stay on the grid of the shift, and one that has started is not offered',
    { not_before: '2026-06-01T09:50:20-04:00', options: { calculation_method: 'equal_slots', max_slot_duration: 45 } },
    ['06-01 10:30–11:15', '06-01 11:15–12:00'],
    ['06-01 09:00–09:51 past', '06-01 09:51–10:30 too_short'],
  ],
  [
    'a slot that begins at this very minute is offered',
    { not_before: '2026-06-01T09:45:00-04:00', options: { calculation_method: 'equal_slots', max_slot_duration: 45 } },
    ['06-01 09:45–10:30', '06-01 10:30–11:15', '06-01 11:15–12:00'],
  ],
  [
    'slots of today after an appointment are those of any other day',
    {
      not_before: '2026-06-01T10:20:00-04:00',
      appointments: [visit('09:50', 25)],
      options: { calculation_method: 'equal_slots', max_slot_duration: 50 },
    },
    ['06-01 11:05–11:55'],
  ],
]);

const morning = shift('09:00', '12:00', {
  visit_type_rules: [rule('09:00', '10:00', 2), rule('10:00', '11:00', 1, 'NP')],
});
const slots = { calculation_method: 'slots' } as const;

examples('slots: visit-type rules with visits left', [
  [
    'returns each rule with its visits; time without a rule is not available',
    { shifts: [morning], options: slots },
    ['06-01 09:00–10:00 OV 2/2', '06-01 10:00–11:00 NP 1/1'],
    ['06-01 11:00–12:00 no_rule'],
  ],
  [
    'an appointment of the rule’s type that starts in the rule uses a visit, not time',
    { shifts: [morning], options: slots, appointments: [visit('09:00', 30)] },
    ['06-01 09:00–10:00 OV 1/2', '06-01 10:00–11:00 NP 1/1'],
  ],
  [
    'an appointment of another type takes time, not a visit',
    { shifts: [morning], options: slots, appointments: [visit('09:00', 30, { visit_type: 'TEL' })] },
    ['06-01 09:30–10:00 OV 2/2', '06-01 10:00–11:00 NP 1/1'],
    ['06-01 09:00–09:30 appointment', '06-01 11:00–12:00 no_rule'],
  ],
  [
    'an appointment that starts before the rule takes time from it',
    { shifts: [morning], options: slots, appointments: [visit('08:45', 30)] },
    ['06-01 09:15–10:00 OV 2/2', '06-01 10:00–11:00 NP 1/1'],
  ],
  [
    'an appointment that starts at the end of the rule is outside',
    { shifts: [morning], options: slots, appointments: [visit('10:00', 0)] },
    ['06-01 09:00–10:00 OV 2/2', '06-01 10:00–11:00 NP 1/1'],
  ],
  [
    'a rule without visits left is not available',
    { shifts: [morning], options: slots, appointments: [visit('09:00', 20), visit('09:00', 20)] },
    ['06-01 10:00–11:00 NP 1/1'],
    ['06-01 09:00–09:20 appointment', '06-01 09:20–10:00 quota_full OV', '06-01 11:00–12:00 no_rule'],
  ],
  [
    'visit_type: only rules of this type are available',
    { shifts: [morning], options: { ...slots, visit_type: 'NP' } },
    ['06-01 10:00–11:00 NP 1/1'],
    ['06-01 09:00–10:00 visit_type OV', '06-01 11:00–12:00 no_rule'],
  ],
  [
    'a rule is available inside its shift only, and never if it ends before it starts',
    {
      shifts: [shift('09:00', '10:00', { visit_type_rules: [rule('08:00', '09:30', 3), rule('10:00', '09:00', 3)] })],
      options: slots,
    },
    ['06-01 09:00–09:30 OV 3/3'],
  ],
  [
    'max_slot_duration cuts a longer rule; each piece has the visits left in the whole rule',
    { shifts: [morning], options: { ...slots, visit_type: 'OV', max_slot_duration: 40 } },
    ['06-01 09:00–09:40 OV 2/2', '06-01 09:40–10:00 OV 2/2'],
  ],
]);

examples('buffer: minutes that stay free after an appointment', [
  [
    'after every appointment if all visit types are requested',
    { appointments: [visit('09:00', 30, { visit_type: 'TEL' })], options: { buffer_min: 15 } },
    ['06-01 09:45–12:00'],
    ['06-01 09:00–09:30 appointment', '06-01 09:30–09:45 buffer'],
  ],
  [
    'only after appointments of the requested visit type',
    {
      appointments: [visit('09:00', 30), visit('10:00', 30, { visit_type: 'NP' })],
      options: { buffer_min: 15, visit_type: 'NP' },
    },
    ['06-01 09:30–10:00', '06-01 10:45–12:00'],
  ],
  [
    'also if the appointment ended before the shift started',
    { appointments: [visit('08:30', 25)], options: { buffer_min: 10 } },
    ['06-01 09:05–12:00'],
  ],
]);
