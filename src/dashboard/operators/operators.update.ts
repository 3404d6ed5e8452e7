import { Type } from 'typebox';
import { endSessionsOf } from '../../clients/operatorSessions.ts';
import { changeOperator, hasOwner } from '../../clients/operators.ts';
import { apiError } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { parseId } from '../../ids.ts';
import { role } from '../../model/dashboard/settings.ts';
import { success } from '../../model/fields.ts';

export default endpoint({
  id: 'dashboard.operators.update',
  method: 'PATCH',
  path: '/dashboard/api/operators/{id}',
  auth: 'operator',
  role: 'owner',
  summary: 'Change what a person may do, or shut them out',
  params: Type.Object({ id: Type.String() }),
  body: Type.Object({
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
    role: Type.Optional(role),
    disabled: Type.Optional(Type.Boolean()),
  }),
  response: Type.Object({ success }),
  errors: ['record_not_found', 'owner_last'],
  handle: async ({ ctx, params, body, auditSubject, recordInTransaction }) => {
    auditSubject({ subject: params.id, detail: { ...body } });
    const id = parseId(params.id);
    await ctx.db.system.begin(async (tx) => {
      // The owners are locked first: two that take each other's role away at once must not both succeed.
      await hasOwner(tx);
      if (!id || !(await changeOperator(tx, id, body))) {
        throw apiError('record_not_found', { noun: 'Operator', id: params.id });
      }
      if (!(await hasOwner(tx))) throw apiError('owner_last');
      if (body.role !== undefined || body.disabled) await endSessionsOf(tx, id);
      await recordInTransaction(tx);
    });
    return { success: true };
  },
});
