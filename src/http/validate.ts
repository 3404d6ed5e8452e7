import { type TObject, type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { type ApiError, apiError } from '../errors.ts';
import type { Messages } from '../model/fields.ts';

type Part = 'body' | 'query';
type Problem = ReturnType<ReturnType<typeof Compile>['Errors']>[number];

/**
 * Compiles a schema into a check that throws the first error in the documented order: missing fields (in the schema's
 * order), unknown fields (all at once), then invalid fields (in the schema's order).
 */
export function validator(schema: TObject, part: Part): (value: Record<string, unknown>) => void {
  // Unknown fields are rejected. Nested objects declare that themselves.
  const strict = Type.Object(schema.properties, { ...schema, additionalProperties: false });
  const check = Compile(strict);
  const required = new Set(schema.required ?? []);
  const order = Object.keys(schema.properties);
  return (value) => {
    const missing = order.find((name) => required.has(name) && isBlank(value[name]));
    if (missing) throw apiError('missing_field', { field: missing }, { field: missing });
    const unknown = Object.keys(value).filter((name) => !Object.hasOwn(schema.properties, name));
    if (unknown.length > 0) {
      throw part === 'body'
        ? apiError('unexpected_fields', { fields: unknown.join(', ') }, only(unknown))
        : apiError('unexpected_query', { names: unknown.join(', ') }, only(unknown));
    }
    const checked = withoutResets(schema, value);
    if (check.Check(checked)) return;
    throw errorOf(schema, firstInOrder(order, check.Errors(checked)));
  };
}

/** Converts query strings to the types in the schema. A string that cannot be converted stays and fails the check. */
export function readQuery(schema: TObject, raw: Record<string, unknown>): Record<string, unknown> {
  // Built from entries, not by assignment, so that the check sees a parameter called __proto__.
  return Object.fromEntries(
    Object.entries(raw).map(([name, value]) => {
      const type = (schema.properties[name] as { type?: string } | undefined)?.type;
      if (type === 'integer' && typeof value === 'string' && /^-?\d{1,15}$/.test(value)) return [name, Number(value)];
      if (type === 'boolean' && (value === 'true' || value === 'false')) return [name, value === 'true'];
      return [name, value];
    }),
  );
}

/** Rejects characters that PostgreSQL cannot store (NUL) or UTF-8 cannot encode (lone surrogates). */
export function rejectUnstorable(value: unknown): void {
  const reject = (text: string, field: string) => {
    if (!text.includes('\u0000') && text.isWellFormed()) return;
    throw invalid(field, `${field} contains a character that cannot be stored.`);
  };
  // An explicit stack: a body can be nested deeper than the call stack allows.
  const stack: { value: unknown; field: string }[] = [{ value, field: '' }];
  for (let next = stack.pop(); next; next = stack.pop()) {
    const { value, field } = next;
    if (typeof value === 'string' && field !== '') reject(value, field);
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, item] of Object.entries(value)) {
      if (!Array.isArray(value)) reject(name, field || 'A field name');
      stack.push({ value: item, field: field || name });
    }
  }
}

export function invalid(field: string, rule: string): ApiError {
  return apiError('invalid_field', { rule }, { field });
}

/** A required field that is null or empty counts as missing. */
function isBlank(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

/** Where the schema allows it (`null_resets`), null resets a field and is not checked as a value. */
function withoutResets(schema: TObject, value: Record<string, unknown>): Record<string, unknown> {
  if (!Object.values(value).includes(null)) return value;
  const resets = (name: string) => (schema.properties[name] as { null_resets?: boolean } | undefined)?.null_resets;
  return Object.fromEntries(Object.entries(value).filter(([name, each]) => each !== null || !resets(name)));
}

function only(names: string[]) {
  const [name] = names;
  return names.length === 1 && name !== undefined ? { field: name } : {};
}

function firstInOrder(order: string[], problems: Problem[]): Problem | undefined {
  const position = (problem: Problem) => {
    const index = order.indexOf(problem.instancePath.split('/')[1] ?? '');
    return index === -1 ? order.length : index;
  };
  return [...problems].sort((a, b) => position(a) - position(b))[0];
}

function errorOf(schema: TObject, problem: Problem | undefined): ApiError {
  const path = (problem?.instancePath ?? '').split('/').slice(1);
  const [top = 'request'] = path;
  const name = path
    .map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`))
    .join('')
    .replace(/^\./, '');
  if (!problem) return invalid(top, 'The request is not valid.');
  if (problem.keyword === 'boolean') return apiError('unexpected_fields', { fields: name }, { field: top });
  const field = schemaAt(schema, path) as TSchema & { messages?: Messages; enum?: unknown[]; description?: string };
  return invalid(top, ruleOf(name, field, problem).replaceAll('{name}', name));
}

function ruleOf(
  name: string,
  field: { messages?: Messages; enum?: unknown[]; anyOf?: unknown[] } | undefined,
  problem: Problem,
): string {
  if (field?.anyOf) return field.messages?.anyOf ?? `${name} is not valid`;
  const limit = (problem.params as { limit?: number }).limit;
  switch (problem.keyword) {
    case 'maxLength':
      return field?.messages?.maxLength ?? `${name} exceeds maximum length of ${limit} characters`;
    case 'minLength':
      return field?.messages?.minLength ?? `${name} must be at least ${limit} characters`;
    case 'minimum':
      return `${name} must be at least ${limit}`;
    case 'maximum':
      return `${name} must be at most ${limit}`;
    case 'enum':
      return `${name} must be one of: ${(field?.enum ?? []).join(', ')}`;
    case 'type':
      return `${name} must be ${article(String((problem.params as { type?: string }).type))}`;
    case 'required':
      return `Missing required field: ${[name, (problem.params as { requiredProperties?: string[] }).requiredProperties?.[0]].filter(Boolean).join('.')}`;
    case 'maxItems':
      return `${name} must have at most ${limit} elements`;
    case 'minItems':
      return `${name} must have at least ${limit} elements`;
    case 'format':
      return `${name} must be ${formats[String((problem.params as { format?: string }).format)] ?? 'in the required form'}`;
    case 'pattern':
      return field?.messages?.pattern ?? `${name} does not have the required form`;
    default:
      return `${name} is not valid`;
  }
}

const formats: Record<string, string> = {
  date: 'a date that exists, in the form YYYY-MM-DD',
  'date-time': 'a date and time with offset, in ISO 8601',
};

function article(type: string): string {
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`;
}

function schemaAt(schema: TSchema, path: string[]): TSchema | undefined {
  let current: unknown = schema;
  for (const part of path) {
    const node = current as { properties?: Record<string, unknown>; items?: unknown } | undefined;
    current = /^\d+$/.test(part) ? node?.items : node?.properties?.[part];
  }
  return current as TSchema | undefined;
}
