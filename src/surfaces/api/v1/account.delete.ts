import { Type } from 'typebox';
import { endpoint } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import { revokeAccount } from '../../../product/link/revokeAccount.ts';

export default endpoint({
  id: 'account.delete',
  surface: 'api',
  group: 'Link',
  method: 'DELETE',
  path: '/v1/account',
  auth: 'account',
  while_expired: true,
  summary: 'Unlink an account',
  description:
    'Revokes the access token, deletes the stored EMR credentials and, where the EMR allows it, revokes its session and tokens. Unfinished jobs end as `failed` with code `account_unlinked`, and their events are sent. Data already written to the EMR stays there. To use the account again, link it again.',
  response: Type.Object({
    success,
    message: Type.String({ examples: ['Account unlinked.'] }),
    access_token_reference_id: Type.String(),
    unfinished_jobs: Type.Integer({ description: 'Number of jobs that end as `failed`', examples: [0] }),
  }),
  confirm:
    'This unlinks the account. Its access token stops working immediately, and unfinished jobs fail. Send the request?',
  handle: async ({ ctx, account, inTransaction, auditSubject }) => {
    auditSubject({ subject: account.id });
    const response = await inTransaction(async (tx) => {
      const unfinished_jobs = await revokeAccount(ctx, tx, account.id);
      const { reference_id } = account;
      return { success: true, message: 'Account unlinked.', access_token_reference_id: reference_id, unfinished_jobs };
    });
    ctx.lookups.clear();
    ctx.notifications.notify('chartwire_jobs', account.client_id);
    return response;
  },
});
