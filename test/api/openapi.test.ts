import { PassThrough } from 'node:stream';
import { type TObject, Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { errors } from '../../src/catalog/errors.ts';
import { bodyPart, type Endpoint } from '../../src/http/endpoint.ts';
import { unnamed_text } from '../../src/http/openapi/composeExample.ts';
import { describeEnvelope } from '../../src/http/openapi/describeOperation.ts';
import { dereference } from '../../src/http/openapi/describeSchema.ts';
import type { Operation, Schema } from '../../src/http/openapi/document.ts';
import { composeOpenApi, listErrors } from '../../src/http/openapi/openApi.ts';
import { reader } from '../../src/http/validate.ts';
import { type EventType, event_types } from '../../src/model/events.ts';
import { endpoints } from '../../src/surfaces/api/endpoints.ts';
import { dashboardEndpoints } from '../../src/surfaces/dashboard/endpoints.ts';
import { link_endpoints } from '../../src/surfaces/linkpage/endpoints.ts';

const written = composeOpenApi(endpoints, { version: '0.0.0', base_url: 'http://127.0.0.1:4000' });
const document = dereference(written);
const named = endpoints.map((endpoint) => [endpoint.id, endpoint, findOperation(endpoint)] as const);

describe('every operation', () => {
  test.each(named)('%s has a summary, a group and a curl command', (_id, endpoint, operation) => {
    expect(operation.summary.length).toBeGreaterThan(10);
    expect(document.tags.map((tag) => tag.name)).toEqual(expect.arrayContaining(operation.tags));
    const [sample] = operation['x-codeSamples'];
    expect(sample?.source).toMatch(/^curl /);
    expect(sample?.source).toContain(endpoint.path.split('{')[0]);
    expect(sample?.source).not.toMatch(/undefined|\{\w+\}/);
  });

  test.each(named)('%s has an example request that passes validation', (_id, endpoint, operation) => {
    const shown = (place: string) =>
      Object.fromEntries(
        operation.parameters
          .filter((each) => each.in === place && each.example !== undefined)
          .map((each) => [each.name, each.example]),
      );
    for (const each of operation.parameters.filter((each) => each.required)) expect(each.example).toBeDefined();
    if (endpoint.params) expect(faults(endpoint.params, shown('path'))).toStrictEqual([]);
    if (endpoint.query) {
      // Query values arrive as strings.
      const sent = Object.fromEntries(Object.entries(shown('query')).map(([name, value]) => [name, String(value)]));
      reader(endpoint.query, 'query')(sent);
    }
    if (endpoint.body) reader(endpoint.body, bodyPart(endpoint))(findBodyExample(operation) as Record<string, unknown>);
  });

  test.each(named.filter(([, { body }]) => body))(
    '%s accepts blank, null and boolean values exactly where the document says so',
    (_id, endpoint, operation) => {
      const { body = Type.Object({}), file_field } = endpoint;
      const schema = findBodySchema(operation) as TObject;
      const read = reader(body, bodyPart(endpoint));
      const example = findBodyExample(operation) as Record<string, unknown>;
      for (const name of Object.keys(body.properties)) {
        for (const value of file_field === undefined ? ['', null, true] : ['']) {
          const sent = { ...example, [name]: value };
          const accepted = accepts(() => read(sent));
          // In the path, not in the body.
          if (endpoint.path.includes(`{${name}}`) || name === file_field) continue;
          expect([name, value, Value.Check(schema, sent)]).toStrictEqual([name, value, accepted]);
        }
      }
    },
  );

  test.each(named.filter(([, { stream }]) => !stream))(
    '%s has an example response that matches its schema',
    (_id, endpoint, operation) => {
      const response = operation.responses[endpoint.accepted_status ?? 200]?.content?.['application/json']?.example;
      expect(response).toMatchObject({ success: true });
      expect(faults(endpoint.response as TObject, response)).toStrictEqual([]);
    },
  );

  test.each(named)('%s lists its errors with example bodies', (_id, endpoint, operation) => {
    for (const code of listErrors(endpoint)) {
      const { status } = errors[code];
      const content = operation.responses[status]?.content?.['application/json'];
      const body = content?.examples?.[code]?.value as Record<string, unknown>;
      expect(body, code).toMatchObject({ success: false });
      expect(body.message, code).not.toMatch(/\{\w+\}|undefined/);
      const keys =
        code === 'login_required'
          ? ['error', 'message', 'success']
          : ['code', 'doc_url', 'message', 'remedy', 'request_id', 'success'];
      expect(
        Object.keys(body)
          .filter((key) => !['field', 'errors', 'claim_id'].includes(key))
          .sort(),
      ).toStrictEqual(keys);
      expect(faults(content?.schema as TObject, body), code).toStrictEqual([]);
    }
  });
});

describe('a write', () => {
  const job_changes = new Set(['jobs.run-again', 'jobs.cancel']);
  const writes = named.filter(
    // The event of a job that runs again, or is canceled, is that of its write.
    ([id, { response, method }]) => 'job_id' in listProperties(response) && method !== 'GET' && !job_changes.has(id),
  );
  test.each(writes)('%s lists the events of its outcome', (_id, _endpoint, operation) => {
    expect(operation['x-events']?.length, 'declare `events` at the endpoint').toBeGreaterThan(0);
  });
});

describe('an event', () => {
  test.each(event_types.map((type) => [type]))('%s has an example that matches its schema', (type: EventType) => {
    const content = document.webhooks[type]?.post.requestBody.content['application/json'];
    expect(faults(describeEnvelope(type), content?.example)).toStrictEqual([]);
  });
});

describe('examples', () => {
  const shown = JSON.stringify([...named.flatMap(([, , operation]) => examplesIn(operation)), document.webhooks]);

  test('contain no placeholder: every string field needs an example', () => {
    const where = [
      ...named.flatMap(([id, , operation]) => examplesIn(operation).flatMap((each) => unnamed(each, id))),
      ...Object.entries(document.webhooks).flatMap(([type, { post }]) =>
        unnamed(post.requestBody.content['application/json'].example, type),
      ),
    ];
    expect(where, 'add the field to src/model/examples.ts, or `examples` to its schema').toStrictEqual([]);
  });

  test('contain no real people: only example.org addresses and 555 numbers', () => {
    for (const [address] of shown.matchAll(/[\w.+-]+@[\w.-]+/g)) expect(address).toMatch(/@example\.org$/);
    for (const [number] of shown.matchAll(/\b\d{3}-\d{3}-\d{4}\b/g)) expect(number).toMatch(/^\d{3}-555-01/);
    for (const [host] of shown.matchAll(/https?:\/\/[^/"]+/g)) expect(host).toMatch(/example\.org$|127\.0\.0\.1/);
  });

  test('examples with found_in refer to values that exist', () => {
    for (const [id, , operation] of named) {
      for (const [name, source] of Object.entries(operation['x-found-in'] ?? {})) {
        const [place = '', pointer = ''] = source.split('#');
        const takes = [
          ...operation.parameters.map((each) => each.name),
          ...Object.keys(findBodySchema(operation)?.properties ?? {}),
        ];
        expect(takes, id).toContain(name);
        if (place === 'sandbox') continue;
        const [method = '', path = ''] = place.split(' ');
        const other = document.paths[path.split('?')[0] ?? '']?.[method.toLowerCase()];
        expect(valueAt(other?.responses['200']?.content?.['application/json']?.example, pointer), id).toBeDefined();
      }
    }
  });
});

describe('the document', () => {
  test('contains the public API only', () => {
    const live = { open: () => new PassThrough(), close: () => {} };
    const page_endpoints = [...link_endpoints, ...dashboardEndpoints({ live, findSandboxEmr: () => undefined })];
    const info = { version: '0.0.0', base_url: 'http://127.0.0.1:4000' };
    expect(composeOpenApi([...endpoints, ...page_endpoints], info)).toStrictEqual(written);
    const dashboard = page_endpoints.filter(({ path }) => path.startsWith('/dashboard/'));
    expect(new Set(dashboard.map(({ surface }) => surface))).toStrictEqual(new Set(['dashboard']));
  });

  test('is valid OpenAPI 3.1: all required fields, no unknown ones', () => {
    expect(document.openapi).toBe('3.1.0');
    const ids = named.map(([, , operation]) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [path, item] of Object.entries(document.paths)) {
      expect(path).toMatch(/^\//);
      for (const [method, operation] of Object.entries(item)) {
        expect(['get', 'post', 'patch', 'delete']).toContain(method);
        const templated = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
        const in_path = operation.parameters.filter((each) => each.in === 'path');
        expect(in_path.map((each) => each.name)).toStrictEqual(templated);
        expect(in_path.every((each) => each.required)).toBe(true);
        const keys = operation.parameters.map((each) => `${each.in} ${each.name}`);
        expect(new Set(keys).size).toBe(keys.length);
        for (const name of Object.keys(operation.security[0] ?? {})) {
          expect(document.components.securitySchemes).toHaveProperty([name]);
        }
        for (const [status, response] of Object.entries(operation.responses)) {
          expect(status).toMatch(/^[2-5]\d\d$/);
          expect(response.description).not.toBe('');
        }
        const allowed = /^(operationId|tags|summary|description|security|parameters|requestBody|responses|x-.*)$/;
        expect(Object.keys(operation).filter((key) => !allowed.test(key))).toStrictEqual([]);
      }
    }
  });

  test('uses only standard JSON Schema keywords', () => {
    const strange = new Set<string>();
    const look = (schema: Schema) => {
      for (const word of Object.keys(schema)) if (!words.has(word)) strange.add(word);
      const inner = [schema.items, schema.additionalProperties, ...(schema.anyOf ?? []), ...(schema.allOf ?? [])];
      inner.push(...Object.values(schema.properties ?? {}), ...Object.values(schema.patternProperties ?? {}));
      for (const each of inner) if (typeof each === 'object') look(each);
    };
    for (const [, , operation] of named) {
      for (const parameter of operation.parameters) look(parameter.schema);
      for (const each of [operation.requestBody, ...Object.values(operation.responses)]) {
        for (const content of Object.values(each?.content ?? {})) look(content.schema);
      }
    }
    for (const { post } of Object.values(document.webhooks)) look(post.requestBody.content['application/json'].schema);
    expect([...strange]).toStrictEqual([]);
  });

  test('has named schemas, each used and each used name defined', () => {
    const names = Object.keys(written.components.schemas);
    const used = [...JSON.stringify(written).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
    expect(new Set(used)).toStrictEqual(new Set(names.filter((name) => name !== 'WebhookEvent')));
    expect(names).toEqual(
      expect.arrayContaining(
        `Patient PatientCreate PatientUpdate PatientInsurance Claim ClaimLine Appointment AppointmentCreate Order Provider
         Location StaffMember Pharmacy InsuranceProvider ReferringProvider TelephoneEncounter Job WebhookEndpoint
         WebhookEvent PatientCreatedEvent LoginRequiredEvent Error LoginRequiredError Pagination`.split(/\s+/),
      ),
    );
  });

  test('contains an error response only once, and a body of an error only where it differs by endpoint', () => {
    const responses = Object.values(written.paths)
      .flatMap((item) => Object.values(item))
      .flatMap((operation) => Object.values(operation.responses));
    const inline = responses.filter(({ $ref, content }) => !$ref && content?.['application/json']?.examples);
    const general = inline.filter(({ content }) =>
      Object.values(content?.['application/json']?.examples ?? {}).every(({ $ref }) => $ref),
    );
    expect(new Set(general.map((each) => JSON.stringify(each))).size).toBe(general.length);
    const text = JSON.stringify(written);
    for (const kind of ['examples', 'responses'] as const) {
      for (const name of Object.keys(written.components[kind])) {
        expect(text.split(`"#/components/${kind}/${name}"`).length, name).toBeGreaterThan(1);
      }
    }
    // If each response had its own copies, it would be about 2 KB more per operation.
    const operations = Object.values(written.paths).reduce((sum, path) => sum + Object.keys(path).length, 0);
    expect(text.length / operations, 'bytes per operation: something is repeated').toBeLessThan(11_200);
  });

  test('describes any event as a union that the type tells apart', () => {
    const { oneOf, discriminator } = written.components.schemas.WebhookEvent ?? {};
    expect(Object.keys(discriminator?.mapping ?? {})).toStrictEqual(event_types);
    expect(oneOf?.map(({ $ref }) => $ref)).toStrictEqual(Object.values(discriminator?.mapping ?? {}));
  });

  test('gives every request of ours, the webhooks included, an operation id of its own and a security', () => {
    const calls = [...Object.values(written.paths), ...Object.values(written.webhooks)].flatMap((item) =>
      Object.values(item),
    );
    const ids = calls.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const call of calls) expect(call.security, call.operationId).toBeDefined();
  });

  test('survives JSON serialization unchanged', () => {
    expect(JSON.parse(JSON.stringify(written))).toStrictEqual(written);
  });
});

const words = new Set(
  `type const enum x-enumDescriptions anyOf allOf items properties patternProperties required additionalProperties description default format
   pattern contentMediaType contentEncoding minLength maxLength minimum exclusiveMinimum maximum minItems maxItems maxProperties
   examples`.split(/\s+/),
);

function findOperation(endpoint: Endpoint): Operation {
  const operation = document.paths[endpoint.path]?.[endpoint.method.toLowerCase()];
  if (!operation) throw new Error(`${endpoint.id} is missing from the document.`);
  return operation;
}

function faults(schema: TObject, value: unknown): string[] {
  return [...Value.Errors(schema, value)].map((error) => `${error.instancePath} ${error.message}`);
}

function accepts(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}

function findBodySchema(operation: Operation): Schema | undefined {
  return Object.values(operation.requestBody?.content ?? {})[0]?.schema;
}

function findBodyExample(operation: Operation): unknown {
  return Object.values(operation.requestBody?.content ?? {})[0]?.example;
}

function examplesIn(operation: Operation): unknown[] {
  return [
    ...operation.parameters.map((each) => each.example),
    findBodyExample(operation),
    operation.responses['200']?.content?.['application/json']?.example,
  ];
}

function listProperties(schema: unknown): Record<string, unknown> {
  return (schema as { properties?: Record<string, unknown> }).properties ?? {};
}

/** Paths of placeholder values. */
function unnamed(value: unknown, place: string): string[] {
  if (value === unnamed_text) return [place];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => unnamed(inner, `${place}/${name}`));
}

function valueAt(value: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], value);
}
