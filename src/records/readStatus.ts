import { apiError } from '../errors.ts';

/** `active` or `inactive`, in any case. */
export function readStatus(text: string): 'active' | 'inactive' {
  const status = text.toLowerCase();
  if (status === 'active' || status === 'inactive') return status;
  throw apiError('invalid_field', { rule: 'status must be one of: active, inactive' }, { field: 'status' });
}
