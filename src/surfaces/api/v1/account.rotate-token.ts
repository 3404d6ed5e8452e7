import { Type } from 'typebox';
import { endpoint } from '../../../http/endpoint.ts';
import { immediately, success } from '../../../model/fields.ts';
import { rotateToken } from '../../../product/accounts/accessTokens.ts';

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
    'Returns a new access token. The old one stays valid for 24 hours, but cannot be used to replace the new one. With `immediately`, it becomes invalid at once, for example because it was leaked. `access_token_reference_id` stays the same.',
  body: Type.Object({ immediately }),
  response: Type.Object({
    success,
    message: Type.String({ examples: ['Access token replaced. The old one stays valid for 24 hours.'] }),
    access_token: Type.String({ examples: ['f2Wd0N9sQh7xKpVb3mRtYc8uJ1LaZ5eG6oTiHkXnSw4'] }),
    access_token_reference_id: Type.String(),
  }),
  errors: ['access_token_replaced'],
  confirm:
    'This replaces the access token. Unless you set immediately, the current one stays valid for 24 hours. Send the request?',
  handle: async ({ ctx, account, body, inTransaction, auditSubject }) => {
    const at_once = body.immediately ?? false;
    auditSubject({ subject: account.id, detail: { immediately: at_once } });
    const response = await inTransaction(async (tx) => ({
      success: true,
      message: `Access token replaced. The old one ${at_once ? 'is no longer valid' : 'stays valid for 24 hours'}.`,
      access_token: await rotateToken(ctx, tx, account.id, { presented: account.token_hash, immediately: at_once }),
      access_token_reference_id: account.reference_id,
    }));
    ctx.lookups.clear();
    return response;
  },
});
