import { type ClientRole, higherRole, includesRole, type OperatorRole } from '../../catalog/roles.ts';
import type { Fragment, Query, Tx } from '../../platform/db/database.ts';
import type { ClientScope } from '../../platform/db/fragments.ts';

/** What an operator may do, and where. */
export type Access = {
  /** The role in all clients. Without `all_clients`, the roles in `clients` apply instead. */
  role: OperatorRole;
  all_clients: boolean;
  clients: { id: string; client_id: string; role: ClientRole }[];
};

/** What an operator may do in addition to the role. */
export type Rights = {
  /** May reveal patient details that the role hides. */
  may_reveal: boolean;
  /** May see who received data about a patient. */
  may_see_disclosures: boolean;
  /** May place and lift legal holds. */
  may_hold: boolean;
};

/** The operator's role in a client; undefined if the operator must not know that the client exists. */
export function roleIn({ role, all_clients, clients }: Access, client_id: string): OperatorRole | undefined {
  const own = clients.find(({ id }) => id === client_id)?.role;
  // An identity provider can claim a higher role for one client.
  return all_clients ? higherRole(role, own) : own;
}

/** The clients in which the operator has at least this role. */
export function clientsWith({ role, all_clients, clients }: Access, required: OperatorRole): ClientScope {
  if (all_clients && includesRole(role, required)) return 'all';
  return clients.filter((each) => includesRole(each.role, required)).map(({ id }) => id);
}

/** Whether an operator may do less than before, anywhere. */
export function isLowered(before: Access, after: Access): boolean {
  if (before.all_clients && !(after.all_clients && includesRole(after.role, before.role))) return true;
  return before.clients.some(({ id, role }) => {
    const now = roleIn(after, id);
    return now === undefined || !includesRole(now, role);
  });
}

/**
 * Role, clients and rights of an operator, for queries on `operators`. With single sign-on, the role in a client is the
 * lower of the claimed and the assigned one; a claim without a client covers all clients that are assigned.
 */
export function accessColumns(sql: Query): Fragment {
  return sql`operators.role, may_reveal, may_see_disclosures, may_hold,
    (all_clients OR operators.role = 'owner') AND (sso_subject IS NULL OR operators.claimed_role IS NOT NULL)
      AS all_clients,
    (SELECT coalesce(json_agg(json_build_object('id', replace(clients.id::text, '-', ''),
         'client_id', clients.public_id, 'role', own.role) ORDER BY clients.created_at, clients.id), '[]')
       FROM operator_clients JOIN clients ON clients.id = operator_clients.client_id
            CROSS JOIN LATERAL (SELECT higher_role(operators.claimed_role, operator_clients.claimed_role) AS role) AS claim
            CROSS JOIN LATERAL (SELECT CASE WHEN sso_subject IS NULL THEN operator_clients.role
              WHEN claim.role IS NOT NULL THEN lower_role(lower_role(claim.role, operator_clients.role), 'operator')
              END AS role) AS own
      WHERE operator_clients.operator_id = operators.id AND own.role IS NOT NULL) AS clients`;
}

/** An operator's role, clients and rights, as they are in this transaction. */
export async function readAccess(tx: Tx, id: string): Promise<Access> {
  const [row] = await tx<Access[]>`SELECT ${accessColumns(tx)} FROM operators WHERE id = ${id}`;
  return row ?? { role: 'support', all_clients: false, clients: [] };
}

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
  const existing_ids = new Set(stored.map(({ public_id }) => public_id));
  return [...claimed.keys()].filter((public_id) => !existing_ids.has(public_id));
}
