import { operator_roles } from './api.gen.ts';
import type { OperatorRole, Session } from './types.ts';

type Operator = Session['operator'];

export type Access = {
  /** Whether the operator's role includes this one: in the client whose pages are shown, elsewhere in all clients. */
  may: (role: OperatorRole) => boolean;
  sees_patients: boolean;
};

/** The operator's access to a client, or without one to the installation. */
export function determineAccess({ role, all_clients, clients }: Operator, client_id?: string): Access {
  const in_client = clients.find((each) => each.client_id === client_id)?.role;
  // An identity provider can claim a higher role for one client.
  const own = all_clients && !(in_client && includes(in_client, role)) ? role : in_client;
  const may = (required: OperatorRole) => own !== undefined && includes(own, required);
  return { may, sees_patients: may('read_only') };
}

/** Whether the operator has the role in at least one client. */
export function mayInAny({ role, all_clients, clients }: Operator, required: OperatorRole): boolean {
  return (all_clients && includes(role, required)) || clients.some((each) => includes(each.role, required));
}

function includes(role: OperatorRole, required: OperatorRole): boolean {
  return operator_roles.indexOf(role) >= operator_roles.indexOf(required);
}
