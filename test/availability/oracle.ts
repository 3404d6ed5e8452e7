import type {
  Appointment,
  AvailabilityInput,
  Block,
  Explanation,
  FreeRange,
  HoursShift,
} from '../../src/availability/types.ts';
import { isoAt, type Minute, minute_ms, minutesOfDay, plusDays, startOfDay, weekdayName } from './oracleClock.ts';

/** The slow way: every minute is asked whether it is worked, taken, offered. Shares types with the engine, no code. */
export type OracleOffer = Omit<FreeRange, 'duration_string' | 'provider_name' | 'facility_name' | 'timezone_abbr'>;
export type OracleAnswer = { offers: OracleOffer[]; explanations: Explanation[] };

type ShiftToday = { shift: HoursShift; on: boolean[]; why_not: string | undefined };
/** One provider at one facility on one day. */
type Scene = {
  question: AvailabilityInput;
  date: string;
  minutes: Minute[];
  shifts: ShiftToday[];
  appointments: Appointment[];
  blocks: Block[];
  refused: 'location' | 'daily_limit' | undefined;
  rules: RuleToday[];
};
type RuleToday = { visit_type: string; most: number; inside: boolean[]; on: boolean[]; visits: Appointment[] };
type Run = { first: number; length: number; visit_type: string; left: number | null; most: number | null };

const week = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

export function askOracle(question: AvailabilityInput): OracleAnswer {
  const answer: OracleAnswer = { offers: [], explanations: [] };
  for (let date = question.start_date; date <= question.end_date; date = plusDays(date, 1)) {
    for (const provider of question.providers) answerDay(question, provider, date, answer);
  }
  return answer;
}

function answerDay(
  question: AvailabilityInput,
  provider: AvailabilityInput['providers'][number],
  date: string,
  answer: OracleAnswer,
) {
  const { options, timezone } = question;
  const minutes = minutesOfDay(timezone, date);
  const tell = (facility_id: string | null, from: number, to: number, reason: string) => {
    const [range_start, range_end] = [isoAt(timezone, from), isoAt(timezone, to)];
    const known = reason as Explanation['reason'];
    answer.explanations.push({
      provider_id: provider.ehr_id,
      facility_id,
      date,
      range_start,
      range_end,
      reason: known,
    });
  };
  const next_day = startOfDay(timezone, plusDays(date, 1));
  const own = provider.hours.some((day) => day.shifts.length > 0);
  const hours = own ? provider.hours : options.fallback_hours;
  if (!hours) return tell(null, startOfDay(timezone, date), next_day, 'no_hours');

  const shifts = hours.filter((day) => day.day === weekdayName(date)).flatMap((day) => day.shifts);
  const mine = question.appointments.filter((each) => !each.cancelled && countsFor(each, question) === provider.ehr_id);
  const held = mine.filter(
    (each) => options.daily_limit_type === 'all' || options.daily_limit_type === each.visit_type,
  );
  const today = held.filter((each) => minutes.some((minute) => startsIn(each, minute)));
  const full = options.daily_appointment_limit !== undefined && today.length >= options.daily_appointment_limit;

  for (const facility of new Set(shifts.map((shift) => shift.facility_id ?? null))) {
    const here = shifts.filter((shift) => (shift.facility_id ?? null) === facility);
    for (const { start, end } of here.filter((shift) => shift.end <= shift.start)) {
      const from = minutes.find(({ wall }) => `${wall}:00` >= `${date} ${start.slice(1)}`)?.ms ?? next_day;
      const to = minutes.find(({ wall }) => wall >= `${date} ${end.slice(1, 6)}`)?.ms ?? next_day;
      tell(facility, from, to, 'invalid_shift');
    }
    const counts = (each: Appointment | Block) =>
      !options.facility_scoped_scheduling || [facility, null].includes(each.facility_ehr_id) || facility === null;
    const away = options.location_ids !== undefined && !options.location_ids.some((id) => id === facility);
    const scene: Scene = {
      question,
      date,
      minutes,
      shifts: here
        .filter((shift) => shift.start < shift.end)
        .map((shift) => ({ shift, on: shown(minutes, date, shift.start, shift.end), why_not: whyNot(shift, date) })),
      appointments: mine.filter(counts),
      blocks: question.blocks.filter((block) => block.provider_ehr_id === provider.ehr_id && counts(block)),
      refused: away ? 'location' : full ? 'daily_limit' : undefined,
      rules: [],
    };
    scene.rules = rulesToday(scene);
    const runs = runsOf(scene);
    for (const { first, length, visit_type, left, most } of runs) {
      const from = minutes[first]?.ms ?? Number.NaN;
      answer.offers.push({
        day_of_week: week.indexOf(weekdayName(date)) + 1,
        date,
        range_start: isoAt(timezone, from),
        range_end: isoAt(timezone, from + length * minute_ms),
        provider_id: provider.ehr_id,
        facility_id: facility,
        visit_type,
        available_appointments: left,
        max_visits: most,
      });
    }
    const offered = new Set(runs.flatMap(({ first, length }) => Array.from({ length }, (_, index) => first + index)));
    const reasons = minutes.map((minute, index) => (offered.has(index) ? undefined : reasonAt(scene, minute, index)));
    for (let first = 0, index = 1; index <= reasons.length; index++) {
      if (index < reasons.length && reasons[index] === reasons[first]) continue;
      const [reason, from] = [reasons[first], minutes[first]?.ms ?? Number.NaN];
      if (reason !== undefined) tell(facility, from, from + (index - first) * minute_ms, reason);
      first = index;
    }
  }
}

