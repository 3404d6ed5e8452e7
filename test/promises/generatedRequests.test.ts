import fc from 'fast-check';
import type { TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dereference } from '../../src/http/openapi/describeSchema.ts';
import type { Operation, Schema } from '../../src/http/openapi/document.ts';
import { composeOpenApi } from '../../src/http/openapi/openApi.ts';
import { endpoints } from '../../src/surfaces/api/endpoints.ts';
import { figure, timeoutFor } from '../harness/figure.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

/** How many requests are generated for each operation, valid ones and broken ones. */
const requests = figure('GENERATED_REQUESTS', 5);
const seed = figure('GENERATED_SEED', 20261116);

type Request = {
  path: Record<string, string>;
  query: Record<string, string>;
  headers: Record<string, string>;
  body: Record<string, unknown> | undefined;
};

const document = dereference(composeOpenApi(endpoints, { version: '0.0.0', base_url: 'http://127.0.0.1:4000' }));
/** They replace or revoke the access token, so they come last. */
const last = ['account.rotate-token', 'account.delete'];
const ordered = [...endpoints].sort((a, b) => last.indexOf(a.id) - last.indexOf(b.id));
const operations = ordered.flatMap(({ id, method, path, stream, file_field }) => {
  const operation = document.paths[path]?.[method.toLowerCase() as 'get'];
  // A stream does not end, and the form of an upload has tests of its own.
  return operation && !stream && file_field === undefined ? [[id, { method, path, operation }] as const] : [];
});

describe('promise 23: requests generated from the OpenAPI document get documented responses', () => {
  let fixture: TestSandbox;
  beforeAll(async () => {
    fixture = await startSandbox({ small: true });
  });
  afterAll(() => fixture?.close());

  test.each(operations)(
    '%s',
    async (_id, { method, path, operation }) => {
      const valid = anyRequest(operation);
      const send = async (request: Request) => {
        const { status, body, headers } = await call(fixture, method, path, request);
        expect(Object.keys(operation.responses)).toContain(String(status));
        expect(status).toBeLessThan(500);
        expect(headers.get('content-type')).toMatch(/^application\/json/);
        const schema = operation.responses[String(status)]?.content?.['application/json']?.schema as TSchema;
        expect([...Value.Errors(schema, body)].map((error) => `${error.instancePath} ${error.message}`)).toEqual([]);
      };
      const options = { numRuns: requests, seed, endOnFailure: true };
      await fc.assert(fc.asyncProperty(valid, send), options);
      await fc.assert(fc.asyncProperty(broken(valid), send), options);
    },
    timeoutFor(requests, 5_000),
  );
});

async function call({ sandbox }: TestSandbox, method: string, path: string, request: Request) {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(request.path[name] ?? ''));
  const query = new URLSearchParams(request.query).toString();
  const { client_id, client_secret, access_token } = sandbox;
  const response = await fetch(`${sandbox.base_url}${filled}${query === '' ? '' : `?${query}`}`, {
    method,
    headers: {
      ...{ client_id, client_secret, access_token },
      ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...request.headers,
    },
    ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/**
 * A request that the document allows. Most values are its examples, and some bodies are the whole example, so that many
 * requests name real records and are accepted.
 */
function anyRequest(operation: Operation): fc.Arbitrary<Request> {
  const parameters = (place: 'path' | 'query') => {
    // A dry run has a response of its own; see test/spec/writes/dryRun.test.ts.
    const own = operation.parameters.filter((each) => each.in === place && each.name !== 'dry_run');
    const values = own.map((each) => [each.name, anyValue(each.schema, each.example).map(String)] as const);
    const required = own.filter((each) => each.required).map((each) => each.name);
    return fc.record(Object.fromEntries(values), { requiredKeys: required, noNullPrototype: true });
  };
  const content = operation.requestBody?.content['application/json'];
  const body = content && oftenExample(content.example, anyValue(content.schema, content.example));
  return fc.record({
    path: parameters('path'),
    query: parameters('query'),
    headers: fc.constant({}),
    body: (body ?? fc.constant(undefined)) as fc.Arbitrary<Request['body']>,
  });
}

function anyValue(schema: Schema, example?: unknown): fc.Arbitrary<unknown> {
  if (schema.type === 'object') return anyObject(schema, example as Record<string, unknown> | undefined);
  return example === undefined ? generated(schema) : oftenExample(example, generated(schema));
}

function oftenExample(example: unknown, other: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 2, arbitrary: fc.constant(example) }, { weight: 1, arbitrary: other });
}

