import type { TSchema } from 'typebox';
import { descriptions } from '../../model/descriptions.ts';
import type { Document, Example, Schema } from './document.ts';

/** Schema keywords of our own, used by the validator, for examples and for the texts of the document. */
const private_keywords = new Set([
  'messages',
  'verbatim',
  'takes_boolean',
  'null_clears',
  'needs_value',
  'refers_to',
  'instead_of',
  'not_in_examples',
  'notation',
  'schema_name',
]);

type Node = {
  description?: string;
  notation?: string;
  schema_name?: string;
  takes_boolean?: boolean;
  needs_value?: boolean;
  null_clears?: boolean;
  items?: unknown;
  anyOf?: Node[];
};

/**
 * Where a schema stands. In a body, an optional field also accepts blank text and null, which count as not sent or clear
 * the field (http/validate.ts). A form has no null, and filters must have a value.
 */
export type Place = 'json_body' | 'form' | 'filters' | 'response';

export type Describer = ReturnType<typeof schemaDescriber>;

/**
 * Reduces schemas to standard JSON Schema. A schema with a `schema_name` becomes a component, and a `$ref` to it stands
 * in its place.
 */
export function schemaDescriber() {
  const components: Record<string, Schema> = {};
  const examples: Record<string, Example> = {};

  function describeSchema(schema: TSchema, place: Place = 'response'): Schema {
    return clean(schema, place) as Schema;
  }

  /** Bodies reject unknown fields: the validator enforces it (http/validate.ts), and the document says so. */
  function describeBody(schema: TSchema, place: Place): Schema {
    return describeSchema({ ...schema, additionalProperties: false }, place);
  }

  /** Describes a field with its own description, else with the one for its name. */
  function describeField(name: string, field: TSchema, place: Place = 'response', required = true): Schema {
    const described = describeSchema(field, place);
    const { description: _inner, ...cleaned } = withBlank(described, field as Node, place, required);
    // The description of a named schema stands in its component.
    const own = described.$ref === undefined ? findText(field as Node, 'description') : undefined;
    const text = own ?? descriptions[name];
    const notation = findText(field as Node, 'notation');
    const description = notation === undefined ? text : `${text} (${notation})`;
    return text === undefined ? cleaned : { description, ...withoutTexts(cleaned) };
  }

  function clean(node: unknown, place: Place): unknown {
    if (Array.isArray(node)) return node.map((each) => clean(each, place));
    if (typeof node !== 'object' || node === null) return node;
    const { schema_name, takes_boolean } = node as Node;
    const keywords = Object.entries(node).filter(([keyword]) => !private_keywords.has(keyword));
    const cleaned = Object.fromEntries(
      keywords.map(([keyword, value]) => [keyword, cleanKeyword(keyword, value, node, place)]),
    );
    if (takes_boolean) return { anyOf: [cleaned, { type: 'boolean' }] };
    return schema_name === undefined ? cleaned : component(schema_name, cleaned);
  }

  function cleanKeyword(keyword: string, value: unknown, node: { required?: string[] }, place: Place): unknown {
    // Texts by value, which may be any word.
    if (keyword === 'x-enumDescriptions' || keyword === 'examples') return value;
    if (keyword !== 'properties') return clean(value, place);
    // The keys of `properties` are field names, not keywords: a field may be called `messages`.
    const required = new Set(node.required ?? []);
    return Object.fromEntries(
      Object.entries(value as Record<string, TSchema>).map(([name, schema]) => [
        name,
        describeField(name, schema, place, required.has(name)),
      ]),
    );
  }

  function component(name: string, schema: Schema): Schema {
    const existing = components[name];
    if (existing && JSON.stringify(existing) !== JSON.stringify(schema)) {
      throw new Error(`Two different schemas are called ${name}.`);
    }
    components[name] = schema;
    return { $ref: `#/components/schemas/${name}` };
  }

  /** Adds an example that several endpoints have, and returns a reference to it. */
  function shareExample(name: string, example: Example): Example {
    examples[name] = example;
    return { $ref: `#/components/examples/${name}` };
  }

  return { components, examples, describeSchema, describeBody, describeField, shareExample };
}

/** In a body, a required text must not be blank; an optional field may be, and may be null except in a form. */
function withBlank(schema: Schema, { needs_value, null_clears, items }: Node, place: Place, required: boolean): Schema {
  if (place === 'response' || place === 'filters') return schema;
  if (required || needs_value) return isAnyText(schema) ? { ...schema, minLength: 1 } : schema;
  const branches = schema.anyOf ?? [schema];
  const takes_blank = !branches.some(isAnyText) && !(null_clears && items);
  const added = [
    ...(takes_blank ? [{ type: 'string', maxLength: 0 }] : []),
    ...(place === 'form' || branches.some(({ type }) => type === 'null') ? [] : [{ type: 'null' }]),
  ];
  if (added.length === 0) return schema;
  return { ...(schema.anyOf ? schema : {}), anyOf: [...branches, ...added] };
}

function isAnyText({ type, enum: values, pattern, format, minLength }: Schema): boolean {
  return type === 'string' && (values ?? pattern ?? format ?? minLength) === undefined;
}

/** A text of the field itself, or of a branch without a name of its own: `nullable(text({ description }))`. */
function findText(node: Node, keyword: 'description' | 'notation'): string | undefined {
  const branches = (node.anyOf ?? []).filter(({ schema_name }) => schema_name === undefined);
  return node[keyword] ?? branches.map((branch) => branch[keyword]).find((text) => text !== undefined);
}

/** The description is that of the field, so its branches do not repeat it. */
function withoutTexts(schema: Schema): Schema {
  if (!schema.anyOf) return schema;
  return { ...schema, anyOf: schema.anyOf.map(({ description: _repeated, ...branch }) => branch) };
}

/** The document with every `$ref` replaced by what it refers to, for readers that show or check whole schemas. */
export function dereference(document: Document): Document {
  const resolve = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(resolve);
    if (typeof node !== 'object' || node === null) return node;
    const { $ref, ...rest } = node as { $ref?: string };
    const target = $ref === undefined ? {} : resolveRef(document, $ref);
    return Object.fromEntries(
      Object.entries({ ...target, ...rest }).map(([keyword, value]) => [
        keyword,
        isLiteral(keyword, value) ? value : resolve(value),
      ]),
    );
  };
  // Replacing references keeps the form of the document.
  return resolve(document) as Document;
}

/** `#/components/schemas/Patient` → the schema. */
function resolveRef(document: Document, ref: string): object {
  const [kind = '', name = ''] = ref.replace('#/components/', '').split('/');
  const target = (document.components as Record<string, Record<string, object>>)[kind]?.[name];
  if (!target) throw new Error(`${ref} does not exist.`);
  return target;
}

/** Whether a keyword's value is data. The examples of a schema are a list of values, those of a response have names. */
function isLiteral(keyword: string, value: unknown): boolean {
  return ['example', 'default', 'mapping'].includes(keyword) || (keyword === 'examples' && Array.isArray(value));
}
