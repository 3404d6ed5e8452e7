import { Type } from 'typebox';
import { apiError } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { success } from '../../model/fields.ts';

export default endpoint({
  id: 'dashboard.encryption.rotate',
  method: 'POST',
  path: '/dashboard/api/encryption/rotate',
  auth: 'operator',
  role: 'owner',
  summary: 'Make a new master key and wrap everything with it',
  body: Type.Object({}),
  response: Type.Object({ success, rewrapped: Type.Integer() }),
  errors: ['master_key_in_settings'],
  handle: async ({ ctx, auditSubject }) => {
    const rewrapped = await ctx.key_ring.rotate();
    if (rewrapped === undefined) throw apiError('master_key_in_settings');
    ctx.notifications.notify('chartwire_access', 'keys');
    auditSubject({ detail: { rewrapped } });
    return { success: true, rewrapped };
  },
});
