/**
 * Operator roles. Each includes the permissions of the ones before it. `support` sees no patient details; only owners
 * manage operators, and they always have all clients.
 */
export const operator_roles = ['support', 'read_only', 'operator', 'owner'] as const;
export type OperatorRole = (typeof operator_roles)[number];

/** Roles that can be limited to a client. */
export const client_roles = ['support', 'read_only', 'operator'] as const;
export type ClientRole = (typeof client_roles)[number];

export function includesRole(role: OperatorRole, required: OperatorRole): boolean {
  return operator_roles.indexOf(role) >= operator_roles.indexOf(required);
}

export function higherRole(role: OperatorRole, other: OperatorRole | undefined): OperatorRole {
  return other !== undefined && includesRole(other, role) ? other : role;
}
