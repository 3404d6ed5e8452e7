import { dateOf, day_min } from './days.ts';

/**
 * Clock time of one zone. Instants are whole minutes since 1970 in UTC, days are counted from 1970-01-01.
 * Every rule about changes of the clock follows from `firstShowing`.
 */
export type Zone = {
  /**
   * The first instant at which the clock shows this time of this day, or a later one. So a time that does not exist is
   * the moment of the change, and a time that exists twice is the first of the two.
   */
  firstShowing(day: number, minute: number): number;
  /** `2026-03-08T01:00:00-05:00` */
  iso(instant: number): string;
  /** `EST`; where no English locale has letters for it, `GMT+5:30`. */
  abbreviation(instant: number): string;
};

type Period = { from: number; to: number; offset_min: number; iso_offset: string; abbreviation?: string };

/** The zone from the day before `first_day` to the day after `last_day`. Throws a RangeError for an unknown zone. */
export function openZone(name: string, first_day: number, last_day: number): Zone {
  const periods = periodsOf(name, (first_day - 2) * day_min, (last_day + 3) * day_min);
  const dates = new Map<number, string>();

  function periodAt(instant: number): Period {
    let found = periods[0] as Period; // periodsOf gives at least one
    for (const period of periods) if (period.from <= instant) found = period;
    return found;
  }

  return {
    firstShowing(day, minute) {
      const shown = day * day_min + minute;
      for (const { from, to, offset_min } of periods) {
        const instant = Math.max(from, shown - offset_min);
        if (instant < to) return instant;
      }
      throw new RangeError('unreachable: the last period has no end');
    },
    iso(instant) {
      const { offset_min, iso_offset } = periodAt(instant);
      const shown = instant + offset_min;
      const day = Math.floor(shown / day_min);
      const date = dates.get(day) ?? dateOf(day);
      dates.set(day, date);
      return `${date}T${clock(shown - day * day_min)}:00${iso_offset}`;
    },
    abbreviation(instant) {
      const period = periodAt(instant);
      period.abbreviation ??= abbreviationAt(name, instant);
      return period.abbreviation;
    },
  };
}

/**
 * Asks for the offset once a day and seeks each change to the minute: about 100 questions for a quarter, 0.3 ms. No
 * zone has changed twice within a day since offsets are whole minutes.
 */
function periodsOf(name: string, from: number, to: number): Period[] {
  let last = period(Number.NEGATIVE_INFINITY, offsetAt(name, from));
  const periods = [last];
  for (let at = from; at < to; at += day_min) {
    const next = offsetAt(name, at + day_min);
    if (next === last.offset_min) continue;
    let before = at;
    let after = at + day_min;
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (offsetAt(name, middle) === last.offset_min) before = middle;
      else after = middle;
    }
    last.to = after;
    last = period(after, next);
    periods.push(last);
  }
  return periods;
}

function offsetAt(name: string, instant: number): number {
  const text = formatter('en-US', name, 'longOffset').format(instant * 60_000);
  const [, sign, hours, minutes] = /GMT([+-])(\d\d):(\d\d)/.exec(text) ?? [];
  const size = Number(hours ?? 0) * 60 + Number(minutes ?? 0);
  return sign === '-' ? -size : size;
}

function period(from: number, offset_min: number): Period {
  const iso_offset = `${offset_min < 0 ? '-' : '+'}${clock(Math.abs(offset_min))}`;
  return { from, to: Number.POSITIVE_INFINITY, offset_min, iso_offset };
}

/**
 * Each English-speaking region has letters only for the zones it uses: `BST` is known to en-GB, `EST` to en-US. They are
 * asked one by one, because the first use of a locale loads its data.
 */
function abbreviationAt(name: string, instant: number): string {
  const told = (locale: string) =>
    formatter(locale, name, 'short')
      .format(instant * 60_000)
      .split(' ')
      .at(-1) ?? '';
  for (const locale of ['en-US', 'en-GB', 'en-AU', 'en-NZ', 'en-CA', 'en-ZA', 'en-IN']) {
    const text = told(locale);
    if (/^[A-Z]+$/.test(text)) return text;
  }
  return told('en-US');
}

/** Making one costs 50 µs, using it 2. */
const formatters = new Map<string, Intl.DateTimeFormat>();

function formatter(locale: string, timeZone: string, timeZoneName: 'longOffset' | 'short'): Intl.DateTimeFormat {
  const key = `${locale} ${timeZone} ${timeZoneName}`;
  const found = formatters.get(key) ?? new Intl.DateTimeFormat(locale, { timeZone, timeZoneName });
  formatters.set(key, found);
  return found;
}

function clock(minutes: number): string {
  const hours = Math.floor(minutes / 60);
  const rest = minutes - hours * 60;
  return `${hours < 10 ? '0' : ''}${hours}:${rest < 10 ? '0' : ''}${rest}`;
}
