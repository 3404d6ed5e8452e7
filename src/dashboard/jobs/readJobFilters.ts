import { apiError } from '../../errors.ts';
import { parseId } from '../../ids.ts';
import type { JobFilters } from '../../jobs/listJobs.ts';

/** What a page asks for, with the account's id as the database has it. */
export function readJobFilters(asked: JobFilters): JobFilters {
  const { account_id } = asked;
  if (account_id === undefined) return asked;
  const id = parseId(account_id);
  if (!id) throw apiError('invalid_field', { rule: 'account_id is not an id' }, { field: 'account_id' });
  return { ...asked, account_id: id };
}
