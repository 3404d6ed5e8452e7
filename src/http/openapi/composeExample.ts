import type { TObject, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { connectors } from '../../emr/index.ts';
import { examples as by_name } from '../../model/examples.ts';

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
  /** An optional field of a rare state. */
  not_in_examples?: boolean;
};

/** Placeholder for a string without an example. A test fails if it appears in the document. */
export const unnamed_text = 'text';

/** EMR names are defined by the connectors only. */
const examples = { ...by_name, emr_name: [...connectors.keys()] } as typeof by_name;

type Part = 'parameters' | 'body' | 'response';

/**
 * Composes an example from the schema's own `examples`, else from the examples by field name (model/examples.ts), else
 * from the schema's rules. A response shows all fields. A request leaves out optional fields unless their schema has
 * `examples`, to keep a first request short.
 */
export function composeExample(schema: TObject, part: Part): Record<string, unknown> {
  return exampleOfObject(schema as Node, part);
}

function chooseExample(node: Node, name: string, part: Part): unknown {
  const own = findOwnExample(node);
  if (own !== undefined) return own;
  const candidates = Object.hasOwn(examples, name) ? examples[name] : undefined;
  const fitting = candidates?.find((value) => Value.Check(node as TSchema, value));
  if (fitting !== undefined) return fitting;
  if (node.enum) return node.default ?? node.enum[0];
  if (node.anyOf) return exampleOfUnion(node.anyOf, name, part);
  if (node.type === 'object') return exampleOfObject(node, part);
  if (node.type === 'array') return node.items ? [chooseExample(node.items, singular(name), part)] : [];
  return exampleOfValue(node);
}

function findOwnExample(node: Node): unknown {
  if (node.examples && node.examples.length > 0) return node.examples[0];
  return node.const ?? node.anyOf?.map(findOwnExample).find((value) => value !== undefined);
}

/** A nullable value is null unless its schema or name suggests an example. */
function exampleOfUnion(branches: Node[], name: string, part: Part): unknown {
  const [first, ...rest] = branches;
  if (!first) return null;
  const optional = rest.some((branch) => branch.type === 'null');
  const unspecific = ['string', 'number', 'integer'].includes(first.type ?? '') && !first.format && !first.enum;
  return optional && unspecific ? null : chooseExample(first, name, part);
}

function exampleOfObject(node: Node, part: Part): Record<string, unknown> {
  const fields = Object.entries(node.properties ?? {}).filter(([, field]) => !field.not_in_examples);
  const required = new Set(node.required ?? []);
  const shown = fields.filter(([name, field]) => part === 'response' || required.has(name) || field.examples);
  // An update with only optional fields must still change one.
  const first = fields.find(([name]) => Object.hasOwn(examples, name)) ?? fields[0];
  const chosen = shown.length === 0 && part === 'body' && first ? [first] : shown;
  return Object.fromEntries(chosen.map(([name, field]) => [name, chooseExample(field, name, part)]));
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

/** `icd_codes` → `icd_code`, to look up an example for an array's elements. */
function singular(name: string): string {
  return name.replace(/s$/, '');
}
