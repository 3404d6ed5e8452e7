import { dayOf } from '../../availability/days.ts';
import { apiError } from '../../errors.ts';
import type { AppointmentRequest } from '../../model/appointmentRequest.ts';

/** ISO 8601 with an offset, to the minute or finer. */
const instant_form = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/;

/** The start of the appointment in the EMR's local time, `2026-03-08T09:30:00`, from either form of a request. */
export function appointmentTime(request: AppointmentRequest, timezone: string): string {
  const { datetime, date, time } = request;
  if (datetime !== undefined && (date !== undefined || time !== undefined)) {
    throw invalid('datetime', 'Send either datetime or date and time, not both');
  }
  if (datetime !== undefined) return toLocalTime(readInstant(datetime), timezone);
  if (date === undefined && time === undefined) throw missing('datetime');
  if (date === undefined) throw missing('date');
  if (time === undefined) throw missing('time');
  return `${date}T${to24Hours(time)}:00`;
}

function readInstant(datetime: string): Date {
  const instant = new Date(datetime);
  // JavaScript reads 30 February as 2 March; `dayOf` rejects it.
  if (!instant_form.test(datetime) || Number.isNaN(instant.getTime()) || dayOf(datetime) === undefined) {
    throw invalid('datetime', 'datetime must be a date and time with offset, in ISO 8601');
  }
  return instant;
}

function toLocalTime(instant: Date, timeZone: string): string {
  const parts = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).formatToParts(instant);
  const part = (type: string) => parts.find((each) => each.type === type)?.value ?? '';
  return `${part('year')}-${part('month')}-${part('day')}T${part('hour')}:${part('minute')}:00`;
}

/** `9:05 pm` as `21:05`. */
function to24Hours(time: string): string {
  const [, hour = '', minute = '', half = ''] = /^(\d+):(\d\d) ?([ap])m$/i.exec(time) ?? [];
  const hours = (Number(hour) % 12) + (half.toLowerCase() === 'p' ? 12 : 0);
  return `${String(hours).padStart(2, '0')}:${minute}`;
}

function missing(field: string) {
  return apiError('missing_field', { field }, { field });
}

function invalid(field: string, rule: string) {
  return apiError('invalid_field', { rule }, { field });
}
