import type { TSchema } from 'typebox';
import type { Schema } from './document.ts';

/** Words of ours in a schema, for the machine alone: they are not told. */
const private_words = new Set(['messages', 'null_resets']);

/** A schema as readers of the document get it: JSON Schema and nothing else. */
export function describeSchema(schema: TSchema): Schema {
  return clean(schema) as Schema;
}

/** A body takes nothing beyond what it lists; that is said here, for the machine says it when it checks. */
export function describeBody(schema: TSchema): Schema {
  return { ...describeSchema(schema), additionalProperties: false };
}

function clean(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(clean);
  if (typeof node !== 'object' || node === null) return node;
  const kept = Object.entries(node).filter(([word]) => !private_words.has(word));
  const said = Object.fromEntries(
    kept.map(([word, value]) => [word, word === 'properties' ? each(value) : clean(value)]),
  );
  return 'null_resets' in node && node.null_resets === true ? { anyOf: [said, { type: 'null' }] } : said;
}

/** The keys of `properties` are names of fields, not words of a schema: a field may well be called `messages`. */
function each(properties: object): object {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, clean(schema)]));
}
