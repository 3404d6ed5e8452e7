/** A calendar date, in the same way on every page of records. */
export function Day({ of }: { of: string | null | undefined }) {
  return of ? <time dateTime={of}>{formatDay(of)}</time> : '–';
}

const format = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeZone: 'UTC' });

/** `2026-03-08` as Mar 8, 2026. What is no date stays as it is. */
export function formatDay(date: string): string {
  const at = new Date(`${date}T00:00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(date) && !Number.isNaN(at.getTime()) ? format.format(at) : date;
}
