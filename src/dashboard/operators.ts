import { Type } from 'typebox';
import { apiError } from '../errors.ts';
import { endpoint } from '../http/endpoint.ts';
import { parseId } from '../ids.ts';
import { operator_row, role } from '../model/dashboard/settings.ts';
import { success } from '../model/fields.ts';
import { createOperator, resetOperator } from '../operators/createOperator.ts';
import { endSessionsOf } from '../operators/operatorSessions.ts';
import { allowLinking, changeOperator, hasOwner, listOperators, usesSingleSignOn } from '../operators/operators.ts';

export const operatorsList = endpoint({
  id: 'dashboard.operators.list',
  surface: 'dashboard',
  method: 'GET',
  path: '/dashboard/api/operators',
  auth: 'operator',
  summary: 'List operators',
  response: Type.Object({ success, operators: Type.Array(operator_row) }),
  handle: async ({ ctx }) => ({ success: true, operators: await listOperators(ctx) }),
});

export const operatorsCreate = endpoint({
  id: 'dashboard.operators.create',
  surface: 'dashboard',
  method: 'POST',
  path: '/dashboard/api/operators',
  auth: 'operator',
  role: 'owner',
  summary: 'Create an operator; the initial password is shown once',
  body: Type.Object({
    email: Type.String({ maxLength: 320, pattern: '^[^\\s@]+@[^\\s@]+$' }),
    name: Type.String({ minLength: 1, maxLength: 100 }),
    role,
  }),
  response: Type.Object({ success, id: Type.String(), password: Type.String() }),
  errors: ['operator_exists', 'passwords_off'],
  handle: async ({ ctx, body, auditSubject, recordInTransaction }) => {
    if (ctx.config.oidc_only) throw apiError('passwords_off');
    const created = await createOperator(ctx, body, (tx, id) => {
      auditSubject({ subject: id, detail: { role: body.role } });
      return recordInTransaction(tx);
    });
    if (!created) throw apiError('operator_exists', undefined, { field: 'email' });
    return { success: true, ...created };
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
    role: Type.Optional(role),
    disabled: Type.Optional(Type.Boolean()),
    /** Allows single sign-on with this email address to take the operator over, for a day. */
    sso_link: Type.Optional(Type.Boolean()),
  }),
  response: Type.Object({ success }),
  errors: ['record_not_found', 'owner_last', 'operator_single_sign_on'],
  handle: async ({ ctx, params, body, auditSubject, recordInTransaction }) => {
    auditSubject({ subject: params.id, detail: { ...body } });
    const id = parseId(params.id);
    await ctx.db.system.begin(async (tx) => {
      // Locks the owners first: two owners who demote each other at the same time must not both succeed.
      await hasOwner(tx);
      if (!id || !(await changeOperator(tx, id, body))) {
        throw apiError('record_not_found', { noun: 'Operator', id: params.id });
      }
      if (body.role !== undefined && (await usesSingleSignOn(tx, id))) throw apiError('operator_single_sign_on');
      if (body.sso_link !== undefined) await allowLinking(tx, id, body.sso_link);
      if (!(await hasOwner(tx))) throw apiError('owner_last');
      if (body.role !== undefined || body.disabled) await endSessionsOf(tx, id);
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
