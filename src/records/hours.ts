import { storeDefaultHours } from '../accounts/organizations.ts';
import type { Hours } from '../availability/types.ts';
import type { Database, Tx } from '../db/database.ts';
import { ApiError, apiError } from '../errors.ts';
import type { DefaultHours } from '../model/dashboard/records.ts';
import {
  type HoursRequest,
  type RecurrenceUnit,
  recurrence_units,
  type ShiftRequest,
} from '../model/providerSettings.ts';
import type { Provider } from '../model/records/providers.ts';
import { weekdays } from '../model/weekdays.ts';
import { parseDay } from '../time/days.ts';
import { referenceError } from './firstSync.ts';
import { locationNames } from './locations.ts';
import type { Scope } from './readRecords.ts';

type ProviderHours = Provider['hours'];

/** Default hours of organizations that have not set their own: Monday to Friday, 9:00 to 17:00. */
export const standard_hours: DefaultHours['hours'] & Hours = weekdays
  .slice(0, 5)
  .map((day) => ({ day, shifts: [{ start: 'T09:00:00', end: 'T17:00:00' }] }));

/** The hours that apply to an organization's providers without any, whether it has set them, and its default duration. */
export async function readDefaultHours(db: Database, scope: Scope): Promise<DefaultHours> {
  const [row] = await db.read<{ hours: DefaultHours['hours'] | null; appointment_minutes: number | null }>(
    scope.client_id,
    (sql) => sql`SELECT default_hours AS hours, default_appointment_minutes AS appointment_minutes
      FROM organizations WHERE id = ${scope.organization_id}`,
  );
  return {
    hours: row?.hours ?? standard_hours,
    set: row?.hours != null,
    appointment_minutes: row?.appointment_minutes ?? null,
  };
}

/** Null restores the standard hours. */
export async function setDefaultHours(tx: Tx, scope: Scope, hours: HoursRequest | null): Promise<void> {
  const parsed = hours && (await checkHours(tx, scope, hours, await locationNames(tx, scope)));
  await storeDefaultHours(tx, scope.organization_id, parsed);
}

/** Parses hours. An unknown facility may be one that the first sync has not read yet. */
export async function checkHours(
  tx: Tx,
  scope: Scope,
  hours: HoursRequest,
  facilities: ReadonlyMap<string, string>,
): Promise<ProviderHours> {
  try {
    return parseHours(hours, facilities);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'location_not_found') throw error;
    throw await referenceError(tx, scope, ['locations'], error);
  }
}

/** Checks a week of hours in a request and converts it to the form in which the API returns it. */
export function parseHours(hours: HoursRequest, facilities: ReadonlyMap<string, string>): ProviderHours {
  const seen = new Set<string>();
  return hours.map(({ day, shifts }, d) => {
    if (seen.has(day)) throw invalid(`hours[${d}].day must name each day once`);
    seen.add(day);
    return { day, shifts: shifts.map((shift, s) => parseShift(`hours[${d}].shifts[${s}]`, shift, facilities)) };
  });
}

function parseShift(
  path: string,
  shift: ShiftRequest,
  facilities: ReadonlyMap<string, string>,
): ProviderHours[number]['shifts'][number] {
  const { set_recur, recurrence: recur = set_recur, facility_name: _ignored, visit_type_rules, ...rest } = shift;
  if (set_recur && shift.recurrence) throw invalid(`${path} must not have both recurrence and set_recur`);
  if (shift.end <= shift.start) throw invalid(`${path}.end must be after start`);
  if (shift.facility_id !== undefined && !facilities.has(shift.facility_id)) {
    throw apiError('location_not_found', { id: shift.facility_id }, { field: 'hours' });
  }
  checkDates(path, shift.set_start_date, shift.set_end_date, 'set_start_date', 'set_end_date');
  if (recur) checkDates(path, recur.rec_start_date, recur.rec_end_date, 'rec_start_date', 'rec_end_date');
  for (const [n, rule] of (visit_type_rules ?? []).entries()) {
    const rule_path = `${path}.visit_type_rules[${n}]`;
    if (rule.end_time <= rule.start_time) throw invalid(`${rule_path}.end_time must be after start_time`);
    if (`T${rule.start_time}` < shift.start || `T${rule.end_time}` > shift.end) {
      throw invalid(`${rule_path} must be within its shift`);
    }
  }
  return {
    ...rest,
    ...(recur && {
      recurrence: {
        ...recur,
        recur_interval_type: recurrenceUnit(path, recur),
        recur_interval_description: recur.recur_interval_description ?? '',
      },
    }),
    ...(visit_type_rules && {
      visit_type_rules: visit_type_rules.map((rule) => ({ ...rule, visit_type_desc: rule.visit_type_desc ?? '' })),
    }),
  };
}

const unit_words: Record<RecurrenceUnit, RegExp> = {
  days: /^(days?|daily)$/,
  weeks: /^(weeks?|weekly)$/,
  months: /^(months?|monthly)$/,
  years: /^(years?|yearly|annually)$/,
};

/** The unit that the type names, else the description, else weeks. */
function recurrenceUnit(path: string, recur: NonNullable<ShiftRequest['recurrence']>): RecurrenceUnit {
  const { recur_interval_type: type, recur_interval_description: description = '' } = recur;
  if (type === undefined && description === '') return 'weeks';
  const words = (type ?? description).toLowerCase().match(/\p{L}+/gu) ?? [];
  const [unit, ...others] = recurrence_units.filter((each) => words.some((word) => unit_words[each].test(word)));
  if (unit && others.length === 0) return unit;
  const field = type === undefined ? 'recur_interval_description' : 'recur_interval_type';
  throw invalid(`${path}.${field} must name one of: ${recurrence_units.join(', ')}`);
}

function checkDates(
  path: string,
  from: string | undefined,
  to: string | undefined,
  from_name: string,
  to_name: string,
): void {
  for (const [name, date] of [
    [from_name, from],
    [to_name, to],
  ]) {
    const exists = date === undefined || (parseDay(date) !== undefined && !Number.isNaN(Date.parse(date)));
    if (!exists) throw invalid(`${path}.${name} is not a date that exists`);
  }
  if (from !== undefined && to !== undefined && to.slice(0, 10) < from.slice(0, 10)) {
    throw invalid(`${path}.${to_name} must not be before ${from_name}`);
  }
}

function invalid(rule: string) {
  return apiError('invalid_field', { rule }, { field: 'hours' });
}
