import { Type } from 'typebox';
import { webhook_secret } from '../../model/dashboard/webhooks.ts';
import { success } from '../../model/fields.ts';
import { rotateSecret } from '../../webhooks/rotateSecret.ts';
import { changeWebhook } from './changeWebhook.ts';

export default changeWebhook({
  id: 'dashboard.webhooks.rotate',
  method: 'POST',
  path: '/dashboard/api/clients/{client_id}/webhooks/{id}/rotate-secret',
  summary: 'Give a webhook address a new secret; the old one signs for 24 hours more',
  body: Type.Object({}),
  response: Type.Object({ success, ...webhook_secret.properties }),
  change: async (ctx, tx, { client_id, webhook_id }) => {
    const rotated = await rotateSecret(ctx, tx, client_id, webhook_id);
    return rotated && { webhook_id: rotated.id, webhook_secret: rotated.secret };
  },
});
