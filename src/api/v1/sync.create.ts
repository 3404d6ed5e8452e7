import { Type } from 'typebox';
import { refusal } from '../../errors.ts';
import { success } from '../../model/fields.ts';
import { requestSync } from '../../records/requestSync.ts';
import { endpoint, Replayed } from '../endpoint.ts';
import { findEarlier } from '../idempotency.ts';

export default endpoint({
  id: 'sync.create',
  method: 'POST',
  path: '/v1/sync',
  auth: 'account',
  summary: 'Read the organisation’s records anew from the EMR; ends in sync.completed or sync.failed',
  body: Type.Object({}),
  response: Type.Object({ success, message: Type.String(), job_id: Type.Integer() }),
  handle: async ({ ctx, account, idempotency }) => {
    const of = { ...account, account_id: account.id };
    const { job_id } = await requestSync(ctx, ctx.db.service, of, { announce: true, idempotency });
    if (job_id !== undefined) {
      ctx.bell.ring('chartwire_jobs');
      return answer(job_id);
    }
    const earlier = idempotency && (await findEarlier(ctx, account.client_id, idempotency));
    if (!earlier) throw refusal('idempotency_key_running');
    return new Replayed(answer(earlier.job_id));
  },
});

function answer(job_id: number) {
  return { success: true, message: 'Sync queued. A webhook event follows on completion.', job_id };
}
