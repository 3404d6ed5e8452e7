import { type TObject, type TSchema, Type } from 'typebox';
import type { ErrorCode } from '../../catalog/errors.ts';
import { DryRun } from '../../model/dryRun.ts';
import { type EventType, event_types, events } from '../../model/events.ts';
import { acceptsKey, type Endpoint } from '../endpoint.ts';
import { codeSamples } from './codeSamples.ts';
import { composeExample } from './composeExample.ts';
import type { Describer, Place } from './describeSchema.ts';
import { type EventCall, type Operation, type Parameter, pascalCase, type Schema } from './document.ts';
import { errorResponses } from './errorResponses.ts';

export const headers = {
  client_id: 'The client ID of your application.',
  client_secret: 'The client secret of your application.',
  access_token: 'The access token of a linked EMR account.',
} as const;
type Header = keyof typeof headers;

const required_headers: Record<Endpoint['auth'], readonly Header[]> = {
  none: [],
  client: ['client_id', 'client_secret'],
  account: ['client_id', 'client_secret', 'access_token'],
  // Not part of the public API.
  link: [],
  practice: [],
  operator: [],
  operator_in_client: [],
};

/** The headers that authenticate a request. */
export function listCredentialHeaders({ auth }: Endpoint): readonly Header[] {
  return required_headers[auth];
}

/** The endpoint's own examples, or ones composed from its schemas. */
export function composeExamples({ example = {}, params, query, body, response, stream }: Endpoint) {
  return {
    params: example.params ?? (params ? composeExample(params, 'parameters') : {}),
    query: example.query ?? (query ? composeExample(query, 'parameters') : {}),
    body: example.body ?? (body && composeExample(body, 'body')),
    response: example.response ?? (stream ? undefined : composeExample(response as TObject, 'response')),
  };
}

export function describeOperation(
  endpoint: Endpoint,
  errors: readonly ErrorCode[],
  base_url: string,
  describer: Describer,
): Operation {
  const examples = composeExamples(endpoint);
  const { accepted_status = 200 } = endpoint;
  const has_dry_run = endpoint.query?.properties.dry_run !== undefined;
  const accepted = describer.describeSchema(endpoint.response);
  const schema =
    has_dry_run && accepted_status === 200 ? { anyOf: [accepted, describer.describeSchema(DryRun)] } : accepted;
  return {
    operationId: endpoint.id,
    tags: endpoint.group === undefined ? [] : [endpoint.group],
    summary: endpoint.summary,
    ...(endpoint.description === undefined ? {} : { description: endpoint.description }),
    security: [Object.fromEntries(listCredentialHeaders(endpoint).map((name) => [name, []]))],
    parameters: [
      ...parameters('path', endpoint.params, examples.params, describer),
      ...parameters('query', endpoint.query, examples.query, describer),
      ...accountFilter(endpoint),
      ...idempotency(endpoint),
    ],
    ...(endpoint.body
      ? {
          requestBody: {
            required: (endpoint.body.required ?? []).length > 0,
            content: {
              [chooseMediaType(endpoint)]: {
                schema: describer.describeBody(endpoint.body, bodyPlace(endpoint)),
                example: examples.body,
              },
            },
          },
        }
      : {}),
    responses: {
      ...(has_dry_run && accepted_status !== 200 ? { 200: describeDryRun(describer) } : {}),
      [accepted_status]: {
        description: endpoint.events ? `Accepted. The outcome is sent as ${endpoint.events.join(' or ')}.` : 'Success.',
        content: endpoint.stream
          ? { 'text/event-stream': { schema: accepted } }
          : { 'application/json': { schema, example: examples.response } },
      },
      ...errorResponses(endpoint, errors, describer),
    },
    'x-codeSamples': codeSamples(endpoint, examples, base_url, listCredentialHeaders(endpoint)),
    ...(endpoint.events ? { 'x-events': [...endpoint.events] } : {}),
    ...(endpoint.found_in ? { 'x-found-in': endpoint.found_in } : {}),
    ...(endpoint.confirm ? { 'x-confirm': endpoint.confirm } : {}),
    ...(endpoint.sandbox ? { 'x-sandbox': true } : {}),
    ...(endpoint.reads ? { 'x-reads': true } : {}),
    ...(has_dry_run ? { 'x-dry-run': true } : {}),
  };
}

