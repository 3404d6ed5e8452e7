import type { Tx } from '../db/database.ts';
import type { ClientRole } from '../model/dashboard/roles.ts';

/** A client that an operator has access to, and the role there. */
export type ClientAccess = { id: string; role: ClientRole };

/** Replaces the clients of an operator. Clients that no longer exist are skipped. */
export async function setClients(tx: Tx, operator_id: string, clients: readonly ClientAccess[]): Promise<void> {
  await tx`DELETE FROM operator_clients WHERE operator_id = ${operator_id}`;
  await tx`
    INSERT INTO operator_clients (operator_id, client_id, role)
    SELECT ${operator_id}, clients.id, entry.role
      FROM json_to_recordset(${JSON.stringify(clients)}::text::json) AS entry (id uuid, role text)
      JOIN clients ON clients.id = entry.id`;
}
