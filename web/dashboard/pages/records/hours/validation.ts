import { type DraftRange, type DraftWeek, endTime, workingDays } from './draft.ts';

/** Validation errors of a week by the id of the input. */
export type Errors = Record<string, string>;

/** The id of an input of a range; `name` is the field's name in the API. */
export function inputId(key: string, name: string): string {
  return `${key}-${name}`;
}

/** Checks a week before it is sent. */
export function validateWeek(week: DraftWeek): Errors {
  const errors: Errors = {};
  for (const range of Object.values(week).flat()) {
    checkSpan(errors, range.key, ['start', range.start], ['end', range.end]);
    if (range.every_unit !== '') {
      if (!isInteger(range.every, 1))
        errors[inputId(range.key, 'recur_interval_amount')] = 'Enter a number of 1 or more.';
      if (range.every_from === '') errors[inputId(range.key, 'rec_start_date')] = 'Enter a date.';
    }
    for (const quota of range.quotas) {
      checkSpan(errors, quota.key, ['start_time', quota.start_time], ['end_time', quota.end_time]);
      const outside = quota.start_time < range.start || endTime(quota.end_time) > endTime(range.end);
      if (outside && quota.start_time !== '') errors[inputId(quota.key, 'start_time')] ??= 'Must be within the range.';
      if (!isInteger(quota.visits, 0)) errors[inputId(quota.key, 'total_visits')] = 'Enter a number.';
    }
  }
  return errors;
}

/** Assigns an error of the API to its input: `hours[1].shifts[0].end must be after start`. */
export function serverErrors(week: DraftWeek, message: string): Errors {
  const [, d, s, name = '', rule = message] = /^hours\[(\d+)\]\.shifts\[(\d+)\]\.?(\S*) (.*)$/s.exec(message) ?? [];
  const day = workingDays(week)[Number(d)];
  const range = day && week[day][Number(s)];
  if (!range) return {};
  const [, q, field = ''] = /^visit_type_rules\[(\d+)\]\.?(.*)$/.exec(name) ?? [];
  const quota = q === undefined ? undefined : range.quotas[Number(q)];
  const id = quota ? inputId(quota.key, field) : inputId(range.key, name.replace(/^(recurrence|set_recur)\./, ''));
  return {
    [inputIds(range).has(id) ? id : inputId(range.key, 'start')]: `${rule.charAt(0).toUpperCase()}${rule.slice(1)}.`,
  };
}

function checkSpan(
  errors: Errors,
  key: string,
  [start_name, start]: [string, string],
  [end_name, end]: [string, string],
): void {
  if (start === '') errors[inputId(key, start_name)] = 'Enter a time.';
  if (end === '') errors[inputId(key, end_name)] = 'Enter a time.';
  else if (start !== '' && endTime(end) <= start) errors[inputId(key, end_name)] = 'Must be after the start.';
}

function isInteger(input: string, min: number): boolean {
  return /^\d{1,4}$/.test(input) && Number(input) >= min;
}

/** The ids of all inputs of a range. */
function inputIds(range: DraftRange): Set<string> {
  const of_range = ['start', 'end', 'facility_id', 'set_start_date', 'set_end_date', 'set_description'];
  const of_recurrence = ['recur_interval_amount', 'rec_start_date', 'rec_end_date'];
  const of_quota = ['start_time', 'end_time', 'total_visits', 'visit_type_id'];
  return new Set([
    ...of_range.map((name) => inputId(range.key, name)),
    ...(range.every_unit === '' ? [] : of_recurrence.map((name) => inputId(range.key, name))),
    ...range.quotas.flatMap((quota) => of_quota.map((name) => inputId(quota.key, name))),
  ]);
}
