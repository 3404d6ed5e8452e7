import { Type } from 'typebox';
import { type ApiError, apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { type Endpoint, endpoint, type StoredRequest } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import { couldApprove, isApprover, makesApprover } from '../../../product/operators/approvers.ts';
import { resetOperator } from '../../../product/operators/localAccounts.ts';
import { isLowered, readAccess, setClients } from '../../../product/operators/operatorAccess.ts';
import {
  addInvitation,
  endPreparations,
  listInvitations,
  removeInvitation,
} from '../../../product/operators/operatorInvitations.ts';
import { endOperatorSessions } from '../../../product/operators/operatorSessions.ts';
import {
  allowLinking,
  changeOperator,
  hasOwner,
  isEmailTaken,
  lockActiveOwner,
  lockStanding,
  type Operator,
  readOperatorAccess,
  type Standing,
} from '../../../product/operators/operators.ts';
import { listOperators, resolveClients } from './queries.ts';
import { access_changes, created_invitation, invitation_row, new_invitation, operator_row } from './schema.ts';

export const operators_endpoints: readonly Endpoint[] = [
  endpoint({
    id: 'dashboard.operators.list',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/operators',
    auth: 'operator',
    role: 'owner',
    summary: 'List operators',
    response: Type.Object({
      success,
      operators: Type.Array(operator_row),
      /** Not used yet. */
      invitations: Type.Array(invitation_row),
    }),
    handle: async ({ ctx }) => {
      const [operators, invitations] = await Promise.all([listOperators(ctx), listInvitations(ctx)]);
      return { success: true, operators, invitations };
    },
  }),
  endpoint({
    id: 'dashboard.operators.update',
    fresh_sign_in: true,
    second_person: {
      action: 'owners',
      when: async ({ ctx, params, body }) => makesApprover(ctx, requireId(params), body),
      describe: describeOperator,
    },
    surface: 'dashboard',
    method: 'PATCH',
    path: '/dashboard/api/operators/{id}',
    auth: 'operator',
    role: 'owner',
    summary: 'Update or disable an operator',
    params: Type.Object({ id: Type.String() }),
    body: Type.Object({
      name: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
      ...access_changes,
      disabled: Type.Optional(Type.Boolean()),
      /** Allows single sign-on with this email address to take the operator over, for a day. */
      sso_link: Type.Optional(Type.Boolean()),
    }),
    response: Type.Object({ success }),
    errors: ['record_not_found', 'invalid_field', 'owner_last', 'owner_from_provider'],
    handle: async ({ ctx, params, operator, body, auditSubject, recordInTransaction }) => {
      const { clients, sso_link, ...changes } = body;
      const detail = { ...changes, ...(sso_link === undefined ? {} : { sso_link }) };
      auditSubject({ subject: params.id, detail: { ...detail, ...(clients === undefined ? {} : { clients }) } });
      const id = parseId(params.id);
      await ctx.db.system.begin(async (tx) => {
        // Locks the owners first: two owners who demote each other at the same time must not both succeed.
        await hasOwner(tx);
        if (!(await lockActiveOwner(tx, operator.id))) throw apiError('operator_session_over');
        const access = await resolveClients(tx, changes.role === 'owner' ? (clients ?? null) : clients);
        const all_clients = access === undefined ? undefined : access === null;
        const standing = id && (await lockStanding(tx, id));
        const before = id && (await readAccess(tx, id));
        const role = id && (await changeOperator(tx, id, { ...changes, all_clients }));
        if (!id || !standing || !before || !role)
          throw apiError('record_not_found', { noun: 'Operator', id: params.id });
        const regained = !standing.owner || (standing.disabled && changes.disabled === false);
        if (role === 'owner' && regained && !standing.single_sign_on) requireLocalSession(operator);
        if (access && role === 'owner') throw ownersHaveAll();
        if (access !== undefined) await setClients(tx, id, access ?? []);
        if (sso_link !== undefined) await allowLinking(tx, id, sso_link, operator.id);
        if (!(await hasOwner(tx))) throw apiError('owner_last');
        const rights = [changes.role, access, changes.may_reveal, changes.may_see_disclosures, changes.may_hold];
        const access_changed = rights.some((right) => right !== undefined);
        if (access_changed || changes.disabled) await endOperatorSessions(tx, id);
        if (changes.disabled || isLowered(before, await readAccess(tx, id))) await endPreparations(ctx, tx, id);
        await recordInTransaction(tx);
      });
      ctx.notifications.notify('chartwire_operators', id ?? '');
      return { success: true };
    },
  }),
  endpoint({
    id: 'dashboard.operators.reset',
    fresh_sign_in: true,
    second_person: {
      action: 'owners',
      returns_secret: true,
      when: async ({ ctx, params }) => isApprover(ctx, requireId(params)),
      describe: describeOperator,
    },
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/operators/{id}/reset',
    auth: 'operator',
    role: 'owner',
    summary: 'Reset an operator’s password and second factor; the new password is shown once',
    params: Type.Object({ id: Type.String() }),
    body: Type.Object({}),
    response: Type.Object({ success, password: Type.String() }),
    errors: ['record_not_found', 'passwords_off', 'operator_single_sign_on', 'owner_from_provider'],
    handle: async ({ ctx, params, operator, auditSubject, recordInTransaction }) => {
      auditSubject({ subject: params.id });
      if (ctx.config.oidc_only) throw apiError('passwords_off');
      const id = parseId(params.id);
      const authorize = ({ single_sign_on, owner }: Standing) => {
        if (single_sign_on) throw apiError('operator_single_sign_on');
        if (owner) requireLocalSession(operator);
      };
      const password = id && (await resetOperator(ctx, id, recordInTransaction, { reset_by: operator.id, authorize }));
      ctx.notifications.notify('chartwire_operators', id ?? '');
      if (!password) throw apiError('record_not_found', { noun: 'Operator', id: params.id });
      return { success: true, password };
    },
  }),
  endpoint({
    id: 'dashboard.invitations.create',
    fresh_sign_in: true,
    second_person: {
      action: 'owners',
      returns_secret: true,
      when: ({ ctx, body: { role, clients = null } }) => couldApprove(ctx.config, { role, clients }),
      describe: async ({ body }) => body.email.toLowerCase(),
    },
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
      const { email, role, clients = null, may_reveal = false, may_see_disclosures = false, may_hold = false } = body;
      if (role === 'owner' && clients) throw ownersHaveAll();
      if (role === 'owner') requireLocalSession(operator);
      const { id, token, expires_at } = await ctx.db.system.begin(async (tx) => {
        // The operator may have been disabled since the session was checked.
        if (!(await lockActiveOwner(tx, operator.id))) throw apiError('operator_session_over');
        if (await isEmailTaken(tx, email)) throw apiError('operator_exists', undefined, { field: 'email' });
        const invited = {
          email,
          role,
          clients: await resolveClients(tx, clients),
          may_reveal,
          may_see_disclosures,
          may_hold,
        };
        const created = await addInvitation(tx, invited, operator);
        auditSubject({
          subject: created.id,
          detail: { email: email.toLowerCase(), role, clients, may_reveal, may_see_disclosures, may_hold },
        });
        await recordInTransaction(tx);
        return created;
      });
      const link = `${ctx.base_url}/dashboard/invitation#${token}`;
      return { success: true, invitation: { id, link, expires_at: expires_at.toISOString() } };
    },
  }),
  endpoint({
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
  }),
];

function requireId(params: Record<string, unknown>): string {
  const id = parseId(String(params.id));
  if (!id) throw apiError('record_not_found', { noun: 'Operator', id: String(params.id) });
  return id;
}

async function describeOperator({ ctx, params }: StoredRequest<unknown>): Promise<string> {
  const stored = await readOperatorAccess(ctx.db.system, requireId(params));
  if (!stored) throw apiError('record_not_found', { noun: 'Operator', id: String(params.id) });
  return stored.email;
}

function ownersHaveAll(): ApiError {
  return apiError('invalid_field', { rule: 'An owner has access to all clients' }, { field: 'clients' });
}

/**
 * Someone whom the identity provider controls must not create or enable an owner, or get the password of one, that it does
 * not control: it would outlive their removal at the provider.
 */
function requireLocalSession({ method }: Operator): void {
  if (method === 'single_sign_on') throw apiError('owner_from_provider');
}
