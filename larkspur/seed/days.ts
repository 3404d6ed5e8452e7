const DAY_MS = 24 * 60 * 60_000;

/** The practice opened this many days ago: 18 months. */
export const DAYS_BACK = 540;

/** MM/DD/YYYY. All dates of the seed are relative to the day it is created, so that they never look old. */
export function usDay(now: Date, daysLater = 0): string {
  const [year, month, day] = daysFrom(now, daysLater).toISOString().slice(0, 10).split('-');
  return `${month}/${day}/${year}`;
}

export function daysFrom(now: Date, daysLater: number): Date {
  return new Date(now.getTime() + daysLater * DAY_MS);
}

/** From one MM/DD/YYYY to another; a time of day is ignored. */
export function daysBetween(from: string, to: string): number {
  const day = (date: string) =>
    Date.UTC(Number(date.slice(6, 10)), Number(date.slice(0, 2)) - 1, Number(date.slice(3, 5)));
  return (day(to) - day(from)) / DAY_MS;
}
