import { Type } from 'typebox';
import { listLinkedAccounts } from '../../accounts/listLinkedAccounts.ts';
import { endpoint } from '../../http/endpoint.ts';
import { LinkedAccount } from '../../model/activity.ts';
import { success } from '../../model/fields.ts';

export default endpoint({
  id: 'accounts.list',
  surface: 'api',
  group: 'Link',
  method: 'GET',
  path: '/v1/accounts',
  auth: 'client',
  account_optional: true,
  // Contains nothing about a patient, and no token.
  audited: false,
  summary: 'List linked accounts',
  description:
    'Returns your linked EMR accounts with their status and last sync, oldest first. With `access_token` it returns that account. Access tokens are not included.',
  response: Type.Object({ success, accounts: Type.Array(LinkedAccount) }),
  handle: async ({ ctx, client, account }) => ({
    success: true,
    accounts: await listLinkedAccounts(ctx, client.id, account?.id),
  }),
});
