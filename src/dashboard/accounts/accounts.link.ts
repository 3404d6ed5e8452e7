import { Type } from 'typebox';
import { endpoint } from '../../http/endpoint.ts';
import { createLinkToken } from '../../link/createLinkToken.ts';
import { made_link, new_link } from '../../model/dashboard/accounts.ts';
import { success } from '../../model/fields.ts';
import { describeMadeLink } from './describeCreatedLink.ts';

export default endpoint({
  id: 'dashboard.accounts.link',
  method: 'POST',
  path: '/dashboard/api/clients/{client_id}/links',
  auth: 'operator_in_client',
  summary: 'Make a link by which a clinic links an account',
  params: Type.Object({ client_id: Type.String() }),
  body: new_link,
  response: Type.Object({ success, link: made_link }),
  handle: async ({ ctx, client, body, inTransaction }) =>
    inTransaction(async (tx) => {
      const token = await createLinkToken(ctx, tx, client, body, 'dashboard');
      return { success: true, link: describeMadeLink(ctx, token) };
    }),
});
