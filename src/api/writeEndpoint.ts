import { type Static, type TObject, Type } from 'typebox';
import type { OperationName } from '../connectors/connector.ts';
import { patientsOf } from '../events.ts';
import { type Endpoint, type EndpointOptions, endpoint } from '../http/endpoint.ts';
import { acceptOnce } from '../http/idempotency.ts';
import type { Group } from '../model/groups.ts';
import { requestWrite } from '../writes/requestWrite.ts';
import type { Write } from '../writes/write.ts';

type WriteEndpointOptions = { group: Group } & Pick<
  EndpointOptions<'account', TObject, undefined, undefined>,
  'id' | 'method' | 'path' | 'summary' | 'description' | 'response' | 'errors' | 'events' | 'found_in'
>;

/** The endpoint of a write: it accepts the request, which a worker executes later. */
export function writeEndpoint<Body extends TObject, Lookups, Needs extends OperationName>(
  write: Write<Body, Lookups, Needs>,
  options: WriteEndpointOptions,
): Endpoint {
  const schema: TObject = write.body;
  const path_fields: readonly string[] = write.path ?? [];
  const sample = Object.entries(write.sample);
  return endpoint({
    ...options,
    surface: 'api',
    auth: 'account',
    body: Type.Omit(schema, [...path_fields]) as TObject,
    ...(path_fields.length > 0 ? { params: Type.Pick(schema, [...path_fields]) as TObject } : {}),
    example: {
      body: Object.fromEntries(sample.filter(([name]) => !path_fields.includes(name))),
      params: Object.fromEntries(sample.filter(([name]) => path_fields.includes(name))),
      response: write.acceptedResponse({ id: '01a1c5f0a4e87b21b3d94c6f7a8e9012', job_id: 1042 }),
    },
    ...(write.file_field === undefined ? {} : { file_field: write.file_field }),
    handle: ({ ctx, account, body, params, file, idempotency, auditPatients, auditSubject, auditStatement }) => {
      // Path and body were validated by the two parts of the write's own schema.
      const request = { ...params, ...body } as Static<Body>;
      auditPatients(patientsOf(request));
      return acceptOnce(
        ctx,
        account.client_id,
        idempotency,
        () => requestWrite(ctx, { account, write, body: request, file, idempotency, audit: auditStatement }),
        (accepted) => {
          auditSubject({ subject: accepted.id, job_id: accepted.job_id });
          return write.acceptedResponse(accepted);
        },
      );
    },
  });
}
