import { type ApiError, apiError } from '../../catalog/errors.ts';
import { findKind, type KindName } from '../../model/records/kinds.ts';
import type { Database, Fragment, Query, Tx } from '../../platform/db/database.ts';

/** The first sync of a small practice takes a few seconds, of a large one minutes. */
const retry_after_s = 5;

/**
 * A condition: the first sync of this list has not finished, so that what is stored of it is incomplete. A list that the
 * EMR does not have is never read; it counts as unfinished until the organization's first sync has finished.
 */
export function isFirstSyncPending(sql: Query, organization_id: string | Fragment, kind: string | Fragment): Fragment {
  return sql`coalesce((SELECT first_read_at IS NULL FROM sync_passes
      WHERE sync_passes.organization_id = ${organization_id} AND sync_passes.kind = ${kind}),
    (SELECT synced_at IS NULL FROM organizations WHERE organizations.id = ${organization_id}))`;
}

/** A subquery for those of the kinds whose first sync has not finished, as a JSON array. */
export function pendingKinds(sql: Query, organization_id: string, kinds: readonly KindName[]): Fragment {
  return sql`(SELECT coalesce(json_agg(name), '[]') FROM unnest(${[...kinds]}::text[]) AS name
    WHERE ${isFirstSyncPending(sql, organization_id, sql`name`)})`;
}

/**
 * The error for a reference to a record that is not stored: `not_found`, unless the first sync may still add it. `among`
 * are the kinds that may have the record.
 */
export async function referenceError(
  source: Database | Tx,
  scope: { client_id: string; organization_id: string },
  among: readonly KindName[],
  not_found: ApiError,
): Promise<ApiError> {
  const query = (sql: Query) => sql`SELECT ${pendingKinds(sql, scope.organization_id, among)} AS pending`;
  const [row] =
    'read' in source
      ? await source.read<{ pending: KindName[] }>(scope.client_id, query)
      : await source<{ pending: KindName[] }[]>`${query(source)}`;
  return errorUnlessPending(row?.pending ?? [], among, not_found);
}

/** The same where the pending kinds are known. */
export function errorUnlessPending(
  pending: readonly KindName[],
  among: readonly KindName[],
  not_found: ApiError,
): ApiError {
  const kind = among.find((name) => pending.includes(name));
  if (kind === undefined) return not_found;
  const list = findKind(kind)?.labels.plural ?? kind;
  return apiError(
    'first_sync_pending',
    { list },
    { retry_after_s, ...(not_found.field && { field: not_found.field }) },
  );
}
