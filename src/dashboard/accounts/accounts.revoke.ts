import { Type } from 'typebox';
import { revokeAccount } from '../../accounts/revokeAccount.ts';
import { endpoint } from '../../http/endpoint.ts';
import { success } from '../../model/fields.ts';

export default endpoint({
  id: 'dashboard.accounts.revoke',
  method: 'POST',
  path: '/dashboard/api/clients/{client_id}/accounts/{account_id}/revoke',
  auth: 'operator_in_client',
  role: 'operator',
  summary: 'Revoke an account: its access token dies, and what waits for it ends as failed',
  params: Type.Object({ client_id: Type.String(), account_id: Type.String() }),
  body: Type.Object({}),
  response: Type.Object({ success, waiting_jobs: Type.Integer() }),
  errors: ['record_not_found'],
  handle: async ({ ctx, params, inTransaction }) => {
    const answer = await inTransaction(async (tx) => ({
      success: true,
      waiting_jobs: await revokeAccount(ctx, tx, params.account_id),
    }));
    ctx.lookups.clear();
    ctx.notifications.notify('chartwire_jobs');
    return answer;
  },
});
