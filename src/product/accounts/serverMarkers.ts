import type { Tx } from '../../platform/db/database.ts';
import type { StoredAccount } from './accounts.ts';

type At = Pick<StoredAccount, 'client_id' | 'organization_id' | 'emr_address'>;

/**
 * A marker by which a record of this type was found at the account's address, by any account of the client.
 *
 * Only the marker is shared, not what it shows: each account searches for it itself, with its own rights, and at its own
 * address. So no account, and no server, can make another account believe something about another server. It is not
 * shared between clients: one would search for records of another.
 */
export async function readServerMarker(tx: Tx, { emr_address }: At, type: string): Promise<string | undefined> {
  const [row] = await tx<{ marker: string }[]>`
    SELECT marker FROM server_markers WHERE emr_address = ${emr_address} AND type = ${type}`;
  return row?.marker;
}

/** Stores a marker by which the account found a record. The newest one counts: older records may have been deleted. */
export async function storeServerMarker(tx: Tx, account: At, type: string, marker: string): Promise<void> {
  const { client_id, organization_id, emr_address } = account;
  await tx`INSERT INTO server_markers (client_id, emr_address, type, organization_id, marker)
    VALUES (${client_id}, ${emr_address}, ${type}, ${organization_id}, ${marker})
    ON CONFLICT (client_id, emr_address, type) DO UPDATE
      SET organization_id = excluded.organization_id, marker = excluded.marker, found_at = now()`;
}
