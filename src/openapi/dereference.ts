import type { Document, Schema } from './document.ts';

/** The document with every `$ref` replaced by its schema, for readers that show or check whole schemas. */
export function dereference(document: Document): Document {
  const { schemas } = document.components;
  const resolve = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(resolve);
    if (typeof node !== 'object' || node === null) return node;
    const { $ref, ...rest } = node as Schema;
    const target = $ref === undefined ? {} : schemas[$ref.slice('#/components/schemas/'.length)];
    if (!target) throw new Error(`${$ref} does not exist.`);
    return Object.fromEntries(
      Object.entries({ ...target, ...rest }).map(([keyword, value]) => [
        keyword,
        literal.has(keyword) ? value : resolve(value),
      ]),
    );
  };
  // Replacing references keeps the form of the document.
  return resolve(document) as Document;
}

/** Keywords whose values are data, not schemas. */
const literal = new Set(['example', 'examples', 'default', 'mapping']);