/** The response to a dry run of a write that is accepted with another status. */
function describeDryRun({ describeSchema }: Describer): Operation['responses'][string] {
  const example = composeExample(DryRun, 'response');
  const content = { 'application/json': { schema: describeSchema(DryRun), example } };
  return { description: 'The response to a dry run.', content };
}

function parameters(
  place: 'path' | 'query',
  schema: TObject | undefined,
  examples: Record<string, unknown>,
  { describeField }: Describer,
): Parameter[] {
  return Object.entries(schema?.properties ?? {}).map(([name, property]) => {
    const { description, ...rest } = describeField(name, property);
    return {
      name,
      in: place,
      required: place === 'path' || ((schema?.required ?? []) as string[]).includes(name),
      ...(description === undefined ? {} : { description }),
      schema: rest,
      ...(Object.hasOwn(examples, name) ? { example: examples[name] } : {}),
    };
  });
}

function accountFilter({ account_optional }: Endpoint): Parameter[] {
  if (!account_optional) return [];
  const description = 'The access token of a linked EMR account, to limit the response to that account.';
  return [{ name: 'access_token', in: 'header', required: false, description, schema: { type: 'string' } }];
}

function idempotency(endpoint: Endpoint): Parameter[] {
  if (!acceptsKey(endpoint)) return [];
  const description =
    'A unique string of your choice. A repeated request within 24 hours gets the first response and has no further effect.';
  const schema = { type: 'string', minLength: 1, maxLength: 255 };
  return [{ name: 'Idempotency-Key', in: 'header', required: false, description, schema, example: 'order-7-call-1' }];
}

function bodyPlace({ body_filters, file_field }: Endpoint): Place {
  if (body_filters) return 'filters';
  return file_field === undefined ? 'json_body' : 'form';
}

function chooseMediaType(endpoint: Endpoint): string {
  return endpoint.file_field === undefined ? 'application/json' : 'multipart/form-data';
}

/** The schema of an event as it is sent. */
export function describeEnvelope(type: EventType): TObject {
  const { has_job_id, has_account_reference, data, summary, ...kind } = events[type];
  const job_id = Type.String({ description: 'The job_id of the request, as a string' });
  const sync_data: TSchema | undefined = 'sync_data' in kind && kind.sync_data !== data ? kind.sync_data : undefined;
  return Type.Object(
    {
      id: Type.String({ description: 'ID of the event, the same for every delivery attempt' }),
      object: Type.Literal('event', { description: 'Always `event`' }),
      created: Type.String({ format: 'date-time', description: 'When the event occurred' }),
      type: Type.Literal(type, { description: 'The type of the event' }),
      ...(has_job_id ? { job_id: sync_data ? Type.Optional(job_id) : job_id } : {}),
      ...(has_account_reference ? { access_token_reference_id: Type.String() } : {}),
      reference: Type.Optional(
        Type.String({ description: 'The `reference` of the request, if it had one', not_in_examples: true }),
      ),
      data: sync_data ? Type.Union([data, sync_data]) : data,
    },
    { schema_name: toSchemaName(type), description: summary },
  );
}

/** Describes an event as a request to a webhook endpoint. */
export function describeEvent(type: EventType, { describeSchema }: Describer): EventCall {
  const envelope = describeEnvelope(type);
  const example = composeExample(envelope, 'response');
  return {
    operationId: `event.${type}`,
    security: [],
    summary: events[type].summary,
    requestBody: {
      required: true,
      content: { 'application/json': { schema: describeSchema(envelope), example } },
    },
    responses: { '2XX': { description: 'Received. Any other status, or no response within 15 seconds, is retried.' } },
  };
}

/** Any event: a union that `type` tells apart. */
export function describeAnyEvent(): Schema {
  const refs = event_types.map((type) => [type, `#/components/schemas/${toSchemaName(type)}`] as const);
  return {
    description: 'An event as it is sent to a webhook endpoint. `type` says which one it is.',
    oneOf: refs.map(([, $ref]) => ({ $ref })),
    discriminator: { propertyName: 'type', mapping: Object.fromEntries(refs) },
  };
}

/** `patient.insurance.added` → `PatientInsuranceAddedEvent`. */
function toSchemaName(type: EventType): string {
  return `${pascalCase(type)}Event`;
}
