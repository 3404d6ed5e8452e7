import { expect, test } from 'vitest';
import type { Schema } from '../../src/http/openapi/document.ts';
import { composeOpenApi } from '../../src/http/openapi/openApi.ts';
import { descriptions } from '../../src/model/descriptions.ts';
import { endpoints } from '../../src/surfaces/api/endpoints.ts';

const document = composeOpenApi(endpoints, { version: '0.0.0', base_url: 'http://127.0.0.1:4000' });
const fields = [...fieldsOfComponents(), ...fieldsOfOperations()];

test('every public field has a description', () => {
  const missing = fields.filter(({ schema }) => !schema.$ref && !schema.description).map(({ place }) => place);
  expect(missing, 'add a `description` to the schema, or the name to src/model/descriptions.ts').toStrictEqual([]);
});

test('every named schema has a description', () => {
  const missing = Object.entries(document.components.schemas).filter(([, schema]) => !schema.description);
  expect(missing.map(([name]) => name)).toStrictEqual([]);
});

test('a description says what the field is, not only how it is written', () => {
  const formats = fields.filter(({ schema }) =>
    /^(undefined|YYYY|HH|THH|NNN|UUID|MM\/)/.test(schema.description ?? ''),
  );
  expect(formats.map(({ place }) => place)).toStrictEqual([]);
});

test('every value of an enum is explained', () => {
  const named = Object.entries(document.components.schemas).map(([place, schema]) => ({ place, schema }));
  const unexplained = [...fields, ...named].filter(({ schema }) =>
    [schema, schema.items, ...(schema.anyOf ?? [])].some((each) => each?.enum && !isExplained(each)),
  );
  expect(
    unexplained.map(({ place }) => place),
    'declare it with `choices({ … })`',
  ).toStrictEqual([]);
});

test('every description by name is used', () => {
  const used = new Set(fields.map(({ schema }) => schema.description?.replace(/ \([^()]*\)$/, '')));
  const whole = new Set(fields.map(({ schema }) => schema.description));
  const unused = Object.entries(descriptions).filter(([, text]) => !used.has(text) && !whole.has(text));
  expect(unused.map(([name]) => name)).toStrictEqual([]);
});

type Place = { place: string; schema: Schema };

function fieldsOfComponents(): Place[] {
  return Object.entries(document.components.schemas).flatMap(([name, schema]) => fieldsIn(schema, name));
}

function fieldsOfOperations(): Place[] {
  const operations = Object.values(document.paths).flatMap((item) => Object.values(item));
  return operations.flatMap(({ operationId, parameters, requestBody, responses }) => [
    ...parameters.map(({ name, description, schema }) => ({
      place: `${operationId}?${name}`,
      schema: { ...schema, description },
    })),
    ...[requestBody, responses['200']].flatMap((part) =>
      Object.values(part?.content ?? {}).flatMap(({ schema }) => fieldsIn(schema, operationId)),
    ),
  ]);
}

/** The fields of a schema at any depth, not those of the schemas it refers to. */
function fieldsIn(schema: Schema, place: string): Place[] {
  const own = Object.entries(schema.properties ?? {}).map(([name, field]) => ({
    place: `${place}.${name}`,
    schema: field,
  }));
  const inner = [schema.items, ...(schema.anyOf ?? [])].flatMap((each) => (each ? fieldsIn(each, place) : []));
  return [...own, ...own.flatMap((each) => fieldsIn(each.schema, each.place)), ...inner];
}

/** `true` and `false` as strings need no explanation beyond the field's own. */
function isExplained({ enum: values = [], 'x-enumDescriptions': texts = {} }: Schema): boolean {
  if (values.join() === 'true,false') return true;
  return values.length === Object.keys(texts).length && values.every((value) => texts[String(value)]);
}
