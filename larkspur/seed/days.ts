const DAY_MS = 24 * 60 * 60_000;

/** MM/DD/YYYY. All dates of the seed are relative to the day it is created, so that they never look old. */
export function usDay(now: Date, daysLater = 0): string {
  const [year, month, day] = daysFrom(now, daysLater).toISOString().slice(0, 10).split('-');
  return `${month}/${day}/${year}`;
}

export function daysFrom(now: Date, daysLater: number): Date {
  return new Date(now.getTime() + daysLater * DAY_MS);
}
