import { Type } from 'typebox';
import { rotateToken } from '../../accounts/rotateToken.ts';
import { endpoint } from '../../http/endpoint.ts';
import { success } from '../../model/fields.ts';

export default endpoint({
  id: 'account.rotate-token',
  surface: 'api',
  group: 'Link',
  method: 'POST',
  path: '/v1/account/rotate-token',
  auth: 'account',
  while_expired: true,
  summary: 'Replace the access token of an account',
  description:
    'Returns a new access token. The old one stays valid for 24 hours, but cannot be used to replace the new one. `access_token_reference_id` stays the same.',
  body: Type.Object({}),
  response: Type.Object({
    success,
    message: Type.String({ examples: ['Access token replaced. The old one stays valid for 24 hours.'] }),
    access_token: Type.String({ examples: ['f2Wd0N9sQh7xKpVb3mRtYc8uJ1LaZ5eG6oTiHkXnSw4'] }),
    access_token_reference_id: Type.String(),
  }),
  errors: ['access_token_replaced'],
  confirm: 'This replaces the access token. The current one stays valid for 24 hours. Send the request?',
  handle: async ({ ctx, account, inTransaction, auditSubject }) => {
    auditSubject({ subject: account.id });
    const response = await inTransaction(async (tx) => ({
      success: true,
      message: 'Access token replaced. The old one stays valid for 24 hours.',
      access_token: await rotateToken(ctx, tx, account.id, account.token_hash),
      access_token_reference_id: account.reference_id,
    }));
    ctx.lookups.clear();
    return response;
  },
});
