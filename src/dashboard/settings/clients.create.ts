import { Type } from 'typebox';
import { createClient } from '../../clients/clients.ts';
import { endpoint } from '../../http/endpoint.ts';
import { new_client } from '../../model/dashboard/settings.ts';
import { success } from '../../model/fields.ts';

export default endpoint({
  id: 'dashboard.clients.create',
  method: 'POST',
  path: '/dashboard/api/clients',
  auth: 'operator',
  role: 'owner',
  summary: 'Let another application call; its secret is shown once',
  body: new_client,
  response: Type.Object({ success, client_id: Type.String(), client_secret: Type.String() }),
  handle: async ({ ctx, body, auditSubject, recordInTransaction }) => {
    const { client_id, client_secret } = await createClient(ctx.db, body, (tx, { id }) => {
      auditSubject({ client_id: id, subject: id });
      return recordInTransaction(tx);
    });
    ctx.notifications.notify('chartwire_access');
    return { success: true, client_id, client_secret };
  },
});
