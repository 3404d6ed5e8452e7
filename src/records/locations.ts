import type { Tx } from '../db/database.ts';
import type { LocationSource } from '../model/records/locations.ts';
import type { RecordKind, SyncScope } from './recordKind.ts';

export const locations: RecordKind<LocationSource> = {
  table: 'locations',
  list: (operations) => operations.listLocations,
  keeps: ['status_set'],
  row: (source, id, kept) => {
    // `keeps` names the column, and its check constraint the values.
    const status = (kept?.status_set as LocationSource['status'] | null | undefined) ?? source.status;
    return { doc: { id, ...source, status } };
  },
};

/** Names of the organization's locations by EMR id. */
export async function locationNames(tx: Tx, scope: SyncScope): Promise<ReadonlyMap<string, string>> {
  const rows = await tx<{ ehr_id: string; name: string }[]>`
    SELECT ehr_id, doc ->> 'name' AS name FROM locations WHERE organization_id = ${scope.organization_id}`;
  return new Map(rows.map((row) => [row.ehr_id, row.name]));
}

/** Sets a location's status, which from then on outlives syncs. False when the organization has no such location. */
export async function setLocationStatus(
  tx: Tx,
  organization_id: string,
  id: string,
  status: LocationSource['status'],
): Promise<boolean> {
  const changed = await tx`UPDATE locations SET status_set = ${status}, source_hash = '',
      doc = (doc::jsonb || jsonb_build_object('status', ${status}::text))::json
    WHERE organization_id = ${organization_id} AND id = ${id} RETURNING id`;
  return changed.length > 0;
}
