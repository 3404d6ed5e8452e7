import type { Tx } from '../../platform/db/database.ts';
import { removeLinksBy } from '../link/linkTokens.ts';
import { removeInvitationsBy } from './operatorInvitations.ts';
import { endSessionsOf } from './operatorSessions.ts';
import { endPreparationsBy } from './operators.ts';

/**
 * Makes void what an operator has prepared that would still give access to someone: invitations, temporary passwords,
 * takeovers by single sign-on, and links for clinics. Called when the operator is disabled, demoted or reset. Revealed
 * patient details end with the sessions.
 */
export async function endPreparations(tx: Tx, operator_id: string): Promise<void> {
  await removeInvitationsBy(tx, operator_id);
  // With the password, the operator may have signed in as someone else.
  for (const id of await endPreparationsBy(tx, operator_id)) await endSessionsOf(tx, id);
  await removeLinksBy(tx, operator_id);
}
