import { apiError } from '../../catalog/errors.ts';
import type { LocationSource } from '../../model/records/locations.ts';
import type { Tx } from '../../platform/db/database.ts';

/** Names of the organization's locations by EMR id. */
export async function locationNames(tx: Tx, scope: { organization_id: string }): Promise<ReadonlyMap<string, string>> {
  const rows = await tx<{ ehr_id: string; name: string }[]>`
    SELECT ehr_id, doc ->> 'name' AS name FROM locations WHERE organization_id = ${scope.organization_id}`;
  return new Map(rows.map((row) => [row.ehr_id, row.name]));
}

/** EMR ids of the locations that take no appointments. */
export async function inactiveLocations(tx: Tx, scope: { organization_id: string }): Promise<ReadonlySet<string>> {
  const rows = await tx<{ ehr_id: string }[]>`SELECT ehr_id FROM locations
    WHERE organization_id = ${scope.organization_id} AND doc ->> 'status' = 'inactive'`;
  return new Set(rows.map(({ ehr_id }) => ehr_id));
}

/** Sets a location's status, which later syncs do not overwrite. False if the organization has no such location. */
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

/** The status of a location or provider in a request: `active` or `inactive`, in any case. */
export function parseStatus(text: string): 'active' | 'inactive' {
  const status = text.toLowerCase();
  if (status === 'active' || status === 'inactive') return status;
  throw apiError('invalid_field', { rule: 'status must be one of: active, inactive' }, { field: 'status' });
}