/** The offered runs of minutes. */
function runsOf(scene: Scene): Run[] {
  const { options } = scene.question;
  if (scene.refused) return [];
  if (options.calculation_method !== 'slots') {
    const open = scene.minutes.map((each, index) => works(scene, index) && isFree(scene, each, scene.appointments));
    return cutOpen(scene, open).map((run) => ({ ...run, visit_type: options.visit_type, left: null, most: null }));
  }
  return scene.rules.flatMap(({ visit_type, most, inside, on, visits }) => {
    if (visits.length >= most || ![visit_type, 'all'].includes(options.visit_type)) return [];
    const others = scene.appointments.filter((each) => !visits.includes(each));
    const open = scene.minutes.map((each, index) => inside[index] && on[index] && isFree(scene, each, others));
    return cutOpen(scene, open).map((run) => ({ ...run, visit_type, left: most - visits.length, most }));
  });
}

function cutOpen({ question: { options } }: Scene, open: (boolean | undefined)[]): { first: number; length: number }[] {
  const longest = options.max_slot_duration ?? Number.POSITIVE_INFINITY;
  const runs: { first: number; length: number }[] = [];
  open.forEach((is_open, index) => {
    const last = runs.at(-1);
    if (is_open && last && last.first + last.length === index && last.length < longest) last.length++;
    else if (is_open) runs.push({ first: index, length: 1 });
  });
  return runs.filter((run) => options.calculation_method !== 'equal_slots' || run.length === longest);
}

function rulesToday({ shifts, minutes, date, appointments }: Scene): RuleToday[] {
  return shifts.flatMap(({ shift, on, why_not }) =>
    (why_not ? [] : (shift.visit_type_rules ?? [])).map((rule) => {
      const inside = shown(minutes, date, `T${rule.start_time}`, `T${rule.end_time}`);
      const visits = appointments.filter(
        (each) =>
          each.visit_type === rule.visit_type_id &&
          minutes.some((minute, index) => inside[index] && startsIn(each, minute)),
      );
      return { visit_type: rule.visit_type_id, most: rule.total_visits, inside, on, visits };
    }),
  );
}

function works({ shifts }: Scene, index: number): boolean {
  return shifts.some(({ on, why_not }) => on[index] && !why_not);
}

function isFree(scene: Scene, minute: Minute, appointments: Appointment[]): boolean {
  return (
    !appointments.some((each) => takes(each, minute)) &&
    !scene.blocks.some((each) => takes(each, minute)) &&
    !scene.appointments.some((each) => keepsFree(each, minute, scene.question))
  );
}

