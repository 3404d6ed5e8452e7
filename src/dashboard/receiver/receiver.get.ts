import { Type } from 'typebox';
import { endpoint } from '../../http/endpoint.ts';
import { receiver } from '../../model/dashboard/receiver.ts';
import { nullable, success } from '../../model/fields.ts';
import { receiverRefusal } from '../../receiver/openReceiver.ts';
import { findReceiver } from '../../receiver/receivers.ts';
import { describeReceiver } from './describeReceiver.ts';

export default endpoint({
  id: 'dashboard.receiver.get',
  method: 'GET',
  path: '/dashboard/api/clients/{client_id}/receiver',
  auth: 'operator_in_client',
  audited: false,
  summary: 'The built-in receiver of a client, if it has one, and why it cannot have one if so',
  params: Type.Object({ client_id: Type.String() }),
  response: Type.Object({ success, receiver: nullable(receiver), refused: nullable(Type.String()) }),
  handle: async ({ ctx, client }) => {
    const found = await ctx.db.tenant(client.id, findReceiver);
    return { success: true, receiver: found ? describeReceiver(found) : null, refused: receiverRefusal(ctx) };
  },
});
