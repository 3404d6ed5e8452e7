import type { TObject } from 'typebox';
import type { OperationName } from '../connectors/connector.ts';
import { refusal } from '../errors.ts';
import { requestWrite } from '../writes/requestWrite.ts';
import type { Write } from '../writes/write.ts';
import { type Endpoint, type EndpointOptions, endpoint, Replayed } from './endpoint.ts';
import { findEarlier } from './idempotency.ts';

type Particulars = Pick<
  EndpointOptions<'account', TObject, undefined, undefined>,
  'id' | 'method' | 'path' | 'summary' | 'response' | 'errors'
>;

/** The endpoint of a write: accepted at once, carried out later. */
export function writeEndpoint<Body extends TObject, Needs extends OperationName>(
  write: Write<Body, Needs>,
  particulars: Particulars,
): Endpoint {
  return endpoint({
    ...particulars,
    auth: 'account',
    body: write.body as TObject,
    handle: async ({ ctx, account, body, idempotency }) => {
      const request = () => requestWrite(ctx, account, write, body as never, idempotency);
      const accepted = await request();
      if (accepted) return write.accepted(accepted);
      const earlier = idempotency && (await findEarlier(ctx, account.client_id, idempotency));
      if (earlier) return new Replayed(write.accepted({ id: earlier.operation_id, job_id: earlier.job_id }));
      // The key had run out and is free now.
      const again = await request();
      if (!again) throw refusal('idempotency_key_running');
      return write.accepted(again);
    },
  });
}
