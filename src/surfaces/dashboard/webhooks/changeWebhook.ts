import { type Static, type TObject, Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { type Endpoint, type EndpointOptions, endpoint } from '../../../http/endpoint.ts';
import type { Tx } from '../../../platform/db/database.ts';
import type { Context } from '../../../product/context.ts';
import { describeChange, findEndpoint, type Endpoint as Webhook } from '../../../product/webhooks/endpoints.ts';
import { lockForChange } from '../../../product/webhooks/registration.ts';

type Change<Body extends TObject> = Pick<
  EndpointOptions<'operator_in_client', Body, undefined, undefined>,
  'id' | 'method' | 'path' | 'summary' | 'response' | 'errors' | 'fresh_sign_in' | 'second_person'
> & {
  body: Body;
  /** What the audit record says beyond the endpoint's URL, status and event types. */
  describe?: (body: Static<Body>) => Record<string, unknown>;
  /** Returns the response fields besides `success`, or undefined if there is no such webhook endpoint. */
  change: (
    ctx: Context,
    tx: Tx,
    target: { client_id: string; webhook: Webhook; body: Static<Body> },
  ) => Promise<Record<string, unknown> | undefined>;
};

/** An endpoint that changes one webhook endpoint of a client. Workers and open dashboards are notified. */
export function changeWebhook<Body extends TObject>({
  change,
  describe = () => ({}),
  errors = [],
  ...declared
}: Change<Body>): Endpoint {
  return endpoint({
    ...declared,
    surface: 'dashboard',
    auth: 'operator_in_client',
    params: Type.Object({ client_id: Type.String(), id: Type.String() }),
    errors: ['record_not_found', ...errors],
    handle: async ({ ctx, client, params: { id: webhook_id }, body, inTransaction, auditSubject }) => {
      const not_found = apiError('record_not_found', { noun: 'Webhook', id: webhook_id });
      const response = await inTransaction(async (tx) => {
        const before = await lockForChange(tx, client.id, webhook_id);
        if (!before) throw not_found;
        // Parsed by this very schema, but its type is lost through the generic parameter.
        const requested = body as Static<Body>;
        const changed = await change(ctx, tx, { client_id: client.id, webhook: before, body: requested });
        if (!changed) throw not_found;
        const after = await findEndpoint(tx, webhook_id);
        auditSubject({ detail: { ...describeChange(before, after), ...describe(requested) } });
        return { success: true, ...changed };
      });
      ctx.notifications.notify('chartwire_deliveries', client.id);
      return response;
    },
  });
}
