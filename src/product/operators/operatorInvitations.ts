import { newId, newToken } from '../../catalog/ids.ts';
import type { OperatorRole } from '../../catalog/roles.ts';
import type { Sql, Tx } from '../../platform/db/database.ts';
import { hashToken } from '../../platform/security/signatures.ts';
import type { Context } from '../context.ts';
import { removeLinksBy } from '../link/linkTokens.ts';
import { cancelOperatorApprovals } from './approvals.ts';
import type { Access, ClientAccess, Rights } from './operatorAccess.ts';
import { endOperatorSessions } from './operatorSessions.ts';
import { endPreparationsBy } from './operators.ts';

/** How long an invitation can be used. */
const valid_hours = 72;

/** The access that an invitation gives. `clients`: null for all. */
export type Invited = { email: string; role: OperatorRole; clients: ClientAccess[] | null } & Rights;

/** Creates an invitation, in place of an earlier one to the same address. The token is not stored. */
export async function addInvitation(
  tx: Tx,
  { email, role, clients, may_reveal, may_see_disclosures, may_hold }: Invited,
  inviter: { id: string; email: string },
): Promise<{ id: string; token: string; expires_at: Date }> {
  const token = newToken('invitation');
  const id = newId();
  const [row] = await tx<{ expires_at: Date }[]>`
    INSERT INTO operator_invitations
      (id, token_hash, email, role, all_clients, clients, may_reveal, may_see_disclosures, may_hold, invited_by,
       inviter_id, expires_at)
    VALUES (${id}, ${hashToken(token)}, ${email.toLowerCase()}, ${role}, ${clients === null}, ${tx.json(clients ?? [])},
            ${may_reveal}, ${may_see_disclosures}, ${may_hold}, ${inviter.email}, ${inviter.id}, now() + make_interval(hours => ${valid_hours}))
    ON CONFLICT (email) DO UPDATE SET id = EXCLUDED.id, token_hash = EXCLUDED.token_hash, role = EXCLUDED.role,
      all_clients = EXCLUDED.all_clients, clients = EXCLUDED.clients, may_reveal = EXCLUDED.may_reveal,
      may_see_disclosures = EXCLUDED.may_see_disclosures, may_hold = EXCLUDED.may_hold,
      invited_by = EXCLUDED.invited_by, inviter_id = EXCLUDED.inviter_id, created_at = EXCLUDED.created_at, expires_at = EXCLUDED.expires_at
    RETURNING expires_at`;
  if (!row) throw new Error('The invitation was not stored.');
  return { id, token, expires_at: row.expires_at };
}

/** An invitation that was not used yet. */
export type InvitationRow = Access &
  Rights & {
    id: string;
    email: string;
    invited_by: string;
    created_at: string;
    expires_at: string;
    expired: boolean;
  };

export function listInvitations({ db: { system } }: Pick<Context, 'db'>): Promise<InvitationRow[]> {
  return system<InvitationRow[]>`
    SELECT id, email, role, all_clients, may_reveal, may_see_disclosures, may_hold, invited_by, iso(created_at) AS created_at,
           iso(expires_at) AS expires_at, expires_at < now() AS expired,
           (SELECT coalesce(json_agg(json_build_object('id', entry.id, 'client_id', known.public_id, 'role', entry.role)
                ORDER BY known.created_at, known.id), '[]')
              FROM jsonb_to_recordset(operator_invitations.clients) AS entry (id text, role text)
              JOIN clients AS known ON known.id = entry.id::uuid) AS clients
      FROM operator_invitations ORDER BY operator_invitations.created_at DESC`;
}

type OpenInvitation = { email: string; inviter_id: string; inviter_name: string; role: OperatorRole | null };

/**
 * The address and role that an invitation was made for, and by whom; undefined if it was used, revoked or has expired.
 * `role`: null if it differs between clients.
 */
export async function findInvitation(sql: Sql | Tx, token: string): Promise<OpenInvitation | undefined> {
  const [row] = await sql<OpenInvitation[]>`
    SELECT operator_invitations.email, inviter_id, coalesce(nullif(inviter.name, ''), inviter.email) AS inviter_name,
           CASE WHEN operator_invitations.all_clients THEN operator_invitations.role END AS role
      FROM operator_invitations JOIN operators AS inviter ON inviter.id = inviter_id
     WHERE token_hash = ${hashToken(token)} AND expires_at > now()
       AND inviter.role = 'owner' AND inviter.disabled_at IS NULL`;
  return row;
}

type TakenInvitation = Invited & { id: string; invited_by: string; invited_at: Date };

/**
 * Uses an invitation up. Of two requests with the same token, the second one gets undefined. The caller has locked the
 * inviter, who must still be an active owner.
 */
export async function takeInvitation(tx: Tx, token: string): Promise<TakenInvitation | undefined> {
  const [row] = await tx<(Omit<TakenInvitation, 'clients'> & { all_clients: boolean; clients: ClientAccess[] })[]>`
    DELETE FROM operator_invitations WHERE token_hash = ${hashToken(token)} AND expires_at > now()
    RETURNING id, email, role, all_clients, clients, may_reveal, may_see_disclosures, may_hold, invited_by, created_at AS invited_at`;
  if (!row) return undefined;
  const { all_clients, clients, ...invited } = row;
  return { ...invited, clients: all_clients ? null : clients };
}

export async function removeInvitation(tx: Tx, id: string): Promise<boolean> {
  const removed = await tx`DELETE FROM operator_invitations WHERE id = ${id}`;
  return removed.count > 0;
}

/** Revokes all invitations that an operator has made. */
export async function removeInvitationsBy(tx: Tx, inviter_id: string): Promise<void> {
  await tx`DELETE FROM operator_invitations WHERE inviter_id = ${inviter_id}`;
}

/** Deletes invitations a week after they have expired; until then owners see that they were not used. */
export async function purgeInvitations({ pooled: sql }: Sql): Promise<void> {
  await sql`DELETE FROM operator_invitations WHERE expires_at < now() - interval '7 days'`;
}

/**
 * Makes void what an operator has prepared that would still give access to someone: invitations, temporary passwords,
 * takeovers by single sign-on, links for practices, and approvals. Called when the operator is disabled, demoted or reset. Revealed
 * patient details end with the sessions.
 */
export async function endPreparations(ctx: Pick<Context, 'audit'>, tx: Tx, operator_id: string): Promise<void> {
  await removeInvitationsBy(tx, operator_id);
  // With the password, the operator may have signed in as someone else.
  for (const id of await endPreparationsBy(tx, operator_id)) await endOperatorSessions(tx, id);
  await removeLinksBy(tx, operator_id);
  await cancelOperatorApprovals(ctx, tx, operator_id);
}
