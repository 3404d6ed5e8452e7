import { Type } from 'typebox';
import { success } from '../../model/fields.ts';
import { requestSync } from '../../records/requestSync.ts';
import { endpoint } from '../endpoint.ts';
import { acceptOnce } from '../idempotency.ts';

export default endpoint({
  id: 'sync.create',
  method: 'POST',
  path: '/v1/sync',
  auth: 'account',
  summary: 'Read the organisation’s records anew from the EMR; ends in sync.completed or sync.failed',
  body: Type.Object({}),
  response: Type.Object({
    success,
    message: Type.String({ examples: ['Sync queued. A webhook event follows on completion.'] }),
    job_id: Type.Integer(),
  }),
  events: ['sync.completed', 'sync.failed'],
  handle: ({ ctx, account, idempotency, about, beside }) =>
    acceptOnce(
      ctx,
      account.client_id,
      idempotency,
      async () => {
        const of = { ...account, account_id: account.id };
        const sql = idempotency ? ctx.db.service.pooled : ctx.db.service;
        const { id, job_id } = await requestSync(ctx, sql, of, { announce: true, idempotency, beside });
        if (job_id === undefined) return undefined;
        beside?.committed();
        ctx.notifications.notify('chartwire_jobs');
        return { id, job_id };
      },
      ({ id, job_id }) => {
        about({ subject: id, job_id });
        return { success: true, message: 'Sync queued. A webhook event follows on completion.', job_id };
      },
    ),
});