function anyObject({ properties = {}, required = [] }: Schema, example: Record<string, unknown> = {}) {
  const values = Object.entries(properties).map(
    ([name, each]) => [name, anyValue(each as Schema, example[name])] as const,
  );
  return fc.record(Object.fromEntries(values), { requiredKeys: [...required], noNullPrototype: true });
}

function generated(schema: Schema): fc.Arbitrary<unknown> {
  const { type, enum: values, pattern, format, minLength = 0, maxLength = 60 } = schema;
  const { minimum = 0, maximum = 1_000_000, items } = schema;
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((each) => anyValue(each)));
  if ('const' in schema) return fc.constant(schema.const);
  if (values) return fc.constantFrom(...values);
  if (type === 'boolean') return fc.boolean();
  if (type === 'integer') return fc.integer({ min: minimum, max: maximum });
  if (type === 'number') return fc.integer({ min: minimum * 100, max: maximum * 100 }).map((cents) => cents / 100);
  if (type === 'array') return fc.array(anyValue(items as Schema), { maxLength: 3 });
  if (format === 'date' || format === 'date-time') {
    return date.map((instant) => (format === 'date' ? instant.toISOString().slice(0, 10) : instant.toISOString()));
  }
  if (pattern) return fc.stringMatching(new RegExp(pattern));
  return fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, Math.max(minLength, 200)) });
}

const date = fc.date({ min: new Date('1900-01-01'), max: new Date('2100-12-31'), noInvalidDate: true });

/** The request with one part replaced by something that the document does not allow, or hardly. */
function broken(valid: fc.Arbitrary<Request>): fc.Arbitrary<Request> {
  return fc
    .tuple(valid, fc.nat(), hostile, fc.constantFrom('path', 'query', 'headers', 'body', 'missing'))
    .map(([request, position, value, place]) => {
      const names = Object.keys(request.body ?? {});
      const name = names[position % Math.max(names.length, 1)];
      if (place === 'missing' && request.body && name !== undefined) {
        const { [name]: _left_out, ...body } = request.body;
        return { ...request, body };
      }
      if (place === 'body' && request.body)
        return { ...request, body: { ...request.body, [name ?? 'unknown']: value } };
      if (place === 'headers') return { ...request, headers: { 'idempotency-key': headerText(value) } };
      if (place === 'path' && Object.keys(request.path).length > 0) {
        return {
          ...request,
          path: Object.fromEntries(Object.keys(request.path).map((each) => [each, segment(value)])),
        };
      }
      const [parameter = 'unknown'] = Object.keys(request.query);
      return { ...request, query: { ...request.query, [parameter]: text(value) } };
    });
}

const hostile = fc.oneof(
  fc.constantFrom<unknown[]>(
    ...[
      null,
      true,
      false,
      0,
      -1,
      1e308,
      -0.5,
      2 ** 53,
      '',
      ' ',
      '\0',
      '\ud800',
      '‮abc',
      'é\u0301',
      '../..',
      '%00',
      "'; --",
    ],
    ...[
      '9999-99-99',
      '2026-02-30',
      '0000-00-00',
      'NaN',
      '1e999',
      '-1',
      'x'.repeat(5_000),
      [],
      {},
      [[]],
      { a: { b: {} } },
    ],
    ...[['a', 1, null], { __proto__: null, constructor: 'x' }],
  ),
  fc.string({ unit: 'binary', maxLength: 50 }),
  fc.double(),
);

function text(value: unknown): string {
  const written = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return written.toWellFormed?.() ?? written.replaceAll(/[\ud800-\udfff]/g, '�');
}

/** Only what fetch can send as one segment of a path. */
function segment(value: unknown): string {
  const written = text(value).slice(0, 400);
  return /^\.{0,2}$/.test(written) ? 'x' : written;
}

function headerText(value: unknown): string {
  return text(value)
    .replaceAll(/[^\x20-\x7e\xa0-\xff]/g, '?')
    .slice(0, 600);
}
