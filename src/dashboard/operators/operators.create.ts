import { Type } from 'typebox';
import { createOperator } from '../../clients/createOperator.ts';
import { apiError } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { role } from '../../model/dashboard/settings.ts';
import { success } from '../../model/fields.ts';

export default endpoint({
  id: 'dashboard.operators.create',
  method: 'POST',
  path: '/dashboard/api/operators',
  auth: 'operator',
  role: 'owner',
  summary: 'Let another person in; the first password is shown once',
  body: Type.Object({
    email: Type.String({ maxLength: 320, pattern: '^[^\\s@]+@[^\\s@]+$' }),
    name: Type.String({ minLength: 1, maxLength: 100 }),
    role,
  }),
  response: Type.Object({ success, id: Type.String(), password: Type.String() }),
  errors: ['operator_exists'],
  handle: async ({ ctx, body, auditSubject, recordInTransaction }) => {
    const made = await createOperator(ctx, body, (tx, id) => {
      auditSubject({ subject: id, detail: { role: body.role } });
      return recordInTransaction(tx);
    });
    if (!made) throw apiError('operator_exists', undefined, { field: 'email' });
    return { success: true, ...made };
  },
});
