import type { TSchema } from 'typebox';
import { descriptions } from '../model/descriptions.ts';
import type { Schema } from './document.ts';

/** Schema keywords of our own, used by the validator, for examples and for the texts of the document. */
const private_keywords = new Set([
  'messages',
  'verbatim',
  'blank_is_absent',
  'null_clears',
  'needs_value',
  'not_in_examples',
  'notation',
  'schema_name',
]);

type Node = {
  description?: string;
  notation?: string;
  schema_name?: string;
  null_clears?: boolean;
  anyOf?: Node[];
};

export type Describer = ReturnType<typeof schemaDescriber>;

/**
 * Reduces schemas to standard JSON Schema. A schema with a `schema_name` becomes a component, and a `$ref` to it stands
 * in its place.
 */
export function schemaDescriber() {
  const components: Record<string, Schema> = {};

  function describeSchema(schema: TSchema): Schema {
    return clean(schema) as Schema;
  }

  /** Bodies reject unknown fields: the validator enforces it (http/validate.ts), and the document says so. */
  function describeBody(schema: TSchema): Schema {
    return describeSchema({ ...schema, additionalProperties: false });
  }

  /** Describes a field with its own description, else with the one for its name. */
  function describeField(name: string, field: TSchema): Schema {
    const { description: _inner, ...cleaned } = describeSchema(field);
    // The description of a named schema stands in its component.
    const own = cleaned.$ref === undefined ? textOf(field as Node, 'description') : undefined;
    const text = own ?? descriptions[name];
    const notation = textOf(field as Node, 'notation');
    const description = notation === undefined ? text : `${text} (${notation})`;
    return text === undefined ? cleaned : { description, ...withoutTexts(cleaned) };
  }

  function clean(node: unknown): unknown {
    if (Array.isArray(node)) return node.map(clean);
    if (typeof node !== 'object' || node === null) return node;
    const keywords = Object.entries(node).filter(([keyword]) => !private_keywords.has(keyword));
    const cleaned = Object.fromEntries(keywords.map(([keyword, value]) => [keyword, cleanKeyword(keyword, value)]));
    const { schema_name, null_clears } = node as Node;
    const described = schema_name === undefined ? cleaned : component(schema_name, cleaned);
    return null_clears === true ? { anyOf: [described, { type: 'null' }] } : described;
  }

  function cleanKeyword(keyword: string, value: unknown): unknown {
    // Texts by value, which may be any word.
    if (keyword === 'x-enumDescriptions' || keyword === 'examples') return value;
    return keyword === 'properties' ? cleanProperties(value as Record<string, TSchema>) : clean(value);
  }

  /** The keys of `properties` are field names, not keywords: a field may be called `messages`. */
  function cleanProperties(properties: Record<string, TSchema>): Record<string, Schema> {
    return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, describeField(name, schema)]));
  }

  function component(name: string, schema: Schema): Schema {
    const known = components[name];
    if (known && JSON.stringify(known) !== JSON.stringify(schema)) {
      throw new Error(`Two different schemas are called ${name}.`);
    }
    components[name] = schema;
    return { $ref: `#/components/schemas/${name}` };
  }

  return { components, describeSchema, describeBody, describeField };
}

/** A text of the field itself, or of a branch without a name of its own: `nullable(text({ description }))`. */
function textOf(node: Node, keyword: 'description' | 'notation'): string | undefined {
  const branches = (node.anyOf ?? []).filter(({ schema_name }) => schema_name === undefined);
  return node[keyword] ?? branches.map((branch) => branch[keyword]).find((text) => text !== undefined);
}

/** The description is that of the field, so its branches do not repeat it. */
function withoutTexts(schema: Schema): Schema {
  if (!schema.anyOf) return schema;
  return { ...schema, anyOf: schema.anyOf.map(({ description: _repeated, ...branch }) => branch) };
}
