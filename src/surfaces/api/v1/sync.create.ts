import { Type } from 'typebox';
import { endpoint } from '../../../http/endpoint.ts';
import { acceptOnce } from '../../../http/idempotency.ts';
import { success } from '../../../model/fields.ts';
import { requestSync } from '../../../product/records/syncPasses.ts';

export default endpoint({
  id: 'sync.create',
  surface: 'api',
  group: 'Practice',
  method: 'POST',
  path: '/v1/sync',
  auth: 'account',
  summary: 'Sync the organization’s records',
  agent_tool: true,
  body: Type.Object({}),
  response: Type.Object({
    success,
    message: Type.String({ examples: ['Sync queued. A webhook event follows on completion.'] }),
    job_id: Type.Integer(),
  }),
  events: ['sync.completed', 'sync.failed'],
  handle: ({ ctx, account, idempotency, auditSubject, auditStatement }) =>
    acceptOnce(
      ctx,
      account.client_id,
      idempotency,
      async () => {
        const target = { ...account, account_id: account.id };
        const { id, job_id } = await requestSync(ctx, ctx.db.service.pooled, target, {
          announce: true,
          idempotency,
          auditStatement,
        });
        if (job_id === undefined) return undefined;
        auditStatement?.committed();
        ctx.notifications.notify('chartwire_jobs', account.client_id);
        return { id, job_id };
      },
      ({ id, job_id }) => {
        auditSubject({ subject: id, job_id });
        return { success: true, message: 'Sync queued. A webhook event follows on completion.', job_id };
      },
    ),
});
