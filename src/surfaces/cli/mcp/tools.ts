import type { Tool } from '@modelcontextprotocol/server';
import { version } from '../../../catalog/version.ts';
import { dereference } from '../../../http/openapi/describeSchema.ts';
import type { Schema } from '../../../http/openapi/document.ts';
import { listAlternatives, listMethods, type Method } from '../../../http/openapi/methods.ts';
import { composeOpenApi } from '../../../http/openapi/openApi.ts';
import { endpoints } from '../../api/endpoints.ts';

/** An operation of the API as a tool for a model. */
export type ApiTool = {
  definition: Tool;
  method: Method;
  /** The part of the request that each argument belongs to. */
  places: ReadonlyMap<string, 'path' | 'query' | 'body' | 'file' | 'idempotency_key'>;
  /** The field of the form that takes the file. */
  file_field: string | undefined;
};

/** The tools by name. Without `writes`, only those that read; with `files`, documents can be read from a folder. */
export function apiTools({ writes, files }: { writes: boolean; files: boolean }): Map<string, ApiTool> {
  const document = dereference(composeOpenApi(endpoints, { version, base_url: '' }));
  const declared = new Map(endpoints.map(({ id, agent_tool }) => [id, agent_tool]));
  const tools = listMethods(document).flatMap((method) => {
    const agent_tool = declared.get(method.operation.operationId);
    if (agent_tool === undefined || !(writes || method.reads)) return [];
    return [describeTool(method, agent_tool === true ? toolName(method) : agent_tool, files)];
  });
  return new Map(tools.map((tool) => [tool.definition.name, tool]));
}

function describeTool(method: Method, name: string, files: boolean): ApiTool {
  const { operation, verb, reads } = method;
  const { properties, required, places, file_field } = describeArguments(method, files);
  const description = [
    `${operation.summary}.`,
    operation.description,
    ...(operation['x-events'] ? ['Waits for the outcome in the EMR and returns it.'] : []),
  ];
  return {
    definition: {
      name,
      description: description.filter((text) => text !== undefined).join(' '),
      // JSON Schema, as the protocol wants it. Our schema type does not say that all values are JSON.
      inputSchema: { type: 'object', properties, required, additionalProperties: false } as Tool['inputSchema'],
      annotations: {
        title: operation.summary,
        readOnlyHint: reads,
        ...(!reads && { destructiveHint: verb !== 'POST', idempotentHint: false }),
        openWorldHint: false,
      },
    },
    method,
    places,
    file_field,
  };
}

/** `claims.list` → `list_claims`, `patients.search` → `search_patients`, `webhook-events.resend` → `resend_webhook_event`. */
function toolName({ resource, name, items }: Method): string {
  const [verb = '', ...rest] = name.split('-');
  const nouns = resource.map((noun, index) =>
    items !== undefined && index === resource.length - 1 ? noun : singular(noun),
  );
  return [verb, ...nouns, ...rest].join('_').replaceAll('-', '_');
}

function singular(noun: string): string {
  return noun.replace(/s$/, '');
}

type Arguments = Pick<ApiTool, 'file_field'> & {
  properties: Record<string, Schema>;
  required: string[];
  places: Map<string, 'path' | 'query' | 'body' | 'file' | 'idempotency_key'>;
};

function describeArguments(
  { path_parameters, query_parameters, body, verb, reads }: Method,
  files: boolean,
): Arguments {
  const result: Arguments = { properties: {}, required: [], places: new Map(), file_field: undefined };
  const add = (name: string, schema: Schema, place: Parameters<Arguments['places']['set']>[1], is_required = false) => {
    result.properties[name] = plain(schema);
    result.places.set(name, place);
    if (is_required) result.required.push(name);
  };
  for (const { in: place, name, schema, description, required } of [...path_parameters, ...query_parameters]) {
    add(name, { ...schema, description }, place === 'path' ? 'path' : 'query', required);
  }
  for (const [name, schema] of Object.entries(body?.properties ?? {})) {
    if (schema.contentMediaType === undefined) add(name, schema, 'body', body?.required?.includes(name));
    else {
      result.file_field = name;
      const text = { type: 'string', description: `${schema.description}. Its content in base64` };
      add(`${name}_base64`, text, 'file', !files);
      if (files) {
        const path = 'A path in the allowed folder, instead of the content';
        add(`${name}_path`, { type: 'string', description: path }, 'file');
      }
    }
  }
  if (!reads && verb !== 'DELETE') {
    const description =
      'Only to retry a call whose result was lost: the key from the error. The retry does not take effect twice';
    add('idempotency_key', { type: 'string', description }, 'idempotency_key');
  }
  return result;
}

/**
 * Without the keywords that only our own pages understand. The explanations of an enum's values go into its
 * description.
 */
function plain(schema: Schema): Schema {
  const { 'x-enumDescriptions': values, examples: _, properties, items, anyOf: _all, ...rest } = schema;
  const any = listAlternatives(schema);
  const explained = Object.entries(values ?? {}).map(([value, text]) => `${value}: ${text}`);
  const description = [rest.description, ...explained].filter((text) => text !== undefined).join('. ');
  return {
    ...rest,
    ...(description !== '' && { description }),
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, plain(each)])),
    }),
    ...(items && { items: plain(items) }),
    ...(any && { anyOf: any.map(plain) }),
  };
}
