import { Type } from 'typebox';
import { connectors } from '../../../emr/index.ts';
import { endpoint } from '../../../http/endpoint.ts';
import { LinkedAccount } from '../../../model/activity.ts';
import { success } from '../../../model/fields.ts';
import { listLinkedAccounts } from '../../../product/accounts/accessTokens.ts';

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
  agent_tool: true,
  description:
    'Returns your linked EMR accounts with their status and last sync, oldest first. With `access_token` it returns that account. Access tokens are not included.',
  response: Type.Object({ success, accounts: Type.Array(LinkedAccount, { description: 'The linked accounts' }) }),
  example: {
    response: {
      success: true,
      accounts: [...connectors.values()].slice(0, 1).map(({ name, display_name }) => ({
        access_token_reference_id: 'at_ref_6f1d2c3b4a5968778695a4b3',
        user_id: 'user-1',
        org_id: 'practice-1',
        emr: name,
        emr_name: display_name,
        status: 'active',
        linked_at: '2026-03-02T15:04:05.000Z',
        last_sync: { job_id: 1042, status: 'succeeded', at: '2026-03-02T15:04:09.000Z' },
        waiting_jobs: 0,
      })),
    },
  },
  handle: async ({ ctx, client, account }) => ({
    success: true,
    accounts: await listLinkedAccounts(ctx, client.id, account?.id),
  }),
});
