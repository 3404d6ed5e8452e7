import { Type } from 'typebox';
import { apiError } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { parseId } from '../../ids.ts';
import { invitation_row } from '../../model/dashboard/invitations.ts';
import { access_changes, operator_row } from '../../model/dashboard/settings.ts';
import { success } from '../../model/fields.ts';
import { resetOperator } from '../../operators/localAccounts.ts';
import { setClients } from '../../operators/operatorClients.ts';
import { listInvitations } from '../../operators/operatorInvitations.ts';
import { endSessionsOf } from '../../operators/operatorSessions.ts';
import { allowLinking, changeOperator, hasOwner, listOperators, usesSingleSignOn } from '../../operators/operators.ts';
import { ownersHaveAll, resolveClients } from './clientAccess.ts';

export const operatorsList = endpoint({
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
});

export const operatorsUpdate = endpoint({
  id: 'dashboard.operators.update',
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
  errors: ['record_not_found', 'invalid_field', 'owner_last', 'operator_single_sign_on'],
  handle: async ({ ctx, params, body: { clients, sso_link, ...changes }, auditSubject, recordInTransaction }) => {
    const detail = { ...changes, ...(sso_link === undefined ? {} : { sso_link }) };
    auditSubject({ subject: params.id, detail: { ...detail, ...(clients === undefined ? {} : { clients }) } });
    const id = parseId(params.id);
    await ctx.db.system.begin(async (tx) => {
      // Locks the owners first: two owners who demote each other at the same time must not both succeed.
      await hasOwner(tx);
      const access = await resolveClients(tx, changes.role === 'owner' ? (clients ?? null) : clients);
      const all_clients = access === undefined ? undefined : access === null;
      const role = id && (await changeOperator(tx, id, { ...changes, all_clients }));
      if (!id || !role) throw apiError('record_not_found', { noun: 'Operator', id: params.id });
      if (changes.role !== undefined && (await usesSingleSignOn(tx, id))) throw apiError('operator_single_sign_on');
      if (access && role === 'owner') throw ownersHaveAll();
      if (access !== undefined) await setClients(tx, id, access ?? []);
      if (sso_link !== undefined) await allowLinking(tx, id, sso_link);
      if (!(await hasOwner(tx))) throw apiError('owner_last');
      const access_changed = changes.role !== undefined || access !== undefined || changes.may_reveal !== undefined;
      if (access_changed || changes.disabled) await endSessionsOf(tx, id);
      await recordInTransaction(tx);
    });
    return { success: true };
  },
});

export const operatorsReset = endpoint({
  id: 'dashboard.operators.reset',
  surface: 'dashboard',
  method: 'POST',
  path: '/dashboard/api/operators/{id}/reset',
  auth: 'operator',
  role: 'owner',
  summary: 'Reset an operator’s password and second factor; the new password is shown once',
  params: Type.Object({ id: Type.String() }),
  body: Type.Object({}),
  response: Type.Object({ success, password: Type.String() }),
  errors: ['record_not_found', 'passwords_off', 'operator_single_sign_on'],
  handle: async ({ ctx, params, auditSubject, recordInTransaction }) => {
    auditSubject({ subject: params.id });
    if (ctx.config.oidc_only) throw apiError('passwords_off');
    const id = parseId(params.id);
    if (id && (await usesSingleSignOn(ctx.db.system, id))) throw apiError('operator_single_sign_on');
    const password = id && (await resetOperator(ctx, id, recordInTransaction));
    if (!password) throw apiError('record_not_found', { noun: 'Operator', id: params.id });
    return { success: true, password };
  },
});
