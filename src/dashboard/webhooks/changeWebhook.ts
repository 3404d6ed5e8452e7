import { type Static, type TObject, Type } from 'typebox';
import type { Context } from '../../context.ts';
import type { Tx } from '../../db/database.ts';
import { apiError } from '../../errors.ts';
import { type Endpoint, type EndpointOptions, endpoint } from '../../http/endpoint.ts';

type Change<Body extends TObject> = Pick<
  EndpointOptions<'operator_in_client', Body, undefined, undefined>,
  'id' | 'method' | 'path' | 'summary' | 'response'
> & {
  body: Body;
  /** What the answer says beside its success; undefined when there is no such endpoint. */
  change: (
    ctx: Context,
    tx: Tx,
    of: { client_id: string; webhook_id: string; body: Static<Body> },
  ) => Promise<Record<string, unknown> | undefined>;
};

/** A change to one webhook address of a client, which other windows see at once. */
export function changeWebhook<Body extends TObject>({ change, ...declared }: Change<Body>): Endpoint {
  return endpoint({
    ...declared,
    auth: 'operator_in_client',
    params: Type.Object({ client_id: Type.String(), id: Type.String() }),
    errors: ['record_not_found'],
    handle: async ({ ctx, client, params: { id: webhook_id }, body, inTransaction }) => {
      const answer = await inTransaction(async (tx) => {
        // Parsed by this very schema, whose type is lost in the parameter of a parameter.
        const changed = await change(ctx, tx, { client_id: client.id, webhook_id, body: body as Static<Body> });
        if (!changed) throw apiError('record_not_found', { noun: 'Webhook', id: webhook_id });
        return { success: true, ...changed };
      });
      ctx.notifications.notify('chartwire_live', 'events');
      return answer;
    },
  });
}
