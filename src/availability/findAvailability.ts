import { dateOf, dayOf, weekdayOf } from './days.ts';
import { type Diary, type Entry, entriesWithin, openDiaries } from './diary.ts';
import { explainWork, type Stretch } from './explainWork.ts';
import { offerWork, type Piece } from './offerWork.ts';
import type { Answer, AskedProvider, Explanation, Offer, Options, Question } from './question.ts';
import type { Range } from './ranges.ts';
import { hasHours, type Place, readWeek } from './readWeek.ts';
import { type Refusal, type Work, workOn } from './workOn.ts';
import { openZone, type Zone } from './zone.ts';

type Week = Map<number, Place[]>;
type Day = { day: number; date: string; weekday: number; range: Range };

/**
 * When providers are free. Pure: no clock, no I/O. Counted in whole minutes: working time is rounded inward, taken time
 * outward, so that no offered second is taken. In order of day, provider (as asked), start, facility, rule (as it stands).
 * docs/decisions/0005-availability.md has the meanings.
 */
export function findAvailability(question: Question): Answer {
  const { options, providers } = question;
  checkDurations(options);
  const first = askedDay(question.start_date);
  const last = askedDay(question.end_date);
  const zone = openZone(question.timezone, first, last);
  const diaries = openDiaries(question);
  const weeks = new Map(providers.map((provider) => [provider, weekOf(provider, options)]));
  const availability: Offer[] = [];
  const explanations: Explanation[] = [];
  for (let number = first; number <= last; number++) {
    const day = openDay(number, zone);
    for (const provider of providers) {
      const answer = answerDay(day, weeks.get(provider), diaries.get(provider.ehr_id), options, zone);
      for (const [piece, place] of answer.offered) {
        availability.push(offerOf(piece, place, provider, day, question.facilities, zone));
      }
      for (const [stretch, place] of answer.explained) explanations.push(explain(stretch, place, provider, day, zone));
    }
  }
  return options.explain ? { availability, explanations } : { availability };
}

function checkDurations({ calculation_method, max_slot_duration }: Options): void {
  const valid = max_slot_duration !== undefined && Number.isInteger(max_slot_duration) && max_slot_duration > 0;
  if (!valid && (max_slot_duration !== undefined || calculation_method === 'equal_slots')) {
    throw new RangeError(`max_slot_duration is ${max_slot_duration}`);
  }
}

function askedDay(date: string): number {
  const day = dayOf(date);
  if (day === undefined) throw new RangeError(`Not a date: ${date}`);
  return day;
}

function weekOf(provider: AskedProvider, options: Options): Week | undefined {
  if (hasHours(provider.hours)) return readWeek(provider.hours);
  return options.fallback_hours && readWeek(options.fallback_hours);
}

function openDay(day: number, zone: Zone): Day {
  const range: Range = [zone.firstShowing(day, 0), zone.firstShowing(day + 1, 0)];
  return { day, date: dateOf(day), weekday: weekdayOf(day), range };
}

function answerDay(day: Day, week: Week | undefined, diary: Diary | undefined, options: Options, zone: Zone) {
  const offered: [Piece, Place][] = [];
  const explained: [Stretch, Place | undefined][] = [];
  if (!week && options.explain) explained.push([{ range: day.range, reason: 'no_hours' }, undefined]);
  const places = week?.get(day.weekday) ?? [];
  const entries = diary && places.length > 0 ? entriesWithin(diary, day.range) : [];
  const full = isFull(day, entries, options);
  for (const place of places) {
    const work = workOn(place, day.day, zone, options.calculation_method === 'slots');
    const refused = refusePlace(place, work, full, options);
    const { pieces, refusals } = refused ?? offerWork(work, entriesAt(place, entries, options), options);
    for (const piece of pieces) offered.push([piece, place]);
    if (!options.explain) continue;
    const ranges = pieces.map((piece) => piece.range);
    for (const stretch of explainWork(work, ranges, refusals)) explained.push([stretch, place]);
  }
  // Places come in the order of their ids, and sorting keeps it.
  offered.sort(([a], [b]) => a.range[0] - b.range[0]);
  explained.sort(([a], [b]) => a.range[0] - b.range[0]);
  return { offered, explained };
}

/** A provider's day is counted over all facilities, by where its appointments start. */
function isFull({ range }: Day, entries: Entry[], options: Options): boolean {
  const { daily_appointment_limit, daily_limit_type } = options;
  if (daily_appointment_limit === undefined || daily_limit_type === undefined) return false;
  const held = entries.filter(
    ({ kind, start, visit_type }) =>
      kind === 'appointment' && start >= range[0] && (daily_limit_type === 'all' || daily_limit_type === visit_type),
  );
  return held.length >= daily_appointment_limit;
}

function refusePlace(place: Place, work: Work, full: boolean, { location_ids }: Options) {
  const elsewhere = location_ids && (place.facility_id === null || !location_ids.includes(place.facility_id));
  if (!elsewhere && !full) return undefined;
  const reason = elsewhere ? 'location' : 'daily_limit';
  return { pieces: [], refusals: work.working.map((range): Refusal => [reason, range]) };
}

/** Where a place is not known, on either side, it may be the same one. */
function entriesAt(place: Place, entries: Entry[], options: Options): Entry[] {
  if (!options.facility_scoped_scheduling || place.facility_id === null) return entries;
  return entries.filter(({ facility_id }) => facility_id === null || facility_id === place.facility_id);
}

function offerOf(
  { range, visit_type, visits_left, visits_max }: Piece,
  { facility_id, facility_name }: Place,
  provider: AskedProvider,
  { date, weekday }: Day,
  facilities: Question['facilities'],
  zone: Zone,
): Offer {
  return {
    day_of_week: weekday,
    date,
    duration_string: durationString(range[1] - range[0]),
    range_start: zone.iso(range[0]),
    range_end: zone.iso(range[1]),
    provider_id: provider.ehr_id,
    provider_name: provider.name,
    facility_id,
    facility_name: (facility_id === null ? undefined : facilities.get(facility_id)) ?? facility_name,
    timezone_abbr: zone.abbreviation(range[0]),
    visit_type,
    available_appointments: visits_left,
    max_visits: visits_max,
  };
}

/** `4h 20min`, `4h`, `20min` */
function durationString(minutes: number): string {
  const hours = Math.floor(minutes / 60);
  return [hours > 0 && `${hours}h`, minutes % 60 > 0 && `${minutes % 60}min`].filter(Boolean).join(' ');
}

function explain({ range, reason }: Stretch, place: Place | undefined, asked: AskedProvider, day: Day, zone: Zone) {
  return {
    provider_id: asked.ehr_id,
    facility_id: place?.facility_id ?? null,
    date: day.date,
    range_start: zone.iso(range[0]),
    range_end: zone.iso(range[1]),
    reason,
  };
}
