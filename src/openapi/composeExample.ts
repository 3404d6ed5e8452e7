import type { TObject, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { connectors } from '../connectors/index.ts';
import { examples as by_name } from '../model/examples.ts';

type Node = {
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Node[];
  items?: Node;
  properties?: Record<string, Node>;
  required?: string[];
  default?: unknown;
  minimum?: number;
  format?: string;
  examples?: unknown[];
};

/** What stands where nothing says what a text looks like. A test finds it and asks for an example. */
export const unnamed_text = 'text';

/** The EMRs' own names stand with their connectors alone. */
const examples = { ...by_name, emr_name: [...connectors.keys()] } as typeof by_name;

/** Of which part of an exchange an example is made. */
type Part = 'parameters' | 'body' | 'answer';

/**
 * An example of what a schema describes: from the schema's own `examples`, else from what a field of that name looks
 * like anywhere (model/examples.ts), else from the schema's rules. An answer shows all of its fields; of a request the
 * optional ones are left out unless their schema has `examples`, for a first request is better short.
 */
export function compose(schema: TObject, part: Part): Record<string, unknown> {
  return exampleOfObject(schema as Node, part);
}

function exampleOf(node: Node, name: string, part: Part): unknown {
  const own = ownExampleOf(node);
  if (own !== undefined) return own;
  const known = Object.hasOwn(examples, name) ? examples[name] : undefined;
  const fitting = known?.find((value) => Value.Check(node as TSchema, value));
  if (fitting !== undefined) return fitting;
  if (node.enum) return node.default ?? node.enum[0];
  if (node.anyOf) return exampleOfUnion(node.anyOf, name, part);
  if (node.type === 'object') return exampleOfObject(node, part);
  if (node.type === 'array') return node.items ? [exampleOf(node.items, singular(name), part)] : [];
  return exampleOfValue(node);
}

function ownExampleOf(node: Node): unknown {
  if (node.examples && node.examples.length > 0) return node.examples[0];
  return node.const ?? node.anyOf?.map(ownExampleOf).find((value) => value !== undefined);
}

/** A value that may be null is null unless something is known of it. */
function exampleOfUnion(branches: Node[], name: string, part: Part): unknown {
  const [first, ...rest] = branches;
  if (!first) return null;
  const optional = rest.some((branch) => branch.type === 'null');
  const says_nothing = ['string', 'number', 'integer'].includes(first.type ?? '') && !first.format && !first.enum;
  return optional && says_nothing ? null : exampleOf(first, name, part);
}

function exampleOfObject(node: Node, part: Part): Record<string, unknown> {
  const fields = Object.entries(node.properties ?? {});
  const required = new Set(node.required ?? []);
  const shown = fields.filter(([name, field]) => part === 'answer' || required.has(name) || field.examples);
  // Where everything is optional, one field still has to be changed.
  const first = fields.find(([name]) => Object.hasOwn(examples, name)) ?? fields[0];
  const chosen = shown.length === 0 && part === 'body' && first ? [first] : shown;
  return Object.fromEntries(chosen.map(([name, field]) => [name, exampleOf(field, name, part)]));
}

function exampleOfValue(node: Node): unknown {
  if (node.default !== undefined) return node.default;
  switch (node.type) {
    case 'integer':
    case 'number':
      return node.minimum ?? 1;
    case 'boolean':
      return false;
    case 'null':
      return null;
    case 'string':
      if (node.format === 'date') return '2026-11-04';
      return node.format === 'date-time' ? '2026-11-04T15:04:05.000Z' : unnamed_text;
    default:
      return {};
  }
}

/** Elements of `icd_codes` are each an `icd_code`, where such a name is known. */
function singular(name: string): string {
  return name.replace(/s$/, '');
}
