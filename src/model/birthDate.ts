import { day } from './fields.ts';

/**
 * A date of birth in a request. Nobody alive was born before 1880, so an earlier year is a mistake or a placeholder.
 * Whether it is in the future is checked where the time zone of the practice is known.
 */
export function birthDate(description: string) {
  return day({
    // Only rejects dates: another text gets the message about the form of a date.
    pattern: '^(?!(0\\d|1[0-7])\\d\\d-|18[0-7]\\d-)',
    messages: { pattern: '{name} must not be before 1880-01-01' },
    description: `${description}, from 1880-01-01 to today`,
  });
}
