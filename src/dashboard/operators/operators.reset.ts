import { Type } from 'typebox';
import { resetOperator } from '../../clients/createOperator.ts';
import { apiError } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { parseId } from '../../ids.ts';
import { success } from '../../model/fields.ts';

export default endpoint({
  id: 'dashboard.operators.reset',
  method: 'POST',
  path: '/dashboard/api/operators/{id}/reset',
  auth: 'operator',
  role: 'owner',
  summary: 'Give a person who cannot sign in a new password, shown once, without a second factor',
  params: Type.Object({ id: Type.String() }),
  body: Type.Object({}),
  response: Type.Object({ success, password: Type.String() }),
  errors: ['record_not_found'],
  handle: async ({ ctx, params, auditSubject, recordInTransaction }) => {
    auditSubject({ subject: params.id });
    const id = parseId(params.id);
    const password = id && (await resetOperator(ctx, id, recordInTransaction));
    if (!password) throw apiError('record_not_found', { noun: 'Operator', id: params.id });
    return { success: true, password };
  },
});
