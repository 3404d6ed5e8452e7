import type { Content, Document, Operation, Parameter, Schema } from './document.ts';

/** An operation of the API as a method of a client library, or as a tool. */
export type Method = {
  /** `['patients', 'insurances']`: the resource the method belongs to. */
  resource: string[];
  name: string;
  /** The method, path and texts of the operation. */
  verb: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  operation: Operation;
  /** The request has no effect, so that it can be repeated. */
  reads: boolean;
  path_parameters: Parameter[];
  query_parameters: Parameter[];
  /** Absent if the body has no fields. */
  body?: Schema;
  /** An empty object is sent. */
  empty_body: boolean;
  form: boolean;
  /** It takes the option of a dry run, which has another response. */
  dry_run: boolean;
  response: Schema;
  /** The field of the response with the records, and their schema. */
  items?: { field: string; schema: Schema };
  /** Events of a write. `job_id`: whether its response has one. `match`: the id to find the event by if it has none. */
  outcome?: { succeeded: string[]; all: string[]; job_id: 'always' | 'sometimes' | 'never'; match: string };
};

export function listMethods(document: Document): Method[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([, operation]) => !isStream(operation))
      .map(([verb, operation]) => describeMethod(document, path, verb, operation)),
  );
}

/** Streams are for the command line; applications register webhooks. */
function isStream({ responses }: Operation): boolean {
  return responses['200']?.content?.['text/event-stream'] !== undefined;
}

/** The JSON response of a request that succeeded or was accepted, and not of a dry run. */
export function findSuccess(operation: Operation): Content | undefined {
  const { responses, 'x-dry-run': has_dry_run } = operation;
  const content = (responses['202'] ?? responses['200'])?.content?.['application/json'];
  const [accepted] = content?.schema.anyOf ?? [];
  return content && has_dry_run && accepted ? { ...content, schema: accepted } : content;
}

/** Resolves a reference to a named schema. */
export function resolveSchema(document: Document, schema: Schema): Schema {
  const name = readRefName(schema);
  return name === undefined ? schema : (document.components.schemas[name] ?? {});
}

/** The name of the schema that is referred to. */
export function readRefName({ $ref }: Schema): string | undefined {
  return $ref?.slice('#/components/schemas/'.length);
}

/** The alternatives of a schema, without the empty text that optional fields also accept: it says no more than null. */
export function listAlternatives({ anyOf, oneOf }: Schema): Schema[] | undefined {
  return (anyOf ?? oneOf)?.filter(({ maxLength }) => maxLength !== 0);
}

function describeMethod(document: Document, path: string, verb: string, operation: Operation): Method {
  const parts = operation.operationId.split('.');
  const [[media_type, content] = []] = Object.entries(operation.requestBody?.content ?? {});
  const body = content && resolveSchema(document, content.schema);
  const has_fields = Object.keys(body?.properties ?? {}).length > 0;
  const response = findSuccess(operation)?.schema ?? {};
  const items = parts.at(-1) === 'list' || operation['x-reads'] ? findItems(response) : undefined;
  const outcome = operation['x-events'] && describeOutcome(resolveSchema(document, response), operation['x-events']);
  return {
    resource: parts.slice(0, -1),
    name: parts.at(-1) ?? '',
    verb: verb.toUpperCase() as Method['verb'],
    path,
    operation,
    reads: verb === 'get' || operation['x-reads'] === true,
    path_parameters: operation.parameters.filter((each) => each.in === 'path'),
    // A dry run has another response, so it is an option of a write's method and not a parameter.
    query_parameters: operation.parameters.filter((each) => each.in === 'query' && each.name !== 'dry_run'),
    ...(content && has_fields ? { body: content.schema } : {}),
    empty_body: content !== undefined && !has_fields,
    form: media_type === 'multipart/form-data',
    dry_run: operation['x-dry-run'] === true,
    response,
    ...(items ? { items } : {}),
    ...(outcome ? { outcome } : {}),
  };
}

function findItems({ properties = {} }: Schema): Method['items'] {
  const lists = Object.entries(properties).filter(([, { type }]) => type === 'array');
  const [field, schema] = lists[0] ?? [];
  return field !== undefined && schema?.items ? { field, schema: schema.items } : undefined;
}

function describeOutcome({ properties = {}, required = [] }: Schema, all: string[]): NonNullable<Method['outcome']> {
  const job_id = required.includes('job_id') ? 'always' : 'job_id' in properties ? 'sometimes' : 'never';
  const match = Object.keys(properties).find((name) => name.endsWith('_id') && name !== 'job_id') ?? '';
  return { succeeded: all.filter((type) => !type.endsWith('failed')), all, job_id, match };
}
