import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { requireOwnOrigin } from '../../../http/auth/authenticateOperator.ts';
import { endpoint } from '../../../http/endpoint.ts';
import { created_invitation, invitation_token, new_invitation } from '../../../model/dashboard/invitations.ts';
import { session } from '../../../model/dashboard/session.ts';
import { secret, success } from '../../../model/fields.ts';
import { acceptInvitation } from '../../../product/operators/localAccounts.ts';
import { addInvitation, findInvitation, removeInvitation } from '../../../product/operators/operatorInvitations.ts';
import { isEmailTaken, lockActiveOwner } from '../../../product/operators/operators.ts';
import { signInOperator } from '../../../product/operators/signIn.ts';
import { ownersHaveAll, requireLocalSession, resolveClients } from './clientAccess.ts';
import { browserOf, started } from './session.ts';

export const invitationsCreate = endpoint({
  id: 'dashboard.invitations.create',
  fresh_sign_in: true,
  surface: 'dashboard',
  method: 'POST',
  path: '/dashboard/api/invitations',
  auth: 'operator',
  role: 'owner',
  summary: 'Invite an operator; the link is shown once and replaces an earlier one for the address',
  body: new_invitation,
  response: Type.Object({ success, invitation: created_invitation }),
  errors: ['operator_exists', 'record_not_found', 'invalid_field', 'passwords_off', 'owner_from_provider'],
  handle: async ({ ctx, operator, body, auditSubject, recordInTransaction }) => {
    if (ctx.config.oidc_only) throw apiError('passwords_off');
    const { email, role, clients = null, may_reveal = false } = body;
    if (role === 'owner' && clients) throw ownersHaveAll();
    if (role === 'owner') requireLocalSession(operator);
    const { id, token, expires_at } = await ctx.db.system.begin(async (tx) => {
      // The operator may have been disabled since the session was checked.
      if (!(await lockActiveOwner(tx, operator.id))) throw apiError('operator_session_over');
      if (await isEmailTaken(tx, email)) throw apiError('operator_exists', undefined, { field: 'email' });
      const invited = { email, role, clients: await resolveClients(tx, clients), may_reveal };
      const created = await addInvitation(tx, invited, operator);
      auditSubject({ subject: created.id, detail: { email: email.toLowerCase(), role, clients, may_reveal } });
      await recordInTransaction(tx);
      return created;
    });
    const link = `${ctx.base_url}/dashboard/invitation#${token}`;
    return { success: true, invitation: { id, link, expires_at: expires_at.toISOString() } };
  },
});

export const invitationsRevoke = endpoint({
  id: 'dashboard.invitations.revoke',
  fresh_sign_in: true,
  surface: 'dashboard',
  method: 'DELETE',
  path: '/dashboard/api/invitations/{id}',
  auth: 'operator',
  role: 'owner',
  summary: 'Revoke an invitation',
  params: Type.Object({ id: Type.String() }),
  response: Type.Object({ success }),
  errors: ['record_not_found'],
  handle: async ({ ctx, params, recordInTransaction }) => {
    const id = parseId(params.id);
    await ctx.db.system.begin(async (tx) => {
      if (!id || !(await removeInvitation(tx, id))) {
        throw apiError('record_not_found', { noun: 'Invitation', id: params.id });
      }
      await recordInTransaction(tx);
    });
    return { success: true };
  },
});

/** A POST, because the token must not appear in a URL that servers see. */
export const invitationsFind = endpoint({
  id: 'dashboard.invitations.find',
  surface: 'dashboard',
  method: 'POST',
  path: '/dashboard/api/invitations/find',
  auth: 'none',
  summary: 'Retrieve the email address of an invitation',
  body: Type.Object({ token: invitation_token }),
  response: Type.Object({ success, email: Type.String() }),
  errors: ['invitation_invalid', 'operator_request_foreign'],
  handle: async ({ ctx, headers, body }) => {
    requireOwnOrigin(ctx, headers);
    const invitation = await findInvitation(ctx.db.system, body.token);
    if (invitation === undefined) throw apiError('invitation_invalid');
    return { success: true, email: invitation.email };
  },
});

export const invitationsAccept = endpoint({
  id: 'dashboard.invitations.accept',
  surface: 'dashboard',
  method: 'POST',
  path: '/dashboard/api/invitations/accept',
  auth: 'none',
  // Hashing a password takes 20 ms of a core and 19 MiB.
  address_cost: 25,
  summary: 'Accept an invitation with a name and a password, and sign in',
  body: Type.Object({
    token: invitation_token,
    name: Type.String({ minLength: 1, maxLength: 100 }),
    password: secret({ maxLength: 1000 }),
  }),
  response: Type.Object({ success, session }),
  errors: ['invitation_invalid', 'invalid_field', 'operator_exists', 'operator_request_foreign', 'passwords_off'],
  handle: async ({ ctx, headers, address, body }) => {
    requireOwnOrigin(ctx, headers);
    if (ctx.config.oidc_only) throw apiError('passwords_off');
    const accepted = await acceptInvitation(ctx, body, (tx, { id, invitation_id, email }) =>
      ctx.audit.recordInTransaction(tx, {
        client_id: null,
        actor_kind: 'operator',
        actor: email,
        action: 'operator.accept_invitation',
        outcome: 'created',
        subject: id,
        address,
        detail: { invitation: invitation_id },
      }),
    );
    if (!accepted) throw apiError('invitation_invalid');
    const browser = browserOf(ctx, headers, address);
    return started(ctx, await signInOperator(ctx, { ...accepted, method: 'password' }, browser));
  },
});
