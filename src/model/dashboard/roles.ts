/** What an operator may do: look; look and act; also decide who else may. Each includes the ones before it. */
export const operator_roles = ['read_only', 'operator', 'owner'] as const;
export type OperatorRole = (typeof operator_roles)[number];
