import { type ApiError, apiError } from '../../../catalog/errors.ts';
import type { AccessChanges } from '../../../model/dashboard/settings.ts';
import type { Tx } from '../../../platform/db/database.ts';
import type { ClientAccess } from '../../../product/operators/operatorAccess.ts';
import type { Operator } from '../../../product/operators/operators.ts';

/** The clients of a request by their ids; null, for all clients, and undefined stay as they are. */
export async function resolveClients<Sent extends AccessChanges['clients']>(
  tx: Tx,
  sent: Sent,
): Promise<ClientAccess[] | Exclude<Sent, readonly unknown[]>> {
  if (!Array.isArray(sent)) return sent as Exclude<Sent, readonly unknown[]>;
  const known = await tx<{ id: string; public_id: string }[]>`
    SELECT id, public_id FROM clients WHERE public_id = ANY (${sent.map(({ client_id }) => client_id)})`;
  return sent.map(({ client_id, role }, n) => {
    const found = known.find(({ public_id }) => public_id === client_id);
    const repeated = sent.findIndex((each) => each.client_id === client_id) < n;
    if (repeated) throw apiError('invalid_field', { rule: 'clients must not repeat a client' }, { field: 'clients' });
    if (!found) throw apiError('record_not_found', { noun: 'Client', id: client_id }, { field: 'clients' });
    return { id: found.id, role };
  });
}

export function ownersHaveAll(): ApiError {
  return apiError('invalid_field', { rule: 'An owner has access to all clients' }, { field: 'clients' });
}

/**
 * Someone whom the identity provider controls must not create or enable an owner, or get the password of one, that it does
 * not control: it would outlive their removal at the provider.
 */
export function requireLocalSession({ method }: Operator): void {
  if (method === 'single_sign_on') throw apiError('owner_from_provider');
}
