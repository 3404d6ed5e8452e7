const time_format = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit', timeZone: 'UTC' });
const hour_format = new Intl.DateTimeFormat(undefined, { hour: 'numeric', timeZone: 'UTC' });

/** Two times of day (HH:MM) as the operator's language writes them. */
export function timeRange(start: string, end: string): string {
  const on = (time: string) => new Date(`1970-01-01T${time}Z`);
  if (start !== midnight && end !== midnight) return time_format.formatRange(on(start), on(end));
  // As a range, “12:00 – 9:00 AM” looks like noon.
  const name = (time: string) => (time === midnight ? 'midnight' : time_format.format(on(time)));
  return start === end ? 'all day' : `${name(start)} – ${name(end)}`;
}

const midnight = '00:00';

export function hourLabel(hour: number): string {
  return hour_format.format(new Date(hour * 3_600_000));
}
