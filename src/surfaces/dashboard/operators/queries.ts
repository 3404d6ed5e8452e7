import { apiError } from '../../../catalog/errors.ts';
import type { Tx } from '../../../platform/db/database.ts';
import type { Context } from '../../../product/context.ts';
import { accessColumns, type ClientAccess } from '../../../product/operators/operatorAccess.ts';
import type { AccessChanges, OperatorRow } from './schema.ts';

export async function listOperators(ctx: Pick<Context, 'db'>): Promise<OperatorRow[]> {
  return ctx.db.system<OperatorRow[]>`
    SELECT id, email, name, ${accessColumns(ctx.db.system)},
           totp_sealed IS NOT NULL OR EXISTS (SELECT FROM operator_passkeys WHERE operator_id = operators.id)
             AS second_factor,
           disabled_at IS NOT NULL AS disabled, inactive, sso_subject IS NOT NULL AS single_sign_on,
           CASE WHEN sso_link_until > now() THEN iso(sso_link_until) END AS sso_link_until, iso(created_at) AS created_at,
           iso(last_used_at) AS seen_at
      FROM operators ORDER BY disabled_at IS NOT NULL, email`;
}

/** The clients of a request by their ids; null, for all clients, and undefined stay as they are. */
export async function resolveClients<Sent extends AccessChanges['clients']>(
  tx: Tx,
  sent: Sent,
): Promise<ClientAccess[] | Exclude<Sent, readonly unknown[]>> {
  if (!Array.isArray(sent)) return sent as Exclude<Sent, readonly unknown[]>;
  const clients = await tx<{ id: string; public_id: string }[]>`
    SELECT id, public_id FROM clients WHERE public_id = ANY (${sent.map(({ client_id }) => client_id)})`;
  return sent.map(({ client_id, role }, n) => {
    const match = clients.find(({ public_id }) => public_id === client_id);
    const repeated = sent.findIndex((each) => each.client_id === client_id) < n;
    if (repeated) throw apiError('invalid_field', { rule: 'clients must not repeat a client' }, { field: 'clients' });
    if (!match) throw apiError('record_not_found', { noun: 'Client', id: client_id }, { field: 'clients' });
    return { id: match.id, role };
  });
}
