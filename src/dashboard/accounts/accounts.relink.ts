import { Type } from 'typebox';
import { getAccount } from '../../accounts/accounts.ts';
import { endpoint } from '../../http/endpoint.ts';
import { createRelinkToken } from '../../link/createRelinkToken.ts';
import { made_link, new_link } from '../../model/dashboard/accounts.ts';
import { success } from '../../model/fields.ts';
import { describeMadeLink } from './describeCreatedLink.ts';

export default endpoint({
  id: 'dashboard.accounts.relink',
  method: 'POST',
  path: '/dashboard/api/clients/{client_id}/accounts/{account_id}/relink',
  auth: 'operator_in_client',
  summary: 'Make a link by which a clinic links an account again',
  params: Type.Object({ client_id: Type.String(), account_id: Type.String() }),
  body: Type.Pick(new_link, ['language']),
  response: Type.Object({ success, link: made_link }),
  errors: ['record_not_found'],
  handle: async ({ ctx, params, body, inTransaction }) =>
    inTransaction(async (tx) => {
      const token = await createRelinkToken(tx, await getAccount(tx, params.account_id), body.language);
      return { success: true, link: describeMadeLink(ctx, token) };
    }),
});
