import { type ApiError, apiError } from '../../catalog/errors.ts';
import type { KindName } from '../../model/records/kinds.ts';
import type { Provider } from '../../model/records/providers.ts';
import type { VisitCode } from '../../model/records/visitTypes.ts';
import {
  type HoursRequest,
  type RecurrenceUnit,
  recurrence_units,
  type ShiftRequest,
  weekdays,
} from '../../model/settings.ts';
import type { Tx } from '../../platform/db/database.ts';
import { parseDay } from '../../platform/time/days.ts';
import { storeDefaultHours } from '../accounts/organizations.ts';
import type { Hours } from './availability/types.ts';
import { referenceError, type Scope } from './readRecords.ts';
import { findVisitType, inactiveLocations, listVisitTypes, locationNames, unknownVisitType } from './settings.ts';

type ProviderHours = Provider['hours'];
type Recurrence = NonNullable<ShiftRequest['recurrence']>;
type VisitTypeRule = NonNullable<ShiftRequest['visit_type_rules']>[number];

/** Default hours of organizations that have not set their own: Monday to Friday, 9:00 to 17:00. */
export const standard_hours: ProviderHours & Hours = weekdays
  .slice(0, 5)
  .map((day) => ({ day, shifts: [{ start: 'T09:00:00', end: 'T17:00:00' }] }));

/** Null restores the standard hours. */
export async function setDefaultHours(tx: Tx, scope: Scope, hours: HoursRequest | null): Promise<void> {
  const parsed = hours && (await checkHours(tx, scope, hours));
  await storeDefaultHours(tx, scope.organization_id, parsed);
}

/** The practice's records that hours refer to. */
type Practice = {
  locations: ReadonlyMap<string, string>;
  inactive_locations: ReadonlySet<string>;
  visit_types: readonly VisitCode[];
};

/**
 * Checks a week of hours in a request and converts it to the form in which the API returns it. An unknown location or
 * visit type may be one that the first sync has not read yet.
 */
export async function checkHours(tx: Tx, scope: Scope, hours: HoursRequest): Promise<ProviderHours> {
  const practice: Practice = {
    locations: await locationNames(tx, scope),
    inactive_locations: await inactiveLocations(tx, scope),
    visit_types: await listVisitTypes(tx, scope),
  };
  try {
    return parseHours(hours, practice);
  } catch (error) {
    if (!(error instanceof UnknownReference)) throw error;
    throw await referenceError(tx, scope, [error.kind], error.not_found);
  }
}

class UnknownReference extends Error {
  readonly kind: KindName;
  readonly not_found: ApiError;

  constructor(kind: KindName, not_found: ApiError) {
    super(not_found.message, { cause: not_found });
    this.kind = kind;
    this.not_found = not_found;
  }
}

function parseHours(hours: HoursRequest, practice: Practice): ProviderHours {
  const seen = new Set<string>();
  return hours.map(({ day, shifts }, d) => {
    if (seen.has(day)) throw invalid(`hours[${d}].day must name each day once`);
    seen.add(day);
    return { day, shifts: shifts.map((shift, s) => parseShift(`hours[${d}].shifts[${s}]`, shift, practice)) };
  });
}

function parseShift(path: string, shift: ShiftRequest, practice: Practice): ProviderHours[number]['shifts'][number] {
  const {
    set_recur,
    recurrence: recur = set_recur,
    facility_name: _ignored,
    visit_type_rules,
    set_start_date,
    set_end_date,
    ...rest
  } = shift;
  if (set_recur && shift.recurrence) throw invalid(`${path} must not have both recurrence and set_recur`);
  if (comparable(shift.end) <= comparable(shift.start)) {
    const how = 'Send a shift over midnight as two: until T24:00:00, and from T00:00:00 on the next day';
    throw invalid(`${path}.end must be after start. ${how}`);
  }
  checkLocation(path, shift.facility_id, practice);
  checkDates(path, ['set_start_date', set_start_date], ['set_end_date', set_end_date]);
  return {
    ...rest,
    ...(set_start_date && { set_start_date }),
    ...(set_end_date && { set_end_date }),
    ...(recur && { recurrence: parseRecurrence(path, recur) }),
    ...(visit_type_rules && {
      visit_type_rules: visit_type_rules.map((rule, n) =>
        parseRule(`${path}.visit_type_rules[${n}]`, rule, shift, practice),
      ),
    }),
  };
}

