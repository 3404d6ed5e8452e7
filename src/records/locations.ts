import type { Tx } from '../db/database.ts';
import type { LocationSource } from '../model/location.ts';
import type { RecordKind, SyncScope } from './recordKind.ts';

export const locations: RecordKind<LocationSource> = {
  table: 'locations',
  list: (operations) => operations.listLocations,
  keeps: [],
  row: (source, id) => ({ doc: { id, ...source } }),
};

/** Names of the organisation's locations by EMR id. */
export async function locationNames(tx: Tx, scope: SyncScope): Promise<ReadonlyMap<string, string>> {
  const rows = await tx<{ ehr_id: string; name: string }[]>`
    SELECT ehr_id, doc ->> 'name' AS name FROM locations WHERE organisation_id = ${scope.organisation_id}`;
  return new Map(rows.map((row) => [row.ehr_id, row.name]));
}
