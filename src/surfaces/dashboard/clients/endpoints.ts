import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { type Endpoint, endpoint } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import type { Tx } from '../../../platform/db/database.ts';
import {
  changeClient,
  checkClient,
  createClient,
  describeClientChange,
  readClientSettings,
} from '../../../product/clients/clients.ts';
import { addSecret, checkExpiry, revokeSecret } from '../../../product/clients/secrets.ts';
import { clientsErase } from '../erasure/endpoints.ts';
import { client_changes, client_settings, new_client, new_secret } from './schema.ts';

export const clients_endpoints: readonly Endpoint[] = [
  endpoint({
    id: 'dashboard.clients.create',
    fresh_sign_in: true,
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/clients',
    auth: 'operator',
    role: 'owner',
    summary: 'Create an application; its secret is shown once',
    body: new_client,
    response: Type.Object({ success, client_id: Type.String(), client_secret: Type.String() }),
    handle: async ({ ctx, operator, body, auditSubject, recordInTransaction }) => {
      const record = (tx: Tx, { id }: { id: string }) => {
        auditSubject({ client_id: id, subject: id });
        return recordInTransaction(tx);
      };
      const note = { created_by: operator.email };
      const { id, client_id, client_secret } = await createClient(ctx.db, body, record, note);
      ctx.notifications.notify('chartwire_access', id);
      return { success: true, client_id, client_secret };
    },
  }),
  endpoint({
    id: 'dashboard.clients.get',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/clients/{client_id}',
    auth: 'operator_in_client',
    summary: 'Retrieve the settings of an application',
    params: Type.Object({ client_id: Type.String() }),
    response: Type.Object({ success, client: client_settings }),
    handle: async ({ ctx, client }) => ({
      success: true,
      client: await ctx.db.tenant(client.id, (tx) => readClientSettings(tx, client.id)),
    }),
  }),
  endpoint({
    id: 'dashboard.clients.update',
    fresh_sign_in: true,
    surface: 'dashboard',
    method: 'PATCH',
    path: '/dashboard/api/clients/{client_id}',
    auth: 'operator_in_client',
    role: 'owner',
    summary: 'Update the name, URLs and Link branding of an application, and where its requests may come from',
    params: Type.Object({ client_id: Type.String() }),
    body: client_changes,
    response: Type.Object({ success, client: client_settings }),
    handle: async ({ ctx, client, body, inTransaction, auditSubject }) => {
      const changes = checkClient(ctx, body);
      const response = await inTransaction(async (tx) => {
        const { before, after } = await changeClient(tx, client.id, changes);
        auditSubject({ detail: { changed: Object.keys(body), ...describeClientChange(before, after) } });
        return { success: true, client: after };
      });
      ctx.lookups.clear();
      return response;
    },
  }),
  endpoint({
    id: 'dashboard.clients.keys.create',
    fresh_sign_in: true,
    second_person: { action: 'credentials', returns_secret: true },
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/clients/{client_id}/keys',
    auth: 'operator_in_client',
    role: 'owner',
    summary: 'Create a secret for an application, shown once; a third one of the same scope replaces the oldest',
    params: Type.Object({ client_id: Type.String() }),
    body: new_secret,
    response: Type.Object({ success, client_secret: Type.String() }),
    errors: ['client_secrets_max'],
    handle: async ({ ctx, client, operator, body, inTransaction, auditSubject }) => {
      const { label, ...limits } = body;
      checkExpiry(limits.expires_at);
      auditSubject({ detail: limits });
      const response = await inTransaction(async (tx) => ({
        success: true,
        client_secret: await addSecret(tx, client.id, client.mode, { created_by: operator.email, label, ...limits }),
      }));
      ctx.lookups.clear();
      return response;
    },
  }),
  endpoint({
    id: 'dashboard.clients.keys.delete',
    fresh_sign_in: true,
    surface: 'dashboard',
    method: 'DELETE',
    path: '/dashboard/api/clients/{client_id}/keys/{key_id}',
    auth: 'operator_in_client',
    role: 'owner',
    summary: 'Revoke a secret of an application immediately',
    params: Type.Object({ client_id: Type.String(), key_id: Type.String() }),
    response: Type.Object({ success }),
    errors: ['record_not_found'],
    handle: async ({ ctx, client, params, inTransaction }) => {
      const id = parseId(params.key_id);
      const response = await inTransaction(async (tx) => {
        const revoked = id !== undefined && (await revokeSecret(tx, client.id, id));
        if (!revoked) throw apiError('record_not_found', { noun: 'Key', id: params.key_id });
        return { success: true };
      });
      ctx.lookups.clear();
      return response;
    },
  }),
  clientsErase,
];
