import type { WeeklyHours } from '../practice/providers.ts';
import { DAYS_BACK, usDay } from './days.ts';

/** Eight providers: full time, part time, and one who works every other Saturday. */
export function providerRows(now: Date) {
  return people.map(([firstName, lastName, speciality, days], index) => ({
    providerId: String(501 + index),
    firstName,
    lastName,
    displayName: `${firstName} ${lastName}, MD`,
    npi: `19999${String(10001 + index * 37)}`,
    speciality,
    timeZone: 'America/New_York',
    activeFlag: 'Y',
    weeklyHours: weeklyHours(now, index, days),
  }));
}

type Shift = WeeklyHours[number]['shifts'][number];
type Day = WeeklyHours[number]['dayName'];

const FULL: Day[] = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday'];

const people: [string, string, string, Day[]][] = [
  ['Harper', 'Samplewell', 'Family Medicine', FULL],
  ['Indigo', 'Mockridge', 'Family Medicine', ['Monday', 'Tuesday', 'Thursday', 'Friday']],
  ['Marlowe', 'Placeholt', 'Internal Medicine', FULL],
  ['Noor', 'Fixturely', 'Pediatrics', ['Monday', 'Wednesday', 'Friday']],
  ['Oakley', 'Stubbington', 'Cardiology', ['Tuesday', 'Thursday']],
  ['Priya', 'Demovich', 'Dermatology', ['Monday', 'Tuesday', 'Wednesday']],
  ['Quinn', 'Prototyne', 'Internal Medicine', [...FULL, 'Saturday']],
  ['Rosa', 'Examplin', "Women's Health", ['Wednesday', 'Thursday', 'Friday']],
];

function weeklyHours(now: Date, index: number, days: Day[]): WeeklyHours {
  return days.map((dayName, position) => {
    const facilityId = String(11 + ((index + (position > 2 ? 1 : 0)) % 3));
    if (dayName === 'Saturday') return { dayName, shifts: [everyOtherSaturday(now, facilityId)] };
    return { dayName, shifts: [morning(now, facilityId), afternoon(now, facilityId, index)] };
  });
}

function morning(now: Date, facilityId: string): Shift {
  return {
    ...shift(now, facilityId, { startTime: '09:00', endTime: '12:00', description: 'Morning clinic' }),
    visitRules: [
      { startTime: '09:00', endTime: '10:00', visits: 2, visitTypeCode: 'NP', visitTypeName: 'New patient' },
      { startTime: '10:00', endTime: '12:00', visits: 6, visitTypeCode: 'FU', visitTypeName: 'Follow-up' },
    ],
  };
}

function afternoon(now: Date, facilityId: string, index: number): Shift {
  const time = { startTime: '13:00', endTime: index % 2 === 0 ? '17:00' : '16:30' };
  return {
    ...shift(now, facilityId, { ...time, description: 'Afternoon clinic' }),
    visitRules: [{ ...time, visits: 8, visitTypeCode: 'OV', visitTypeName: 'Office visit' }],
  };
}

function everyOtherSaturday(now: Date, facilityId: string): Shift {
  const sinceSaturday = (now.getUTCDay() + 1) % 7;
  const recurrence = {
    startDate: usDay(now, -sinceSaturday - 28),
    intervalType: 'weeks' as const,
    intervalAmount: 2,
    description: 'Every other Saturday',
  };
  const time = { startTime: '09:00', endTime: '13:00' };
  return { ...shift(now, facilityId, { ...time, description: 'Saturday clinic' }), recurrence };
}

function shift(
  now: Date,
  facilityId: string,
  { startTime, endTime, description }: Pick<Shift, 'startTime' | 'endTime' | 'description'>,
): Shift {
  const open = { effectiveFrom: usDay(now, -DAYS_BACK), effectiveTo: null, recurrence: null };
  return { startTime, endTime, facilityId, description, ...open, visitRules: [] };
}
