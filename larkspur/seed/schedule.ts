import type { WeeklyHours } from '../practice/providers.ts';
import { DAYS_BACK, daysBetween, daysFrom, usDay } from './days.ts';
import type { SeededPatient } from './patients.ts';
import { providerRows } from './providers.ts';
import { type Chance, seededChance } from './random.ts';

const DAYS_EACH_WAY = 91;
const DAY_NAMES = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

type Shift = WeeklyHours[number]['shifts'][number];

/**
 * Appointments and blocks within the providers' hours, three months back and three ahead. Nothing overlaps. Before that,
 * back to the practice's first day, only as many visits as `billed` needs. `seen` are the visits that took place, oldest
 * first: claims and orders refer to them.
 */
export function scheduleRows(now: Date, patients: SeededPatient[], billed: number) {
  const { blocks, appointments } = currentRows(seededChance(20_260_202), now, patients);
  const seen = appointments.filter(({ statusCode }) => statusCode === SEEN);
  const earlier = earlierRows(seededChance(20_260_205), now, patients, billed - seen.length);
  return { blocks, appointments: [...earlier, ...appointments], seen: [...earlier, ...seen] };
}

export type SeenVisit = ReturnType<typeof appointment>;

function currentRows(chance: Chance, now: Date, patients: SeededPatient[]) {
  const blocks: object[] = [];
  const visits: Visit[] = [];
  const providers = providerRows(now);
  for (let day = -DAYS_EACH_WAY; day <= DAYS_EACH_WAY; day++) {
    for (const { providerId, weeklyHours } of providers) {
      const away = chance.happens(0.02);
      for (const shift of shiftsOn(weeklyHours, now, day)) {
        const start = parseMinute(shift.startTime);
        const end = parseMinute(shift.endTime);
        const meeting = !away && shift.startTime === '13:00' && toWeekday(now, day) === 'Wednesday';
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
        const from = start + (meeting ? 30 : 0);
        if (!away) visits.push(...shiftVisits(chance, 0.3, { now, day, providerId, shift, start: from, end }));
      }
    }
  }
  // Every 150th appointment is for the example patient.
  const appointments = visits.map((visit, index) => {
    const statusCode = visit.day < 0 ? chance.pick(pastStatuses) : chance.pick(futureStatuses);
    const patient = patientFor(chance, visit, index % 150, patients);
    return appointment(chance, visit, { appointmentId: String(500001 + index), statusCode, patient });
  });
  return { blocks, appointments };
}

/** `count` visits before the period above. Every 25th is for the example patient. */
function earlierRows(chance: Chance, now: Date, patients: SeededPatient[], count: number): SeenVisit[] {
  const visits: Visit[] = [];
  const providers = providerRows(now);
  for (let day = -DAYS_BACK; day < -DAYS_EACH_WAY; day++) {
    for (const { providerId, weeklyHours } of providers) {
      for (const shift of shiftsOn(weeklyHours, now, day)) {
        const [start, end] = [parseMinute(shift.startTime), parseMinute(shift.endTime)];
        visits.push(...shiftVisits(chance, 0.04, { now, day, providerId, shift, start, end }));
      }
    }
  }
  // Evenly over the whole period.
  const chosen = visits.filter(
    (_, n) => Math.floor((n * count) / visits.length) !== Math.floor(((n - 1) * count) / visits.length),
  );
  return chosen.map((visit, index) => {
    const patient = patientFor(chance, visit, index % 25, patients);
    return appointment(chance, visit, { appointmentId: String(400001 + index), statusCode: SEEN, patient });
  });
}

/** The example patient if `turn` is 0 or the visit is before the picked patient's birth, otherwise any patient. */
function patientFor(chance: Chance, visit: Visit, turn: number, patients: SeededPatient[]): SeededPatient | undefined {
  const patient = patients[turn === 0 ? 0 : chance.below(patients.length)];
  return patient && daysBetween(patient.birthDate, usDay(visit.now, visit.day)) > 0 ? patient : patients[0];
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
  density: number,
  place: { now: Date; day: number; providerId: string; shift: Shift; start: number; end: number },
): Visit[] {
  const { shift, start, end, ...where } = place;
  const visits: Visit[] = [];
  for (let minute = start; minute < end; ) {
    const [visitTypeCode, minutes] = chance.pick(visitLengths);
    if (chance.happens(density) && minute + minutes <= end) {
      visits.push({ ...where, facilityId: shift.facilityId, minute, minutes, visitTypeCode });
      minute += minutes;
    } else minute += 30;
  }
  return visits;
}

/** Optional fields are sometimes empty. */
function appointment(
  chance: Chance,
  visit: Visit,
  {
    appointmentId,
    statusCode,
    patient,
  }: { appointmentId: string; statusCode: string; patient: SeededPatient | undefined },
) {
  const seen = statusCode === SEEN;
  const diagnoses = seen ? chance.sample(conditions, 1 + chance.below(2)) : [];
  return {
    appointmentId,
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
    createdBy: 'Avery Deskwell',
  };
}

function shiftsOn(weeklyHours: WeeklyHours, now: Date, day: number): Shift[] {
  const shifts = weeklyHours.find(({ dayName }) => dayName === toWeekday(now, day))?.shifts ?? [];
  return shifts.filter((shift) => takesPlace(shift, now, day));
}

function toWeekday(now: Date, day: number): string | undefined {
  return DAY_NAMES[daysFrom(now, day).getUTCDay()];
}

/** A recurring shift takes place every n weeks, counted from its start date. */
function takesPlace({ recurrence }: Shift, now: Date, day: number): boolean {
  if (!recurrence) return true;
  const weeks = Math.round(daysBetween(recurrence.startDate, usDay(now, day)) / 7);
  return ((weeks % recurrence.intervalAmount) + recurrence.intervalAmount) % recurrence.intervalAmount === 0;
}

function parseMinute(time: string): number {
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
/** Checked out. */
const SEEN = 'CHK';
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

const conditions: [code: string, description: string][] = [
  ['I10', 'Essential hypertension'],
  ['E11.9', 'Type 2 diabetes without complications'],
  ['E78.5', 'Hyperlipidemia'],
  ['J06.9', 'Acute upper respiratory infection'],
  ['M54.50', 'Low back pain'],
  ['Z00.00', 'General adult medical examination'],
  ['K21.9', 'Gastro-esophageal reflux disease'],
  ['J45.909', 'Asthma'],
];
