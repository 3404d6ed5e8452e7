/** Operator roles. Each includes the permissions of the ones before it; only owners manage operators. */
export const operator_roles = ['read_only', 'operator', 'owner'] as const;
export type OperatorRole = (typeof operator_roles)[number];
