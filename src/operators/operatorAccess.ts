import type { ClientScope } from '../db/clientScope.ts';
import { includesRole, type OperatorRole } from '../model/dashboard/roles.ts';
import type { Operator } from './operators.ts';

type Access = Pick<Operator, 'role' | 'all_clients' | 'clients'>;

/** The operator's role in a client; undefined if the operator must not know that the client exists. */
export function roleIn({ role, all_clients, clients }: Access, client_id: string): OperatorRole | undefined {
  return all_clients ? role : clients.find(({ id }) => id === client_id)?.role;
}

/** The clients in which the operator has at least this role. */
export function clientsWith({ role, all_clients, clients }: Access, required: OperatorRole): ClientScope {
  if (all_clients) return includesRole(role, required) ? 'all' : [];
  return clients.filter((each) => includesRole(each.role, required)).map(({ id }) => id);
}
