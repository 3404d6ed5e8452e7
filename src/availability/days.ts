export const day_min = 24 * 60;
const day_ms = day_min * 60_000;

/** Days since 1970-01-01 of `YYYY-MM-DD…` (what follows is ignored); undefined when there is no such day. */
export function dayOf(text: string): number | undefined {
  const date = text.slice(0, 10);
  const ms = /^\d{4}-\d\d-\d\d$/.test(date) ? Date.parse(`${date}T00:00:00Z`) : Number.NaN;
  // 30 February is read as 2 March by some engines, refused by others.
  return Number.isNaN(ms) || dateOf(ms / day_ms) !== date ? undefined : ms / day_ms;
}

export function dateOf(day: number): string {
  return new Date(day * day_ms).toISOString().slice(0, 10);
}

/** 1 Monday … 7 Sunday, as in ISO 8601. */
export function weekdayOf(day: number): number {
  return ((((day + 3) % 7) + 7) % 7) + 1;
}

/** Weeks begin on Monday. */
export function weekOf(day: number): number {
  return Math.floor((day + 3) / 7);
}

/** Months since year 0, and which of its weekday in that month a day is (0 for the first Monday). */
export function monthOf(day: number): { month: number; nth: number } {
  const date = new Date(day * day_ms);
  return {
    month: date.getUTCFullYear() * 12 + date.getUTCMonth(),
    nth: Math.floor((date.getUTCDate() - 1) / 7),
  };
}
