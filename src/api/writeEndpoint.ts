import type { TObject } from 'typebox';
import type { OperationName } from '../connectors/connector.ts';
import { requestWrite } from '../writes/requestWrite.ts';
import type { Write } from '../writes/write.ts';
import { type Endpoint, type EndpointOptions, endpoint } from './endpoint.ts';
import { acceptOnce } from './idempotency.ts';

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
    ...(write.upload ? { file_field: write.upload.field } : {}),
    handle: ({ ctx, account, body, file, idempotency }) =>
      acceptOnce(
        ctx,
        account.client_id,
        idempotency,
        () => requestWrite(ctx, account, write, body as never, idempotency, file),
        write.accepted,
      ),
  });
}