/** Why a minute that is not offered is not; undefined when no shift names it. */
function reasonAt(scene: Scene, minute: Minute, index: number): string | undefined {
  const { shifts, question, appointments, blocks, refused } = scene;
  if (!works(scene, index)) {
    const whys = shifts.filter(({ on }) => on[index]).map(({ why_not }) => why_not);
    return ['outside_dates', 'recurrence', 'invalid_shift'].find((why) => whys.includes(why));
  }
  if (refused) return refused;
  if (appointments.some((each) => takes(each, minute))) return 'appointment';
  if (blocks.some((each) => takes(each, minute))) return 'block';
  if (appointments.some((each) => keepsFree(each, minute, question))) return 'buffer';
  if (question.options.calculation_method !== 'slots') return 'too_short';
  const rules = scene.rules.filter(({ inside, on }) => inside[index] && on[index]);
  const asked = rules.filter(({ visit_type }) => [visit_type, 'all'].includes(question.options.visit_type));
  return asked.length > 0 ? 'quota_full' : rules.length > 0 ? 'visit_type' : 'no_rule';
}

/** Which minutes come after the clock first showed `start` and before it first showed the minute of `end`. */
function shown(minutes: Minute[], date: string, start: string, end: string): boolean[] {
  let [begun, ended] = [false, false];
  return minutes.map(({ wall }) => {
    begun ||= `${wall}:00` >= `${date} ${start.slice(1)}`;
    ended ||= wall >= `${date} ${end.slice(1, 6)}`;
    return begun && !ended;
  });
}

function whyNot(shift: HoursShift, date: string): string | undefined {
  const rec = shift.recurrence;
  const type = rec?.recur_interval_type || 'weeks';
  if (rec && (rec.recur_interval_amount < 1 || !/^(day|week|month)s?$/i.test(type))) return 'invalid_shift';
  if (shift.set_start_date && date < shift.set_start_date.slice(0, 10)) return 'outside_dates';
  if (shift.set_end_date && date > shift.set_end_date.slice(0, 10)) return 'outside_dates';
  if (!rec) return undefined;
  const start = rec.rec_start_date.slice(0, 10);
  if (date < start || (rec.rec_end_date && date > rec.rec_end_date.slice(0, 10))) return 'recurrence';
  return seriesHas(date, start, type.toLowerCase(), rec.recur_interval_amount) ? undefined : 'recurrence';
}

/** Walks the series from its start until it meets or passes the date. */
function seriesHas(date: string, start: string, type: string, every: number): boolean {
  if (type.startsWith('day')) {
    let at = start;
    while (at < date) at = plusDays(at, every);
    return at === date;
  }
  if (type.startsWith('week')) {
    let monday = start;
    while (weekdayName(monday) !== 'Monday') monday = plusDays(monday, -1);
    while (plusDays(monday, 7) <= date) monday = plusDays(monday, 7 * every);
    return monday <= date;
  }
  let first = start;
  while (weekdayName(first) !== weekdayName(date)) first = plusDays(first, 1);
  let months = 0;
  for (let at = first.slice(0, 7); at < date.slice(0, 7); months++) at = plusDays(`${at}-28`, 4).slice(0, 7);
  return months % every === 0 && placeInMonth(first) === placeInMonth(date);
}

/** 1 for the first Tuesday of its month. */
function placeInMonth(date: string): number {
  const week_before = plusDays(date, -7);
  return week_before.slice(0, 7) === date.slice(0, 7) ? placeInMonth(week_before) + 1 : 1;
}

function countsFor(appointment: Appointment, { options }: AvailabilityInput): string | null {
  return options.provider_type === 'secondary' ? appointment.secondary_provider_ehr_id : appointment.provider_ehr_id;
}

function startsIn(entry: Appointment | Block, { ms }: Minute): boolean {
  const start = new Date(entry.starts_at).getTime();
  return start >= ms && start < ms + minute_ms;
}

function takes(entry: Appointment | Block, minute: Minute): boolean {
  const start = new Date(entry.starts_at).getTime();
  return meets(start, start + entry.minutes * minute_ms, minute);
}

function keepsFree(each: Appointment, minute: Minute, { options }: AvailabilityInput): boolean {
  const end = new Date(each.starts_at).getTime() + Math.max(0, each.minutes) * minute_ms;
  const wanted = [each.visit_type, 'all'].includes(options.visit_type);
  return wanted && meets(end, end + options.buffer_min * minute_ms, minute);
}

function meets(from: number, to: number, { ms }: Minute): boolean {
  return from < to && from < ms + minute_ms && to > ms;
}
