import { apiError } from '../errors.ts';
import type { HoursRequest, ShiftRequest } from '../model/providerSettings.ts';
import type { Provider } from '../model/records/providers.ts';

type Hours = Provider['hours'];

/** A week as it was sent, in the form in which it is read. */
export function readHours(hours: HoursRequest, facilities: ReadonlyMap<string, string>): Hours {
  const seen = new Set<string>();
  return hours.map(({ day, shifts }, d) => {
    if (seen.has(day)) throw invalid(`hours[${d}].day must name each day once`);
    seen.add(day);
    return { day, shifts: shifts.map((shift, s) => readShift(`hours[${d}].shifts[${s}]`, shift, facilities)) };
  });
}

function readShift(
  place: string,
  shift: ShiftRequest,
  facilities: ReadonlyMap<string, string>,
): Hours[number]['shifts'][number] {
  const { set_recur, recurrence: recur = set_recur, facility_name: _ignored, visit_type_rules, ...rest } = shift;
  if (set_recur && shift.recurrence) throw invalid(`${place} must not have both recurrence and set_recur`);
  if (shift.end <= shift.start) throw invalid(`${place}.end must be after start`);
  if (shift.facility_id !== undefined && !facilities.has(shift.facility_id)) {
    throw apiError('location_not_found', { id: shift.facility_id }, { field: 'hours' });
  }
  checkDates(place, shift.set_start_date, shift.set_end_date, 'set_start_date', 'set_end_date');
  if (recur) checkDates(place, recur.rec_start_date, recur.rec_end_date, 'rec_start_date', 'rec_end_date');
  for (const [n, rule] of (visit_type_rules ?? []).entries()) {
    if (rule.end_time <= rule.start_time)
      throw invalid(`${place}.visit_type_rules[${n}].end_time must be after start_time`);
  }
  return {
    ...rest,
    ...(recur && {
      recurrence: {
        ...recur,
        recur_interval_type: recur.recur_interval_type ?? 'weeks',
        recur_interval_description: recur.recur_interval_description ?? '',
      },
    }),
    ...(visit_type_rules && {
      visit_type_rules: visit_type_rules.map((rule) => ({ ...rule, visit_type_desc: rule.visit_type_desc ?? '' })),
    }),
  };
}

function checkDates(
  place: string,
  from: string | undefined,
  to: string | undefined,
  from_name: string,
  to_name: string,
) {
  for (const [name, date] of [
    [from_name, from],
    [to_name, to],
  ]) {
    if (date !== undefined && !exists(date)) throw invalid(`${place}.${name} is not a date that exists`);
  }
  if (from !== undefined && to !== undefined && to.slice(0, 10) < from.slice(0, 10)) {
    throw invalid(`${place}.${to_name} must not be before ${from_name}`);
  }
}

function exists(date: string): boolean {
  const day = date.slice(0, 10);
  const parsed = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(day) && !Number.isNaN(Date.parse(date));
}

function invalid(rule: string) {
  return apiError('invalid_field', { rule }, { field: 'hours' });
}
