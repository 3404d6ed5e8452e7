import { apiError } from '../../../catalog/errors.ts';
import type { AppointmentRequest } from '../../../model/appointmentRequest.ts';
import { parseInstant } from '../../../platform/time/days.ts';
import { localTimeExists, withOffset } from '../../../platform/time/zones.ts';

/**
 * The start of the appointment with the offset of the EMR instance, `2026-03-08T09:30:00-04:00`, from either form of a
 * request. The offset keeps the instant when clocks go back and a local time occurs twice.
 */
export function appointmentTime(request: AppointmentRequest, timezone: string): string {
  const { datetime, date, time } = request;
  if (datetime !== undefined && (date !== undefined || time !== undefined)) {
    throw invalid('datetime', 'Send either datetime or date and time, not both');
  }
  if (datetime !== undefined) return withOffset(checkInstant(datetime), timezone);
  if (date === undefined && time === undefined) throw missing('datetime');
  if (date === undefined) throw missing('date');
  if (time === undefined) throw missing('time');
  const local = `${date}T${to24Hours(time)}:00`;
  if (!localTimeExists(local, timezone)) {
    throw invalid(
      'time',
      `time does not exist on ${date} in ${timezone}, because clocks go forward. Send another time`,
    );
  }
  return withOffset(local, timezone);
}

/** EMR schedules have no seconds. */
function checkInstant(datetime: string): string {
  const ms = parseInstant(datetime);
  if (ms === undefined) throw invalid('datetime', 'datetime must be a date and time with offset, in ISO 8601');
  if (ms % 60_000 !== 0) throw invalid('datetime', 'datetime must be a full minute');
  return datetime;
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
