import { Type } from 'typebox';
import { endpoint } from '../api/endpoint.ts';
import { makeOperator } from '../clients/makeOperator.ts';
import { refusal } from '../errors.ts';
import { role } from '../model/dashboard/settings.ts';
import { success } from '../model/fields.ts';

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
  handle: async ({ ctx, body, about, recordIn }) => {
    const made = await makeOperator(ctx, body, (tx, id) => {
      about({ subject: id, detail: { role: body.role } });
      return recordIn(tx);
    });
    if (!made) throw refusal('operator_exists', undefined, { field: 'email' });
    return { success: true, ...made };
  },
});
