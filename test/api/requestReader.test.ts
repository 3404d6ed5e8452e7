import { type TObject, Type } from 'typebox';
import { describe, expect, test } from 'vitest';
import { reader } from '../../src/http/validate.ts';
import { clearable, flag, nullable, secret, text, toChanges, trimText, unclearable } from '../../src/model/fields.ts';
import { endpoints } from '../../src/surfaces/api/endpoints.ts';
import { dashboardEndpoints } from '../../src/surfaces/dashboard/endpoints.ts';
import { link_endpoints } from '../../src/surfaces/linkpage/endpoints.ts';

const read = (schema: TObject, sent: Record<string, unknown>) => reader(schema, 'body')(sent);

test('trims text in every part of a body, and nothing inside of it', () => {
  const person = Type.Object({ name: text(), tags: Type.Array(text()) }, { additionalProperties: false });
  const schema = Type.Object({
    name: text(),
    kind: Type.Enum(['a', 'b']),
    person: Type.Optional(person),
    either: Type.Optional(Type.Union([text(), Type.Array(text())])),
  });
  const sent = { name: ' x  y\n', kind: ' a', person: { name: '\tz', tags: [' 1 ', '2'] }, either: [' q '] };
  const kept = { name: 'x  y', kind: 'a', person: { name: 'z', tags: ['1', '2'] }, either: ['q'] };
  expect(read(schema, sent)).toStrictEqual(kept);
  expect(read(schema, { name: 'x', kind: 'a', either: ' q ' })).toMatchObject({ either: 'q' });
});

test('does not trim secrets', () => {
  const schema = Type.Object({ password: secret(), credentials: Type.Record(Type.String(), secret()) });
  const sent = { password: ' p ', credentials: { password: ' q ' } };
  expect(read(schema, sent)).toStrictEqual(sent);
});

test('counts lengths after trimming', () => {
  const schema = Type.Object({ name: Type.Optional(text({ minLength: 2, maxLength: 3 })) });
  expect(read(schema, { name: '  abc  ' })).toStrictEqual({ name: 'abc' });
  for (const name of [' a ', '\u200ba']) expect(() => read(schema, { name })).toThrow('at least 2 characters');
  expect(() => read(schema, { name: 'abcd ' })).toThrow('maximum length of 3');
});

test('blank required text is missing, also in nested objects', () => {
  const inner = Type.Object({ name: text() }, { additionalProperties: false });
  const schema = Type.Object({ name: text(), list: Type.Optional(Type.Array(inner)) });
  expect(() => read(schema, { name: ' \u200b ' })).toThrow('Missing required field: name');
  expect(() => read(schema, { name: 'x', list: [{ name: ' ' }] })).toThrow('Missing required field: list[0].name');
});

describe('an optional field that is blank or null', () => {
  const fields = {
    plain: Type.Optional(text()),
    kind: Type.Optional(Type.Enum(['a'])),
    day: Type.Optional(Type.String({ format: 'date' })),
    zip: Type.Optional(text({ pattern: '^\\d{5}$' })),
    count: Type.Optional(Type.Integer()),
    sure: Type.Optional(Type.Boolean()),
    list: Type.Optional(Type.Array(text())),
    token: Type.Optional(secret()),
  };
  const inner = Type.Object({ ...fields, name: text() }, { additionalProperties: false });
  const schema = Type.Object({ ...fields, inner: Type.Optional(inner), inners: Type.Optional(Type.Array(inner)) });
  const all = (value: unknown) => Object.fromEntries(Object.keys(fields).map((name) => [name, value]));

  test.each([[''], [null]])('is absent, also in nested objects and in elements of lists: %j', (empty) => {
    expect(read(schema, { ...all(empty), inner: empty, inners: empty })).toStrictEqual({});
    const nested = { ...all(empty), name: 'x' };
    expect(read(schema, { inner: nested, inners: [nested] })).toStrictEqual({
      inner: { name: 'x' },
      inners: [{ name: 'x' }],
    });
  });

  test('is null where the field can be null', () => {
    const cleared = Type.Object({ cleared: clearable(text()), union: Type.Optional(nullable(text())) });
    for (const empty of [' ', '', null]) {
      expect(read(cleared, { cleared: empty, union: empty })).toStrictEqual({ cleared: null, union: null });
    }
  });

  test('is missing where the field is required', () => {
    for (const empty of [' ', '', null]) {
      expect(() => read(schema, { inner: { name: empty } })).toThrow('Missing required field: inner.name');
      expect(() => read(schema, { inners: [{ name: empty }] })).toThrow('Missing required field: inners[0].name');
    }
  });

  test('is missing in a change that cannot clear it', () => {
    for (const name of Object.keys(fields)) {
      for (const empty of ['', null]) {
        expect(() => reader(schema, 'changes')({ [name]: empty })).toThrow(`Missing required field: ${name}`);
      }
    }
  });

  test('is rejected among filters, where it must not return every record', () => {
    for (const name of ['kind', 'day', 'zip', 'count']) {
      for (const empty of ['', null]) expect(() => reader(schema, 'filters')({ [name]: empty })).toThrow(name);
    }
  });

  test('an element of a list that is blank or null does not count as absent', () => {
    expect(() => read(schema, { list: ['a', null] })).toThrow('list[1] must be a string');
  });
});

