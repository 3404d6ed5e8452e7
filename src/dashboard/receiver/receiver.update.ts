import { Type } from 'typebox';
import { apiError } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { resettable, success } from '../../model/fields.ts';
import { setAnswer } from '../../receiver/receivers.ts';

export default endpoint({
  id: 'dashboard.receiver.update',
  method: 'PATCH',
  path: '/dashboard/api/clients/{client_id}/receiver',
  auth: 'operator_in_client',
  summary: 'Tell the built-in receiver how to answer; without a status it closes the connection',
  params: Type.Object({ client_id: Type.String() }),
  body: Type.Object({
    status: resettable(Type.Integer({ minimum: 200, maximum: 599 })),
    delay_ms: Type.Integer({ minimum: 0, maximum: 20_000 }),
    times: resettable(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
  }),
  response: Type.Object({ success }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, body: { status, delay_ms, times }, inTransaction }) => {
    const answer = await inTransaction(async (tx) => {
      const told = await setAnswer(tx, { status: status ?? null, delay_ms, times: times ?? null });
      if (!told) throw apiError('record_not_found', { noun: 'Receiver', id: client.public_id });
      return { success: true };
    });
    ctx.notifications.notify('chartwire_live', 'events');
    return answer;
  },
});
