import { apiError } from '../../catalog/errors.ts';

/** The paging parameters of a list (`paging` in model/fields.ts). */
export type Paging = { page?: number | undefined; cursor?: string | undefined; page_size?: number | undefined };

/** A page has a number, or follows another one in a walk. */
export function checkPaging({ page, cursor }: Paging): void {
  if (page === undefined || cursor === undefined) return;
  throw apiError('invalid_field', { rule: 'page and cursor cannot be combined' }, { field: 'cursor' });
}