test('a list is cleared by null, and not by a blank text in its place', () => {
  const schema = Type.Object({ days: clearable(Type.Array(text())) });
  expect(reader(schema, 'changes')({ days: null })).toStrictEqual({ days: null });
  expect(() => reader(schema, 'changes')({ days: '' })).toThrow('days must be an array');
});

test('a flag is a text or a boolean, and nothing else is converted', () => {
  const schema = Type.Object({ urgent: Type.Optional(flag('')), sure: Type.Optional(Type.Boolean()) });
  for (const value of [true, false, 'true', ' false ']) {
    expect(read(schema, { urgent: value })).toStrictEqual({ urgent: String(value).trim() });
  }
  for (const value of [1, 0, 'TRUE', 'yes', ['true'], {}]) {
    expect(() => read(schema, { urgent: value })).toThrow('urgent must be one of: true, false');
  }
  expect(() => read(schema, { sure: 'true' })).toThrow('sure must be a boolean');
});

test('an error names the field inside of objects and lists', () => {
  const day = Type.Object({ from: text({ maxLength: 2 }) }, { additionalProperties: false });
  const schema = Type.Object({ days: Type.Array(day), home: Type.Optional(day) });
  const findField = (sent: Record<string, unknown>) => {
    try {
      return read(schema, sent);
    } catch (error) {
      return error;
    }
  };
  expect(findField({ days: [{ from: '1' }, { from: '123' }] })).toMatchObject({ field: 'days[1].from' });
  expect(findField({ days: [{}] })).toMatchObject({ field: 'days[0].from', code: 'missing_field' });
  expect(findField({ days: [], home: { from: '1', to: '2' } })).toMatchObject({
    field: 'home.to',
    code: 'unexpected_fields',
  });
});

test('null or blank clears the optional fields of a record, and never the required ones', () => {
  const record = Type.Object({
    name: text(),
    phone: Type.Optional(text({ minLength: 2 })),
    age: Type.Optional(Type.Integer()),
  });
  const nested = Type.Object(toChanges(record), { additionalProperties: false });
  const schema = Type.Object({ ...toChanges(record), contact: clearable(nested), id: unclearable(Type.Integer()) });
  for (const empty of [null, '', ' ']) {
    expect(read(schema, { phone: empty, age: empty })).toStrictEqual({ phone: null, age: null });
    expect(read(schema, { contact: { phone: empty } })).toStrictEqual({ contact: { phone: null } });
    expect(read(schema, { contact: empty })).toStrictEqual({ contact: null });
    expect(() => read(schema, { name: empty })).toThrow('Missing required field: name');
    expect(() => read(schema, { id: empty })).toThrow('Missing required field: id');
  }
  expect(read(schema, {})).toStrictEqual({});
});

test('converts query strings after trimming, and keeps a blank one so that it is rejected', () => {
  const schema = Type.Object({
    page: Type.Optional(Type.Integer()),
    day: Type.Optional(Type.String({ format: 'date' })),
  });
  const query = reader(schema, 'query');
  expect(query({ page: ' 2 ', day: '2026-01-31T10:00:00 05:00' })).toStrictEqual({ page: 2, day: '2026-01-31' });
  expect(() => query({ page: ' ' })).toThrow('page must be an integer');
  expect(() => query({ day: '' })).toThrow('day must be a date');
});

test('takes time proportional to the length of a text', () => {
  const started = performance.now();
  for (const blank of [' ', '\u200b', '\t']) expect(trimText(`x${blank.repeat(500_000)}x`)).toHaveLength(500_002);
  expect(trimText('\u200b'.repeat(500_000))).toBe('');
  // Quadratic time would be minutes.
  expect(performance.now() - started).toBeLessThan(5_000);
});

describe('fields with secrets', () => {
  type Node = { properties?: Record<string, Node>; verbatim?: boolean; patternProperties?: Record<string, Node> };
  const never = (): never => {
    throw new Error('unused');
  };
  const live = { open: never, close: never };
  const all = [...endpoints, ...link_endpoints, ...dashboardEndpoints({ live, findSandboxEmr: () => undefined })];
  const fields = all.flatMap(({ id, body, query }) =>
    [body, query].flatMap((part) =>
      Object.entries((part as Node | undefined)?.properties ?? {}).map(([name, field]) => ({ id, name, field })),
    ),
  );
  const secrets = fields.filter(
    ({ id, name }) =>
      /password|secret|token|(^|_)(?<!zip_)code$|credentials|^window$/.test(name) &&
      // Lists of jobs are filtered by failure code.
      !id.startsWith('dashboard.jobs.') &&
      id !== 'dashboard.overview.repeatable' &&
      // A URL.
      !name.endsWith('_endpoint'),
  );

  test.each(secrets.map((each) => [`${each.id} ${each.name}`, each.field] as const))(
    '%s is not trimmed',
    (_id, field) => {
      const [value] = Object.values(field.patternProperties ?? { field });
      expect(value?.verbatim).toBe(true);
    },
  );
});
