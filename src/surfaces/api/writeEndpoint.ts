import { type Static, type TObject, Type } from 'typebox';
import type { OperationName } from '../../emr/operations/operations.ts';
import { type Endpoint, type EndpointOptions, endpoint } from '../../http/endpoint.ts';
import { acceptOnce } from '../../http/idempotency.ts';
import { reader } from '../../http/validate.ts';
import { collectMrns } from '../../model/events.ts';
import type { Group } from '../../model/groups.ts';
import type { Write } from '../../product/writes/defineWrite.ts';
import { requestWrite } from '../../product/writes/requestWrite.ts';

type WriteEndpointOptions = { group: Group } & Pick<
  EndpointOptions<'account', TObject, undefined, undefined>,
  'id' | 'method' | 'path' | 'summary' | 'agent_tool' | 'description' | 'response' | 'errors' | 'events' | 'found_in'
>;

/** The endpoint of a write: it accepts the request, which a worker executes later. */
export function writeEndpoint<Body extends TObject, Lookups, Needs extends OperationName>(
  write: Write<Body, Lookups, Needs>,
  options: WriteEndpointOptions,
): Endpoint {
  const schema: TObject = write.body;
  const path_fields: readonly string[] = write.path ?? [];
  const path = Type.Pick(schema, [...path_fields]) as TObject;
  const readPath = reader(path, 'body');
  const sample = Object.entries(write.sample);
  return endpoint({
    ...options,
    surface: 'api',
    auth: 'account',
    job_type: write.type,
    // Omit forgets the options: the schema's name and description.
    body: (path_fields.length === 0 ? schema : Type.Omit(schema, [...path_fields], pickOptions(schema))) as TObject,
    ...(path_fields.length > 0 ? { params: path } : {}),
    example: {
      body: Object.fromEntries(sample.filter(([name]) => !path_fields.includes(name))),
      params: Object.fromEntries(sample.filter(([name]) => path_fields.includes(name))),
      response: write.acceptedResponse({ id: '01a1c5f0a4e87b21b3d94c6f7a8e9012', job_id: 1042 }),
    },
    ...(write.file_field === undefined ? {} : { file_field: write.file_field }),
    handle: ({ ctx, account, body, params, file, idempotency, auditPatients, auditSubject, auditStatement }) => {
      // Path and body are validated by the two parts of the write's own schema.
      const request = { ...readPath(params ?? {}), ...body } as Static<Body>;
      auditPatients(collectMrns(request));
      return acceptOnce(ctx, account.client_id, idempotency, {
        accept: () => requestWrite(ctx, { account, write, body: request, file, idempotency, audit: auditStatement }),
        respond: ({ id: operation_id, job_id, input }) => {
          // Stored by requestWrite from a value of this type.
          const id = write.recordId?.(input as Static<Body> & Lookups) ?? operation_id;
          auditSubject({ subject: id, job_id });
          return write.acceptedResponse({ id, job_id });
        },
      });
    },
  });
}

function pickOptions({ schema_name, description }: TObject & { schema_name?: string; description?: string }) {
  return { ...(schema_name && { schema_name }), ...(description && { description }) };
}
