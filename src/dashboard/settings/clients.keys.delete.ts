import { Type } from 'typebox';
import { revokeSecret } from '../../clients/clients.ts';
import { apiError } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { parseId } from '../../ids.ts';
import { success } from '../../model/fields.ts';

export default endpoint({
  id: 'dashboard.clients.keys.delete',
  method: 'DELETE',
  path: '/dashboard/api/clients/{client_id}/keys/{key_id}',
  auth: 'operator_in_client',
  role: 'owner',
  summary: 'End a secret of an application at once',
  params: Type.Object({ client_id: Type.String(), key_id: Type.String() }),
  response: Type.Object({ success }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params, inTransaction }) => {
    const id = parseId(params.key_id);
    const answer = await inTransaction(async (tx) => {
      const ended = id !== undefined && (await revokeSecret(tx, client.id, id));
      if (!ended) throw apiError('record_not_found', { noun: 'Key', id: params.key_id });
      return { success: true };
    });
    ctx.lookups.clear();
    return answer;
  },
});
