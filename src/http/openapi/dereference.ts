import type { Document } from './document.ts';

/** The document with every `$ref` replaced by what it refers to, for readers that show or check whole schemas. */
export function dereference(document: Document): Document {
  const resolve = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(resolve);
    if (typeof node !== 'object' || node === null) return node;
    const { $ref, ...rest } = node as { $ref?: string };
    const target = $ref === undefined ? {} : targetOf(document, $ref);
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
function targetOf(document: Document, ref: string): object {
  const [kind = '', name = ''] = ref.replace('#/components/', '').split('/');
  const target = (document.components as Record<string, Record<string, object>>)[kind]?.[name];
  if (!target) throw new Error(`${ref} does not exist.`);
  return target;
}

/** Whether a keyword's value is data. The examples of a schema are a list of values, those of a response have names. */
function isLiteral(keyword: string, value: unknown): boolean {
  return ['example', 'default', 'mapping'].includes(keyword) || (keyword === 'examples' && Array.isArray(value));
}
