import type { TSchema } from 'typebox';
import { type ErrorCode, errors } from '../errors.ts';
import type { Endpoint } from './endpoint.ts';

const headers = ['client_id', 'client_secret', 'access_token'] as const;
type Header = (typeof headers)[number];

const needed: Record<Endpoint['auth'], readonly Header[]> = {
  none: [],
  client: ['client_id', 'client_secret'],
  account: headers,
};

/** The OpenAPI 3.1 document of the endpoints, derived from what they declare. */
export function openApi(endpoints: readonly Endpoint[], info: { version: string; base_url: string }) {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const endpoint of endpoints) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method.toLowerCase()]: operation(endpoint) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Chartwire', version: info.version, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: info.base_url }],
    paths,
    components: {
      securitySchemes: Object.fromEntries(headers.map((name) => [name, { type: 'apiKey', in: 'header', name }])),
    },
  };
}

/** The errors an endpoint can answer: its own, and those that come with what it takes. */
export function errorsOf(endpoint: Endpoint): ErrorCode[] {
  const codes: ErrorCode[] = [];
  if (endpoint.body) codes.push('body_not_json', 'body_not_object', 'unexpected_fields', 'body_too_large');
  if (endpoint.body) codes.push('media_type_unsupported');
  if (endpoint.body || endpoint.query) codes.push('missing_field', 'invalid_field');
  codes.push('unexpected_query', ...(endpoint.errors ?? []));
  if (endpoint.method === 'POST' || endpoint.method === 'PATCH') {
    codes.push('idempotency_key_invalid', 'idempotency_key_running', 'idempotency_key_reused');
  }
  if (endpoint.auth !== 'none') codes.push('client_credentials_invalid', 'access_token_invalid', 'rate_limited');
  if (endpoint.auth === 'account') codes.push('access_token_missing');
  if (endpoint.auth === 'account' && !endpoint.while_expired) codes.push('login_required');
  codes.push('internal', 'database_unavailable');
  return [...new Set(codes)];
}

function operation(endpoint: Endpoint) {
  const by_status = groupByStatus(errorsOf(endpoint));
  return {
    operationId: endpoint.id,
    summary: endpoint.summary,
    security: [Object.fromEntries(needed[endpoint.auth].map((name) => [name, []]))],
    parameters: [...parameters(endpoint, 'path'), ...parameters(endpoint, 'query'), ...idempotency(endpoint)],
    ...(endpoint.body
      ? {
          requestBody: {
            required: (endpoint.body.required ?? []).length > 0,
            content: { [mediaTypeOf(endpoint)]: { schema: endpoint.body } },
          },
        }
      : {}),
    responses: {
      200: { description: 'Done, or accepted.', content: json(endpoint.response) },
      ...Object.fromEntries(
        [...by_status]
          .sort(([a], [b]) => a - b)
          .map(([status, codes]) => [
            status,
            {
              description: codes.map((code) => `\`${code}\`: ${errors[code].message}`).join('  \n'),
              content: json(errorSchema(codes)),
            },
          ]),
      ),
    },
  };
}

function groupByStatus(codes: ErrorCode[]): Map<number, ErrorCode[]> {
  const groups = new Map<number, ErrorCode[]>();
  for (const code of codes) groups.set(errors[code].status, [...(groups.get(errors[code].status) ?? []), code]);
  return groups;
}

function parameters(endpoint: Endpoint, place: 'path' | 'query') {
  const schema = place === 'path' ? endpoint.params : endpoint.query;
  return Object.entries(schema?.properties ?? {}).map(([name, property]) => ({
    name,
    in: place,
    required: place === 'path' || ((schema?.required ?? []) as string[]).includes(name),
    schema: property,
  }));
}

function idempotency(endpoint: Endpoint) {
  if (endpoint.method !== 'POST' && endpoint.method !== 'PATCH') return [];
  const description = 'Any text of your own. Sent again within 24 hours, the request is answered but not repeated.';
  const schema = { type: 'string', minLength: 1, maxLength: 255 };
  return [{ name: 'Idempotency-Key', in: 'header', required: false, description, schema }];
}

function mediaTypeOf(endpoint: Endpoint): string {
  return endpoint.file_field === undefined ? 'application/json' : 'multipart/form-data';
}

function json(schema: TSchema | object) {
  return { 'application/json': { schema } };
}

function errorSchema(codes: ErrorCode[]) {
  const expired = codes.length === 1 && codes[0] === 'login_required';
  return {
    type: 'object',
    required: ['success', 'message', ...(expired ? ['error'] : ['code', 'request_id'])],
    properties: {
      success: { const: false },
      message: { type: 'string' },
      ...(expired
        ? { error: { const: 'login_required' } }
        : { code: { enum: codes }, request_id: { type: 'string' }, field: { type: 'string' } }),
    },
  };
}
