import type { ClientRole } from '../../catalog/roles.ts';
import type { Tx } from '../../platform/db/database.ts';

/** A client that an operator has access to, and the role there. */
export type ClientAccess = { id: string; role: ClientRole };

/** Replaces the roles in clients that owners have assigned to an operator. Clients that no longer exist are skipped. */
export async function setClients(tx: Tx, operator_id: string, clients: readonly ClientAccess[]): Promise<void> {
  await tx`DELETE FROM operator_clients WHERE operator_id = ${operator_id} AND claimed_role IS NULL`;
  await tx`UPDATE operator_clients SET role = NULL WHERE operator_id = ${operator_id}`;
  await tx`
    INSERT INTO operator_clients (operator_id, client_id, role)
    SELECT ${operator_id}, clients.id, entry.role
      FROM json_to_recordset(${JSON.stringify(clients)}::text::json) AS entry (id uuid, role text)
      JOIN clients ON clients.id = entry.id
    ON CONFLICT (operator_id, client_id) DO UPDATE SET role = EXCLUDED.role`;
}

/**
 * Replaces the roles in clients that the identity provider claims, by the public ids of the clients. Returns those that
 * do not exist.
 */
export async function setClaimedClients(
  tx: Tx,
  operator_id: string,
  claimed: ReadonlyMap<string, ClientRole>,
): Promise<string[]> {
  await tx`DELETE FROM operator_clients WHERE operator_id = ${operator_id} AND role IS NULL`;
  await tx`UPDATE operator_clients SET claimed_role = NULL WHERE operator_id = ${operator_id}`;
  const stored = await tx<{ public_id: string }[]>`
    INSERT INTO operator_clients (operator_id, client_id, claimed_role)
    SELECT ${operator_id}, clients.id, entry.role
      FROM unnest(${[...claimed.keys()]}::text[], ${[...claimed.values()]}::text[]) AS entry (public_id, role)
      JOIN clients ON clients.public_id = entry.public_id
    ON CONFLICT (operator_id, client_id) DO UPDATE SET claimed_role = EXCLUDED.claimed_role
    RETURNING (SELECT public_id FROM clients WHERE id = client_id) AS public_id`;
  const known = new Set(stored.map(({ public_id }) => public_id));
  return [...claimed.keys()].filter((public_id) => !known.has(public_id));
}
