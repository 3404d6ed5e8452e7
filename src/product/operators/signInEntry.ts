import type { AuditEntry } from '../context.ts';

/**
 * The audit record of a sign-in or its refusal. A person who is not an operator is not named: what was entered as email
 * address may be a password typed into the wrong field.
 */
export function signInEntry(
  operator: { id: string; email: string } | undefined,
  { address }: { address: string },
  outcome: string,
  detail?: Record<string, unknown>,
): AuditEntry {
  return {
    client_id: null,
    actor_kind: 'operator',
    actor: operator?.email ?? 'unknown',
    action: 'operator.sign_in',
    outcome,
    subject: operator?.id,
    address,
    detail,
  };
}
