import { Type } from 'typebox';
import { changePassword } from '../../clients/createOperator.ts';
import { checkPassword } from '../../clients/signInOperator.ts';
import { readSessionCookie } from '../../http/authenticateOperator.ts';
import { endpoint } from '../../http/endpoint.ts';
import { success } from '../../model/fields.ts';

export default endpoint({
  id: 'dashboard.me.password',
  method: 'POST',
  path: '/dashboard/api/me/password',
  auth: 'operator',
  role: 'read_only',
  summary: 'Change one’s own password; every other session ends',
  body: Type.Object({
    password: Type.String({ maxLength: 1000 }),
    new_password: Type.String({
      minLength: 12,
      maxLength: 1000,
      messages: { minLength: 'The new password must have at least 12 characters' },
    }),
  }),
  response: Type.Object({ success }),
  errors: ['operator_credentials_wrong', 'operator_locked'],
  handle: async ({ ctx, headers, operator, body, recordInTransaction }) => {
    await checkPassword(ctx, operator.email, body.password);
    await changePassword(ctx, operator.id, body.new_password, readSessionCookie(headers), recordInTransaction);
    return { success: true };
  },
});
