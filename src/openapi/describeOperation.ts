import type { TObject } from 'typebox';
import type { ErrorCode } from '../errors.ts';
import type { Endpoint } from '../http/endpoint.ts';
import { compose } from './composeExample.ts';
import { addressOf, curl } from './curl.ts';
import { describeBody, describeSchema } from './describeSchema.ts';
import type { Operation, Parameter } from './document.ts';
import { errorResponses } from './errorResponses.ts';
import { groupOf } from './groups.ts';

export const headers = {
  client_id: 'The client’s API id.',
  client_secret: 'The client’s API secret.',
  access_token: 'The token of one linked EMR account.',
} as const;
type Header = keyof typeof headers;

const needed: Record<Endpoint['auth'], readonly Header[]> = {
  none: [],
  client: ['client_id', 'client_secret'],
  account: ['client_id', 'client_secret', 'access_token'],
  // The pages' own endpoints are not part of the document.
  link: [],
  operator: [],
  operator_in_client: [],
};

/** What a request to the endpoint looks like, and what is answered: its own examples, or what its schemas tell. */
export function examplesOf({ example = {}, params, query, body, response }: Endpoint) {
  return {
    params: example.params ?? (params ? compose(params, 'parameters') : {}),
    query: example.query ?? (query ? compose(query, 'parameters') : {}),
    body: example.body ?? (body && compose(body, 'body')),
    answer: example.answer ?? compose(response as TObject, 'answer'),
  };
}

/** An endpoint as an operation of the OpenAPI document. */
export function describeOperation(endpoint: Endpoint, errors: readonly ErrorCode[], base_url: string): Operation {
  const shown = examplesOf(endpoint);
  const source = curl({
    method: endpoint.method,
    url: base_url + addressOf(endpoint.path, shown.params, shown.query),
    headers: needed[endpoint.auth],
    body: shown.body,
    file_field: endpoint.file_field,
  });
  return {
    operationId: endpoint.id,
    tags: [groupOf(endpoint.path)],
    summary: endpoint.summary,
    ...(endpoint.description === undefined ? {} : { description: endpoint.description }),
    security: [Object.fromEntries(needed[endpoint.auth].map((name) => [name, []]))],
    parameters: [
      ...parameters('path', endpoint.params, shown.params),
      ...parameters('query', endpoint.query, shown.query),
      ...idempotency(endpoint),
    ],
    ...(endpoint.body
      ? {
          requestBody: {
            required: (endpoint.body.required ?? []).length > 0,
            content: { [mediaTypeOf(endpoint)]: { schema: describeBody(endpoint.body), example: shown.body } },
          },
        }
      : {}),
    responses: {
      200: {
        description: endpoint.events ? `Accepted. The outcome is told by ${endpoint.events.join(' or ')}.` : 'Done.',
        content: { 'application/json': { schema: describeSchema(endpoint.response), example: shown.answer } },
      },
      ...errorResponses(endpoint, errors),
    },
    'x-codeSamples': [{ lang: 'Shell', label: 'curl', source }],
    ...(endpoint.events ? { 'x-events': [...endpoint.events] } : {}),
    ...(endpoint.found_in ? { 'x-found-in': endpoint.found_in } : {}),
    ...(endpoint.confirm ? { 'x-confirm': endpoint.confirm } : {}),
    ...(endpoint.sandbox ? { 'x-sandbox': true } : {}),
  };
}

function parameters(place: 'path' | 'query', schema: TObject | undefined, shown: Record<string, unknown>): Parameter[] {
  return Object.entries(schema?.properties ?? {}).map(([name, property]) => {
    const { description, ...rest } = describeSchema(property);
    return {
      name,
      in: place,
      required: place === 'path' || ((schema?.required ?? []) as string[]).includes(name),
      ...(description === undefined ? {} : { description }),
      schema: rest,
      ...(Object.hasOwn(shown, name) ? { example: shown[name] } : {}),
    };
  });
}

function idempotency(endpoint: Endpoint): Parameter[] {
  if (endpoint.method !== 'POST' && endpoint.method !== 'PATCH') return [];
  const description = 'Any text of your own. Sent again within 24 hours, the request is answered but not repeated.';
  const schema = { type: 'string', minLength: 1, maxLength: 255 };
  return [{ name: 'Idempotency-Key', in: 'header', required: false, description, schema, example: 'order-7-call-1' }];
}

function mediaTypeOf(endpoint: Endpoint): string {
  return endpoint.file_field === undefined ? 'application/json' : 'multipart/form-data';
}
