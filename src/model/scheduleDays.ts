/** The days that can be booked and whose schedule can be read. Wide enough for every practice, and far from what EMRs cannot store. */
const [first_day, last_day] = ['1900-01-01', '2199-12-31'];

/** As part of a message about a field. */
export const schedule_day_rule = `must be from ${first_day} to ${last_day}`;

export function isScheduleDay(date: string): boolean {
  return date >= first_day && date <= last_day;
}
