import type { TSchema } from 'typebox';
import type { Schema } from './document.ts';

/** Schema keywords of our own, used by the validator and for examples only. */
const private_keywords = new Set([
  'messages',
  'verbatim',
  'blank_is_absent',
  'null_clears',
  'needs_value',
  'not_in_examples',
]);

/** Reduces a schema to standard JSON Schema. */
export function describeSchema(schema: TSchema): Schema {
  return clean(schema) as Schema;
}

/** Bodies reject unknown fields: the validator enforces it (http/validate.ts), and the document says so. */
export function describeBody(schema: TSchema): Schema {
  return { ...describeSchema(schema), additionalProperties: false };
}

function clean(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(clean);
  if (typeof node !== 'object' || node === null) return node;
  const keywords = Object.entries(node).filter(([keyword]) => !private_keywords.has(keyword));
  const cleaned = Object.fromEntries(
    keywords.map(([keyword, value]) => [keyword, keyword === 'properties' ? cleanProperties(value) : clean(value)]),
  );
  return 'null_clears' in node && node.null_clears === true ? { anyOf: [cleaned, { type: 'null' }] } : cleaned;
}

/** The keys of `properties` are field names, not keywords: a field may be called `messages`. */
function cleanProperties(properties: object): object {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, clean(schema)]));
}
