import type { WeeklyHours } from '../practice/providers.ts';
import { daysFrom, usDay } from './days.ts';
import type { SeededPatient } from './patients.ts';
import { providerRows } from './providers.ts';
import type { Chance } from './random.ts';

const DAYS_EACH_WAY = 91;
const DAY_NAMES = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

type Shift = WeeklyHours[number]['shifts'][number];

/** Appointments and blocks within the providers' hours, three months back and three ahead. Nothing overlaps. */
export function scheduleRows(chance: Chance, now: Date, patients: SeededPatient[]) {
  const blocks: object[] = [];
  const visits: Visit[] = [];
  const providers = providerRows(now);
  for (let day = -DAYS_EACH_WAY; day <= DAYS_EACH_WAY; day++) {
    const weekday = DAY_NAMES[daysFrom(now, day).getUTCDay()];
    for (const { providerId, weeklyHours } of providers) {
      const away = chance.happens(0.02);
      const shifts = weeklyHours.find(({ dayName }) => dayName === weekday)?.shifts ?? [];
      for (const shift of shifts.filter((candidate) => takesPlace(candidate, now, day))) {
        const start = minuteOf(shift.startTime);
        const end = minuteOf(shift.endTime);
        const meeting = !away && shift.startTime === '13:00' && weekday === 'Wednesday';
        if (away || meeting) {
          blocks.push({
            blockId: String(65001 + blocks.length),
            providerId,
            facilityId: away ? null : shift.facilityId,
            startsAt: at(now, day, start),
            minutes: away ? end - start : 30,
            reason: away ? 'Out of office' : 'Staff meeting',
          });
        }
        if (!away)
          visits.push(...shiftVisits(chance, { now, day, providerId, shift, start: start + (meeting ? 30 : 0), end }));
      }
    }
  }
  return { blocks, appointments: visits.map((visit, index) => appointment(chance, visit, index, patients)) };
}

interface Visit {
  now: Date;
  day: number;
  providerId: string;
  facilityId: string;
  minute: number;
  minutes: number;
  visitTypeCode: string;
}

function shiftVisits(
  chance: Chance,
  place: { now: Date; day: number; providerId: string; shift: Shift; start: number; end: number },
): Visit[] {
  const { shift, start, end, ...where } = place;
  const visits: Visit[] = [];
  for (let minute = start; minute < end; ) {
    const [visitTypeCode, minutes] = chance.pick(visitLengths);
    if (chance.happens(0.3) && minute + minutes <= end) {
      visits.push({ ...where, facilityId: shift.facilityId, minute, minutes, visitTypeCode });
      minute += minutes;
    } else minute += 30;
  }
  return visits;
}

/** Every 150th appointment is for the example patient. Optional fields are sometimes empty. */
function appointment(chance: Chance, visit: Visit, index: number, patients: SeededPatient[]) {
  const past = visit.day < 0;
  const statusCode = past ? chance.pick(pastStatuses) : chance.pick(futureStatuses);
  const seen = past && statusCode === 'CHK';
  const patient = patients[index % 150 === 0 ? 0 : chance.below(patients.length)] ?? patients[0];
  const diagnoses = seen ? chance.sample(conditions, 1 + chance.below(2)) : [];
  return {
    appointmentId: String(500001 + index),
    patientId: patient?.patientId ?? '',
    providerId: visit.providerId,
    secondaryProviderId: visit.visitTypeCode === 'PRO' && visit.providerId !== '501' ? '501' : null,
    facilityId: visit.facilityId,
    startsAt: at(visit.now, visit.day, visit.minute),
    minutes: visit.minutes,
    statusCode,
    visitTypeCode: visit.visitTypeCode,
    mode: visit.visitTypeCode === 'TH' ? 'VIDEO' : 'OFFICE',
    reason: chance.happens(0.8) ? chance.pick(reasons) : null,
    complaintType: chance.happens(0.5) ? chance.pick(['Routine', 'Acute', 'Chronic']) : null,
    note: chance.happens(0.3) ? 'Bring the list of medications.' : null,
    progressNote: seen && chance.happens(0.7) ? 'Seen and examined; plan discussed with the patient.' : null,
    newPatientFlag: visit.visitTypeCode === 'NP' ? 'Y' : 'N',
    lockedFlag: seen ? 'Y' : 'N',
    diagnoses: diagnoses.map(([code, description]) => ({ code, description })),
    medications:
      seen && chance.happens(0.5) ? [{ name: 'Lisinopril 10 mg', strength: '10 mg', frequency: 'once daily' }] : [],
    createdAt: daysFrom(visit.now, Math.min(visit.day - 10 - chance.below(20), -1)),
  };
}

/** A recurring shift takes place every n weeks, counted from its start date. */
function takesPlace({ recurrence }: Shift, now: Date, day: number): boolean {
  if (!recurrence) return true;
  const [month, date, year] = recurrence.startDate.split('/').map(Number);
  const first = Date.UTC(year ?? 0, (month ?? 1) - 1, date);
  const today = Date.parse(daysFrom(now, day).toISOString().slice(0, 10));
  const weeks = Math.round((today - first) / (7 * 86_400_000));
  return ((weeks % recurrence.intervalAmount) + recurrence.intervalAmount) % recurrence.intervalAmount === 0;
}

function minuteOf(time: string): number {
  const [hour = 0, minute = 0] = time.split(':').map(Number);
  return hour * 60 + minute;
}

function at(now: Date, day: number, minute: number): string {
  const twoDigits = (number: number) => String(number).padStart(2, '0');
  return `${usDay(now, day)} ${twoDigits(Math.floor(minute / 60))}:${twoDigits(minute % 60)}`;
}

type VisitLength = [visitTypeCode: string, minutes: number];

const visitLengths: [VisitLength, ...VisitLength[]] = [
  ['OV', 20],
  ['OV', 20],
  ['FU', 20],
  ['FU', 20],
  ['NP', 30],
  ['TH', 20],
  ['PE', 40],
  ['NV', 15],
  ['PRO', 45],
];
const pastStatuses = ['CHK', 'CHK', 'CHK', 'CHK', 'CHK', 'CHK', 'NOS', 'CAN'] as const;
const futureStatuses = ['PEN', 'PEN', 'CON', 'CON', 'CON', 'CAN', 'RSC'] as const;
const reasons = [
  'Blood pressure check',
  'Annual physical',
  'Cough',
  'Back pain',
  'Diabetes follow-up',
  'Rash',
] as const;

export const conditions: [code: string, description: string][] = [
  ['I10', 'Essential hypertension'],
  ['E11.9', 'Type 2 diabetes without complications'],
  ['E78.5', 'Hyperlipidemia'],
  ['J06.9', 'Acute upper respiratory infection'],
  ['M54.50', 'Low back pain'],
  ['Z00.00', 'General adult medical examination'],
  ['K21.9', 'Gastro-esophageal reflux disease'],
  ['J45.909', 'Asthma'],
];
