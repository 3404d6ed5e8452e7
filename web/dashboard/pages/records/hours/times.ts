const time_format = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit', timeZone: 'UTC' });
const hour_format = new Intl.DateTimeFormat(undefined, { hour: 'numeric', timeZone: 'UTC' });

/** Two times of day (HH:MM) as the operator's language writes them. */
export function timeRange(start: string, end: string): string {
  const on = (time: string) => new Date(`1970-01-01T${time}Z`);
  return time_format.formatRange(on(start), on(end));
}

export function hourLabel(hour: number): string {
  return hour_format.format(new Date(hour * 3_600_000));
}
