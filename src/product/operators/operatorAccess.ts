import { type ClientRole, higherRole, includesRole, type OperatorRole } from '../../catalog/roles.ts';
import type { ClientScope } from '../../platform/db/clientScope.ts';
import type { Fragment, Query, Tx } from '../../platform/db/database.ts';

/** What an operator may do, and where. */
export type Access = {
  /** The role in all clients. Without `all_clients`, the roles in `clients` apply instead. */
  role: OperatorRole;
  all_clients: boolean;
  clients: { id: string; client_id: string; role: ClientRole }[];
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
  return sql`operators.role, may_reveal,
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
