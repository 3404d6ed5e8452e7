import { isDate } from '../../time/days.ts';
import { isZone } from '../../time/zones.ts';

/** What is wrong with the values of a record, in words that hold none of them; undefined where nothing is. */
export function faultOfValues(value: unknown, name = ''): string | undefined {
  if (Array.isArray(value)) return firstOf(value.map((each) => () => faultOfValues(each, name)));
  if (typeof value === 'object' && value !== null) {
    return firstOf(
      Object.entries(value).map(
        ([key, each]) =>
          () =>
            faultOfValues(each, key),
      ),
    );
  }
  if (typeof value === 'number' && !Number.isFinite(value)) return `a number that is none in ${name}`;
  if (name === 'minutes' && typeof value === 'number' && value < 0) return 'less than no minutes';
  if (typeof value !== 'string') return undefined;
  if (name === 'timezone') return isZone(value) ? undefined : 'a time zone that is not an IANA name';
  const rule = rules.find(({ of }) => of.test(name));
  return rule?.holds(value) === false ? `${rule.wrong} in ${name}` : undefined;
}

const rules = [
  { of: /^starts$/, holds: isLocalTime, wrong: 'no local date and time' },
  {
    of: /^(dob|service_date|claim_date|order_date|start_date|plan_begin_date)$/,
    holds: isDay,
    wrong: 'no day of a calendar',
  },
  {
    of: /^(start|end)$/,
    holds: (text: string) => /^T([01]\d|2[0-4]):[0-5]\d:[0-5]\d$/.test(text),
    wrong: 'no time of a day',
  },
  // EMRs that know nothing must say null: an empty text would be stored and searched for as if it were something.
  {
    of: /^(mrn|phone|cell_phone|email|npi|patient_mrn)$/,
    holds: (text: string) => text.trim() !== '',
    wrong: 'an empty text',
  },
] satisfies { of: RegExp; holds: (text: string) => boolean; wrong: string }[];

function firstOf(asked: (() => string | undefined)[]): string | undefined {
  for (const ask of asked) {
    const fault = ask();
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** A date that exists, in a year that a record can have. */
function isDay(text: string): boolean {
  return /^(18|19|20|21)/.test(text) && isDate(text);
}

function isLocalTime(text: string): boolean {
  const [day = '', clock = ''] = text.split('T');
  return isDay(day) && /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d$/.test(clock);
}
