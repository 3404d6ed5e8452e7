import { type Static, type TObject, type TOptional, type TProperties, type TUnsafe, Type } from 'typebox';
import type { OperationName } from '../../emr/operations/operations.ts';
import { type Endpoint, type EndpointOptions, endpoint } from '../../http/endpoint.ts';
import { acceptOnce } from '../../http/idempotency.ts';
import { reader } from '../../http/validate.ts';
import { collectMrns } from '../../model/events.ts';
import { unclearable } from '../../model/fields.ts';
import type { Group } from '../../model/groups.ts';
import { reference } from '../../model/job.ts';
import type { Write } from '../../product/writes/defineWrite.ts';
import { requestWrite } from '../../product/writes/requestWrite.ts';
import { withDryRun } from './dryRun.ts';
import { for_writes } from './limitedSecrets.ts';

type WriteEndpointOptions = { group: Group } & Pick<
  EndpointOptions<'account', TObject, undefined, undefined>,
  | 'id'
  | 'method'
  | 'path'
  | 'summary'
  | 'agent_tool'
  | 'description'
  | 'errors'
  | 'events'
  | 'found_in'
  | 'quota'
  | 'accepted_status'
  | 'limited_secrets'
> & { response: TObject };

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
  const declared = endpoint({
    ...options,
    response: withReference(options.response),
    surface: 'api',
    auth: 'account',
    limited_secrets: options.limited_secrets ?? for_writes,
    job_type: write.type,
    // Omit forgets the options: the schema's name and description.
    body: withReference(
      (path_fields.length === 0 ? schema : Type.Omit(schema, [...path_fields], pickOptions(schema))) as TObject,
      options.method === 'PATCH' ? 'changes' : 'body',
    ),
    ...(path_fields.length > 0 ? { params: path } : {}),
    example: {
      body: Object.fromEntries(sample.filter(([name]) => !path_fields.includes(name))),
      params: Object.fromEntries(sample.filter(([name]) => path_fields.includes(name))),
      response: write.acceptedResponse({
        id: '01a1c5f0a4e87b21b3d94c6f7a8e9012',
        job_id: 1042,
        // A request whose references have not been looked up.
        input: write.sample as Static<Body> & Partial<Lookups>,
      }),
    },
    ...(write.file_field === undefined ? {} : { file_field: write.file_field }),
    ...(write.embedded_files === undefined ? {} : { embedded_files: write.embedded_files }),
    handle: ({ ctx, account, body, params, files, idempotency, auditPatients, auditSubject, auditStatement }) => {
      // Path and body are validated by the two parts of the write's own schema.
      const { reference, ...sent } = body as Record<string, unknown> & { reference?: string };
      const request = { ...readPath(params ?? {}), ...sent } as Static<Body>;
      auditPatients(collectMrns(request));
      return acceptOnce(ctx, account.client_id, idempotency, {
        accept: () =>
          requestWrite(ctx, {
            ...{ account, write, body: request, reference: reference ?? null, files, idempotency },
            audit: auditStatement,
            auditPatients,
          }),
        respond: ({ id: operation_id, job_id, input }) => {
          // Stored by requestWrite from a value of this type.
          const stored = input as Static<Body> & Lookups;
          const id = write.recordId?.(stored) ?? operation_id;
          auditSubject({ subject: id, job_id });
          const response = write.acceptedResponse({ id, job_id, input: stored });
          return { ...response, ...(reference !== undefined && { reference }) };
        },
      });
    },
  });
  return withDryRun(declared);
}

/**
 * The body, or the response, of a write with the client's own reference. In a PATCH (`changes`), where a blank field
 * would be cleared, it must have a value.
 */
export function withReference<Properties extends TProperties>(
  schema: TObject<Properties>,
  part: 'body' | 'changes' = 'body',
): TObject<Properties & { reference: TOptional<TUnsafe<string>> }> {
  const { properties, type: _type, required: _required, ...options } = schema;
  const field = part === 'changes' ? unclearable(reference) : Type.Optional(Type.Unsafe<string>(reference));
  return Type.Object({ ...properties, reference: field }, options);
}

function pickOptions({ schema_name, description }: TObject & { schema_name?: string; description?: string }) {
  return { ...(schema_name && { schema_name }), ...(description && { description }) };
}
