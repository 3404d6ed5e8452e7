import { Type } from 'typebox';
import { revealToken } from '../../accounts/revealToken.ts';
import { endpoint } from '../../http/endpoint.ts';
import { success } from '../../model/fields.ts';

/** Not a GET: it is something that a person does, and no cache, history or prefetch may do it for them. */
export default endpoint({
  id: 'dashboard.accounts.reveal',
  method: 'POST',
  path: '/dashboard/api/clients/{client_id}/accounts/{account_id}/reveal',
  auth: 'operator_in_client',
  role: 'operator',
  summary: 'Show the access token of an account',
  params: Type.Object({ client_id: Type.String(), account_id: Type.String() }),
  body: Type.Object({}),
  response: Type.Object({ success, access_token: Type.String() }),
  errors: ['record_not_found', 'account_revoked'],
  handle: async ({ ctx, client, params }) => ({
    success: true,
    access_token: await revealToken(ctx, client.id, params.account_id),
  }),
});
