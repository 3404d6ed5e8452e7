import { isDate } from '../../platform/time/days.ts';
import { isZone } from '../../platform/time/zones.ts';

/** Describes the first invalid value of a record without quoting it. Returns undefined if all are valid. */
export function findInvalidValue(value: unknown, name = ''): string | undefined {
  if (typeof value === 'object' && value !== null) {
    for (const [key, each] of Object.entries(value)) {
      const problem = findInvalidValue(each, Array.isArray(value) ? name : key);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  if (typeof value === 'number' && !Number.isFinite(value)) return `an invalid number in ${name}`;
  if (name === 'minutes' && typeof value === 'number' && value < 0) return 'negative minutes';
  if (typeof value !== 'string') return undefined;
  if (name === 'timezone') return isZone(value) ? undefined : 'an invalid time zone';
  const rule = rules.find(({ fields }) => fields.test(name));
  return rule?.isValid(value) === false ? `${rule.problem} in ${name}` : undefined;
}

type Rule = { fields: RegExp; isValid: (text: string) => boolean; problem: string };

const rules: readonly Rule[] = [
  { fields: /^starts$/, isValid: isLocalTime, problem: 'an invalid local time' },
  {
    fields: /^(dob|service_date|claim_date|order_date|start_date|plan_begin_date)$/,
    isValid: isDay,
    problem: 'an invalid date',
  },
  {
    fields: /^(start|end)$/,
    isValid: (text) => /^T([01]\d|2[0-4]):[0-5]\d:[0-5]\d$/.test(text),
    problem: 'an invalid time of day',
  },
  // Unknown values must be null: an empty text would be stored and found by searches.
  {
    fields: /^(mrn|phone|cell_phone|email|npi|patient_mrn)$/,
    isValid: (text) => text.trim() !== '',
    problem: 'an empty text',
  },
];

/** A date that exists, in a year that a record can have. */
function isDay(text: string): boolean {
  return /^(18|19|20|21)/.test(text) && isDate(text);
}

function isLocalTime(text: string): boolean {
  const [day = '', clock = ''] = text.split('T');
  return isDay(day) && /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d([+-]\d\d:\d\d)?$/.test(clock);
}