/** A time as text that compares: both ways of writing the end of the day are the same. */
function comparable(time: string): string {
  return time.replace(/^T/, '').replace('23:59:59', '24:00:00');
}

function checkLocation(path: string, facility_id: string | undefined, { locations, inactive_locations }: Practice) {
  if (facility_id === undefined) return;
  if (!locations.has(facility_id)) {
    const not_found = apiError('location_not_found', { id: facility_id }, { field: 'hours' });
    throw new UnknownReference('locations', not_found);
  }
  if (!inactive_locations.has(facility_id)) return;
  const remedy = 'Leave the shift out, choose another location, or set the status of this one to active';
  throw invalid(`${path}.facility_id is an inactive location, '${facility_id}'. ${remedy}`);
}

function parseRule(path: string, rule: VisitTypeRule, shift: ShiftRequest, { visit_types }: Practice) {
  const [start, end] = [comparable(rule.start_time), comparable(rule.end_time)];
  if (end <= start) throw invalid(`${path}.end_time must be after start_time`);
  if (start < comparable(shift.start) || end > comparable(shift.end)) {
    throw invalid(`${path} must be within its shift`);
  }
  const type = findVisitType(visit_types, rule.visit_type_id);
  if (!type) {
    const unknown = unknownVisitType('hours', `${path}.visit_type_id`, visit_types, { or_all: false });
    throw new UnknownReference('visit_types', unknown);
  }
  return { ...rule, visit_type_id: type.code, visit_type_desc: rule.visit_type_desc ?? '' };
}

function parseRecurrence(path: string, { rec_end_date, ...recur }: Recurrence) {
  checkDates(path, ['rec_start_date', recur.rec_start_date], ['rec_end_date', rec_end_date]);
  return {
    ...recur,
    ...(rec_end_date && { rec_end_date }),
    recur_interval_type: recurrenceUnit(path, recur),
    recur_interval_description: recur.recur_interval_description ?? '',
  };
}

const unit_words: Record<RecurrenceUnit, RegExp> = {
  days: /^(days?|daily)$/,
  weeks: /^(weeks?|weekly)$/,
  months: /^(months?|monthly)$/,
  years: /^(years?|yearly|annually)$/,
};

/** The unit that the type names, else the description, else weeks. */
function recurrenceUnit(path: string, recur: Recurrence): RecurrenceUnit {
  const { recur_interval_type: type, recur_interval_description: description = '' } = recur;
  if (type === undefined && description === '') return 'weeks';
  const words = (type ?? description).toLowerCase().match(/\p{L}+/gu) ?? [];
  const [unit, ...others] = recurrence_units.filter((each) => words.some((word) => unit_words[each].test(word)));
  if (unit && others.length === 0) return unit;
  const field = type === undefined ? 'recur_interval_description' : 'recur_interval_type';
  throw invalid(`${path}.${field} must name one of: ${recurrence_units.join(', ')}`);
}

type DateField = [name: string, date: string | null | undefined];

function checkDates(path: string, first: DateField, last: DateField): void {
  for (const [name, date] of [first, last]) {
    const exists = !date || (parseDay(date) !== undefined && !Number.isNaN(Date.parse(date)));
    if (!exists) throw invalid(`${path}.${name} is not a date that exists`);
  }
  const [[from_name, from], [to_name, to]] = [first, last];
  if (from && to && to.slice(0, 10) < from.slice(0, 10)) {
    throw invalid(`${path}.${to_name} must not be before ${from_name}`);
  }
}

function invalid(rule: string) {
  return apiError('invalid_field', { rule }, { field: 'hours' });
}
