import { type DraftRange, type DraftWeek, workedDays } from './draft.ts';

/** What is wrong with a week, by the id of the input that it is wrong with. */
export type Faults = Record<string, string>;

/** The id of an input of a range; `name` is what the service calls the field. */
export function inputId(key: string, name: string): string {
  return `${key}-${name}`;
}

/** What can be seen to be wrong before it is sent. */
export function checkWeek(week: DraftWeek): Faults {
  const faults: Faults = {};
  for (const range of Object.values(week).flat()) {
    checkSpan(faults, range.key, ['start', range.start], ['end', range.end]);
    if (range.every_unit !== '') {
      if (!isWhole(range.every, 1)) faults[inputId(range.key, 'recur_interval_amount')] = 'Enter a number from 1.';
      if (range.every_from === '') faults[inputId(range.key, 'rec_start_date')] = 'Enter a day.';
    }
    for (const quota of range.quotas) {
      checkSpan(faults, quota.key, ['start_time', quota.start_time], ['end_time', quota.end_time]);
      if (!isWhole(quota.visits, 0)) faults[inputId(quota.key, 'total_visits')] = 'Enter a number.';
    }
  }
  return faults;
}

/** What the service found wrong, at the input that it names: `hours[1].shifts[0].end must be after start`. */
export function placeFault(week: DraftWeek, message: string): Faults {
  const [, d, s, name = '', rule = message] = /^hours\[(\d+)\]\.shifts\[(\d+)\]\.?(\S*) (.*)$/s.exec(message) ?? [];
  const day = workedDays(week)[Number(d)];
  const range = day && week[day][Number(s)];
  if (!range) return {};
  const [, q, field = ''] = /^visit_type_rules\[(\d+)\]\.?(.*)$/.exec(name) ?? [];
  const quota = q === undefined ? undefined : range.quotas[Number(q)];
  const spot = quota ? inputId(quota.key, field) : inputId(range.key, name.replace(/^(recurrence|set_recur)\./, ''));
  return {
    [known(range).has(spot) ? spot : inputId(range.key, 'start')]: `${rule.charAt(0).toUpperCase()}${rule.slice(1)}.`,
  };
}

function checkSpan(
  faults: Faults,
  key: string,
  [start_name, start]: [string, string],
  [end_name, end]: [string, string],
): void {
  if (start === '') faults[inputId(key, start_name)] = 'Enter a time.';
  if (end === '') faults[inputId(key, end_name)] = 'Enter a time.';
  else if (start !== '' && end <= start) faults[inputId(key, end_name)] = 'The end must be after the start.';
}

function isWhole(typed: string, least: number): boolean {
  return /^\d{1,4}$/.test(typed) && Number(typed) >= least;
}

/** The inputs at which something can be said. */
function known(range: DraftRange): Set<string> {
  const of_range = ['start', 'end', 'facility_id', 'set_start_date', 'set_end_date', 'set_description'];
  const of_recurrence = ['recur_interval_amount', 'rec_start_date', 'rec_end_date'];
  const of_quota = ['start_time', 'end_time', 'total_visits', 'visit_type_id'];
  return new Set([
    ...of_range.map((name) => inputId(range.key, name)),
    ...(range.every_unit === '' ? [] : of_recurrence.map((name) => inputId(range.key, name))),
    ...range.quotas.flatMap((quota) => of_quota.map((name) => inputId(quota.key, name))),
  ]);
}
