import { Type } from 'typebox';
import { getAccount } from '../../accounts/accounts.ts';
import { apiError } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { success } from '../../model/fields.ts';
import { requestSync } from '../../records/requestSync.ts';

export default endpoint({
  id: 'dashboard.accounts.sync',
  method: 'POST',
  path: '/dashboard/api/clients/{client_id}/accounts/{account_id}/sync',
  auth: 'operator_in_client',
  summary: 'Read an organization’s records anew through an account',
  params: Type.Object({ client_id: Type.String(), account_id: Type.String() }),
  body: Type.Object({}),
  response: Type.Object({ success, job_id: Type.Integer() }),
  errors: ['record_not_found', 'account_revoked'],
  handle: async ({ ctx, params, inTransaction, auditSubject }) => {
    const answer = await inTransaction(async (tx) => {
      const account = await getAccount(tx, params.account_id);
      if (account.status === 'revoked') throw apiError('account_revoked');
      const { id, job_id } = await requestSync(ctx, tx, { ...account, account_id: account.id }, { announce: false });
      if (job_id === undefined) throw new Error('A sync without a key was not queued.');
      auditSubject({ subject: id, job_id });
      return { success: true, job_id };
    });
    ctx.notifications.notify('chartwire_jobs');
    return answer;
  },
});
