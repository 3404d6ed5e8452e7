import { apiError } from '../errors.ts';

/** Refuses a range of days that ends before it starts: it would be answered with nothing, as if nothing were there. */
export function checkRange({ start_date, end_date }: { start_date?: string; end_date?: string }): void {
  if (start_date === undefined || end_date === undefined || start_date <= end_date) return;
  throw apiError('invalid_field', { rule: 'end_date must not be before start_date' }, { field: 'end_date' });
}
