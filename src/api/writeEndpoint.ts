import { type Static, type TObject, Type } from 'typebox';
import type { OperationName } from '../connectors/connector.ts';
import { patientsOf } from '../events.ts';
import { type Endpoint, type EndpointOptions, endpoint } from '../http/endpoint.ts';
import { acceptOnce } from '../http/idempotency.ts';
import type { Group } from '../model/groups.ts';
import { requestWrite } from '../writes/requestWrite.ts';
import type { Write } from '../writes/write.ts';

type Particulars = Pick<
  EndpointOptions<'account', TObject, undefined, undefined>,
  'id' | 'method' | 'path' | 'summary' | 'description' | 'response' | 'errors' | 'events' | 'found_in'
>;

/** The endpoint of a write: accepted at once, carried out later. */
export function writeEndpoint<Body extends TObject, Needs extends OperationName>(
  write: Write<Body, Needs>,
  {
    example,
    group,
    ...particulars
  }: Particulars & {
    group: Group;
    example?: { body: Partial<Static<Body>> };
  },
): Endpoint {
  const in_path = (write.path ?? []) as string[];
  return endpoint({
    ...particulars,
    surface: 'api',
    group,
    auth: 'account',
    body: Type.Omit(write.body as TObject, in_path) as TObject,
    ...(in_path.length > 0 ? { params: Type.Pick(write.body as TObject, in_path) as TObject } : {}),
    // The write itself composes the response, so the reference shows exactly that.
    example: { ...example, response: write.accepted({ id: '01a1c5f0a4e87b21b3d94c6f7a8e9012', job_id: 1042 }) },
    ...(write.upload ? { file_field: write.upload.field } : {}),
    handle: ({ ctx, account, body, params, file, idempotency, auditPatients, auditSubject, auditStatement }) => {
      const asked: Record<string, unknown> = { ...params, ...body };
      auditPatients(patientsOf(asked));
      return acceptOnce(
        ctx,
        account.client_id,
        idempotency,
        () => requestWrite(ctx, account, write, asked as never, idempotency, file, auditStatement),
        (accepted) => {
          auditSubject({ subject: accepted.id, job_id: accepted.job_id });
          return write.accepted(accepted);
        },
      );
    },
  });
}
