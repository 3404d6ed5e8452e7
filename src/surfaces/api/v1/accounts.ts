import { Type } from 'typebox';
import { connectors } from '../../../emr/index.ts';
import { endpoint } from '../../../http/endpoint.ts';
import { LinkedAccount } from '../../../model/activity.ts';
import { connection_report, report_findings, report_outcome } from '../../../model/connectionReport.ts';
import { immediately, nullable, success } from '../../../model/fields.ts';
import { listLinkedAccounts, rotateToken } from '../../../product/accounts/accessTokens.ts';
import { readAccountReport } from '../../../product/link/connectionReports.ts';
import { unlinkAccount } from '../../../product/link/unlinkAccount.ts';
import { for_reads, for_writes } from '../limitedSecrets.ts';

export const accountsList = endpoint({
  id: 'accounts.list',
  surface: 'api',
  group: 'Link',
  method: 'GET',
  path: '/v1/accounts',
  auth: 'client',
  limited_secrets: for_reads,
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
        last_sync: { job_id: 1042, status: 'succeeded', at: '2026-03-02T15:04:09.000Z', emr_requests: 48 },
        waiting_jobs: 0,
        practice_page_url: 'https://chartwire.example.org/practice#account=01a1c5f0a4e87b21b3d94c6f7a8e9012',
      })),
    },
  },
  handle: async ({ ctx, client, account }) => ({
    success: true,
    accounts: await listLinkedAccounts(ctx, client.id, account?.id),
  }),
});

export const accountConnectionReport = endpoint({
  id: 'account.connection-report',
  surface: 'api',
  group: 'Link',
  method: 'GET',
  path: '/v1/account/connection-report',
  auth: 'account',
  limited_secrets: for_reads,
  while_expired: true,
  audited: false,
  summary: 'Retrieve the connection report of an account',
  agent_tool: 'get_connection_report',
  description:
    'What was requested from the EMR’s server during the latest sign-in of the account, successful or not: discovery documents, scopes, and test requests with their status and duration. It contains no health data, token or secret, so you can send it to the EMR vendor’s support. `data` is null for EMRs without a report.',
  response: Type.Object({
    success,
    data: nullable(
      Type.Object(
        { ...connection_report.properties, ...report_outcome, findings: report_findings },
        { schema_name: 'ConnectionReport', description: 'What was requested from the EMR’s server during a sign-in' },
      ),
    ),
  }),
  handle: async ({ ctx, account }) => {
    const stored = await readAccountReport(ctx.db, account);
    const { error_code = null, error_message = null, findings = [] } = stored ?? {};
    return { success: true, data: stored ? { ...stored.report, error_code, error_message, findings } : null };
  },
});

export const accountRotateToken = endpoint({
  id: 'account.rotate-token',
  surface: 'api',
  group: 'Link',
  method: 'POST',
  path: '/v1/account/rotate-token',
  auth: 'account',
  limited_secrets: for_writes,
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

export const accountDelete = endpoint({
  id: 'account.delete',
  surface: 'api',
  group: 'Link',
  method: 'DELETE',
  path: '/v1/account',
  auth: 'account',
  limited_secrets: for_writes,
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
      const unfinished_jobs = await unlinkAccount(ctx, tx, account.id);
      const { reference_id } = account;
      return { success: true, message: 'Account unlinked.', access_token_reference_id: reference_id, unfinished_jobs };
    });
    ctx.lookups.clear();
    ctx.notifications.notify('chartwire_jobs', account.client_id);
    return response;
  },
});
