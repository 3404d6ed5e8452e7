import { expect, test } from 'vitest';
import { isSame, toDraft, toHours } from '../../web/dashboard/pages/records/hours/draft.ts';
import { validateWeek } from '../../web/dashboard/pages/records/hours/validation.ts';

const rule = { start_time: '22:00:00', total_visits: 1, visit_type_id: 'NP', visit_type_desc: 'New patient' };

test.each(['T24:00:00', 'T23:59:59'])(
  'a shift until %s is edited as one until 00:00 and sent back unchanged',
  (end) => {
    const visit_type_rules = [{ ...rule, end_time: '24:00:00' }];
    const hours = [{ day: 'Monday', shifts: [{ start: 'T20:00:00', end, visit_type_rules }] }];
    const week = toDraft(hours);
    expect(week.Monday).toMatchObject([{ start: '20:00', end: '00:00', quotas: [{ end_time: '00:00' }] }]);
    expect(validateWeek(week)).toStrictEqual({});
    expect(toHours(week)).toStrictEqual(hours);
    expect(isSame(week, hours)).toBe(true);
  },
);

test('a new end of 00:00 is sent as the end of the day, and an earlier one is compared with the start', () => {
  const week = toDraft([{ day: 'Monday', shifts: [{ start: 'T20:00:00', end: 'T22:00:00' }] }]);
  const until = (end: string) => ({ ...week, Monday: week.Monday.map((range) => ({ ...range, end })) });
  expect(toHours(until('00:00'))[0]?.shifts).toStrictEqual([{ start: 'T20:00:00', end: 'T24:00:00' }]);
  expect(Object.values(validateWeek(until('00:00')))).toStrictEqual([]);
  expect(Object.values(validateWeek(until('19:00')))).toStrictEqual(['Must be after the start.']);
});
