import { apiError } from '../../../catalog/errors.ts';
import { fold } from '../../../model/fold.ts';
import type { VisitCode } from '../../../model/records/visitTypes.ts';
import type { Tx } from '../../../platform/db/database.ts';
import { referenceError, type Scope } from '../../records/readRecords.ts';
import { findVisitType } from '../../records/settings.ts';

/** The visit status that a request names: by code, by description, or by one of the interface's own words. */
export async function findStatus(tx: Tx, scope: Scope, name: string): Promise<VisitCode> {
  const statuses = await tx<VisitCode[]>`SELECT doc ->> 'code' AS code, doc ->> 'description' AS description
    FROM visit_statuses WHERE organization_id = ${scope.organization_id} ORDER BY id`;
  const word = words.find(({ names }) => names.includes(fold(name)));
  const status = findVisitType(statuses, name) ?? statuses.find((each) => word?.matches(each));
  if (status) return status;
  const rule = `status must be one of: ${[...statuses.map(({ code }) => code), 'cancelled', 'rescheduled'].join(', ')}`;
  throw await referenceError(tx, scope, ['visit_statuses'], apiError('invalid_field', { rule }, { field: 'status' }));
}

/** Whether a status means that the visit does not take place because it was canceled. */
export function isCancellation({ code, description }: VisitCode): boolean {
  return /\bcancel/i.test(`${code} ${description}`);
}

/** Whether a visit with this status takes no time in the schedule. */
export function freesTime({ code, description }: VisitCode): boolean {
  return /\b(cancel|resched|no[ -]?show|entered[ -]in[ -]error|proposed|wait ?list)/i.test(`${code} ${description}`);
}

const words = [
  { names: ['cancelled', 'canceled'], matches: isCancellation },
  {
    names: ['rescheduled'],
    matches: ({ code, description }: VisitCode) => /\bresched/i.test(`${code} ${description}`),
  },
];
