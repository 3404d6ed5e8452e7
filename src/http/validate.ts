import { type TObject, type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import Format from 'typebox/format';
import { Settings } from 'typebox/system';
import { ApiError, apiError, type FieldError } from '../catalog/errors.ts';
import { type Messages, trimText } from '../model/fields.ts';
import { isDate, isStorable } from '../platform/time/days.ts';

/**
 * What is read. `body`: a blank or null optional field is absent. `changes`, the body of a PATCH: it clears the field, or
 * is rejected if the field cannot be cleared. `filters` and `query`: it is rejected, because a blank filter must not
 * return every record. Only a query is text, which is converted to the schema's types.
 */
type Part = 'body' | 'changes' | 'filters' | 'query';
type Problem = ReturnType<ReturnType<typeof Compile>['Errors']>[number];

// Those of the library accept the year 0, the name of a time zone at the end, and instants before the year 1 or after
// 9999 in UTC, which PostgreSQL or the driver do not.
Format.Set('date', isDate);
Format.Set('date-time', (text) => {
  const is_known = Format.IsDateTime(text) && isDate(text.slice(0, 10)) && !text.includes('[');
  const ms = Date.parse(text);
  // Not a number in a leap second.
  return is_known && (Number.isNaN(ms) || isStorable(ms));
});

/**
 * Compiles a schema into a reader of a request's body or query. It returns the values in the form in which they are
 * stored: text is trimmed, dates are without time, and what is blank or null is absent, or null where null clears the
 * field. It throws the first error in the documented order: missing fields (in the schema's order), unknown fields (all at once),
 * then invalid fields (in the schema's order).
 */
export function reader(schema: TObject, part: Part): (sent: Record<string, unknown>) => Record<string, unknown> {
  // Unknown fields are rejected. Nested objects declare that themselves.
  const strict = Type.Object(schema.properties, { ...schema, additionalProperties: false });
  // At the first request: compiling all schemas takes a sixth of the time until the service listens.
  let check: ReturnType<typeof Compile> | undefined;
  const required = new Set(schema.required ?? []);
  const order = Object.keys(schema.properties);
  const clears = canClear(schema);
  const isMissing = (name: string, value: Record<string, unknown>) =>
    (required.has(name) || (Object.hasOwn(value, name) && needsValue(findField(schema, name), part))) &&
    isBlank(value[name]);
  return (sent) => {
    const value = normalizeFields(schema, sent, part);
    const missing = order.filter((name) => isMissing(name, value));
    const unknown = Object.keys(value).filter((name) => !Object.hasOwn(schema.properties, name));
    const checked = clears ? withoutCleared(schema, value) : value;
    check ??= Compile(strict);
    if (missing.length === 0 && unknown.length === 0 && check.Check(checked)) return value;
    const unexpected = (names: string[]) =>
      part === 'query'
        ? apiError('unexpected_query', { names: names.join(', ') }, only(names))
        : apiError('unexpected_fields', { fields: names.join(', ') }, only(names));
    const absent = missing.map((name) => missingField(name, findField(schema, name)));
    const invalid_fields = inOrder(order, listProblems(check, checked)).flatMap((problem) =>
      toApiErrors(schema, problem),
    );
    const [first = invalid('request', 'The request is not valid.')] = [
      ...absent,
      ...(unknown.length > 0 ? [unexpected(unknown)] : []),
      ...invalid_fields,
    ];
    const all = [...absent, ...unknown.map((name) => unexpected([name])), ...invalid_fields];
    throw withErrors(first, all);
  };
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

function missingField(field: string, schema: Node | undefined): ApiError {
  const message = schema?.messages?.required;
  return message === undefined
    ? apiError('missing_field', { field }, { field })
    : new ApiError('missing_field', message, { field });
}

export function invalid(field: string, rule: string): ApiError {
  return apiError('invalid_field', { rule }, { field });
}

/** A schema with the keywords of our own (model/fields.ts). */
type Node = {
  type?: string;
  format?: string;
  pattern?: string;
  minLength?: number;
  enum?: readonly unknown[];
  anyOf?: readonly Node[];
  items?: Node;
  properties?: Record<string, Node>;
  verbatim?: boolean;
  takes_boolean?: boolean;
  null_clears?: boolean;
  needs_value?: boolean;
  messages?: Messages;
};

function findField({ properties = {} }: Node, name: string): Node | undefined {
  return Object.hasOwn(properties, name) ? properties[name] : undefined;
}

function normalizeFields(schema: Node, sent: object, part: Part): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [name, each] of Object.entries(sent)) {
    const field = findField(schema, name);
    const value = normalize(field, each, part);
    if (!field || !isBlank(value)) setField(fields, name, value);
    else if (isCleared(field, value)) setField(fields, name, null);
    else if (part !== 'body' || field.needs_value) setField(fields, name, value);
  }
  return fields;
}

/** Whether null, or the blank text sent, clears the field. A list is cleared by null only: "" would delete it. */
function isCleared(field: Node, value: unknown): boolean {
  if (field.null_clears) return value === null || !field.items;
  return field.anyOf?.some(({ type }) => type === 'null') ?? false;
}

/** Whether a field that may be left out must have a value if it is sent. */
function needsValue(field: Node | undefined, part: Part): boolean {
  if (!field) return false;
  return field.needs_value === true || (part === 'changes' && !field.null_clears && !isCleared(field, null));
}

/** Assigning a field called __proto__ would hide it from the check. */
function setField(fields: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') fields[name] = value;
  else Object.defineProperty(fields, name, { value, enumerable: true, configurable: true, writable: true });
}

function normalize(schema: Node | undefined, value: unknown, part: Part): unknown {
  // Nested fields that can be cleared say so; a list is replaced as a whole.
  const inner = part === 'changes' ? 'body' : part;
  if (schema?.anyOf) return normalize(branchFor(schema.anyOf, value), value, part);
  if (schema && typeof value === 'string') return normalizeText(schema, value, part);
  if (schema?.takes_boolean && typeof value === 'boolean') return String(value);
  if (schema?.items && Array.isArray(value)) return value.map((each) => normalize(schema.items, each, inner));
  if (schema?.properties && isObject(value)) return normalizeFields(schema, value, inner);
  return value;
}

/** Also converts query strings to the schema's type. A string that cannot be converted stays and fails the check. */
function normalizeText(schema: Node, sent: string, part: Part): unknown {
  if (schema.verbatim) return sent;
  const value = trimText(sent);
  if (schema.format === 'date') return timestamp.test(value) ? value.slice(0, 10) : value;
  if (part !== 'query') return value;
  if (schema.type === 'integer' && /^-?\d{1,15}$/.test(value)) return Number(value);
  if (schema.type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  return value;
}

/** Where a date is expected, the calendar date of a timestamp is used as written. In a query, `+` arrives as a space. */
const timestamp = /^\d{4}-\d\d-\d\d[Tt ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d([.,]\d+)?)?([Zz]|[+\- ][01]\d(:?[0-5]\d)?)?$/;

function isText({ type, enum: values, anyOf }: Node): boolean {
  return type === 'string' || Boolean(values?.some((each) => typeof each === 'string') || anyOf?.some(isText));
}

function branchFor(branches: readonly Node[], value: unknown): Node | undefined {
  if (typeof value === 'string') return branches.find(isText);
  return branches.find((branch) => (Array.isArray(value) ? branch.items : isObject(value) && branch.properties));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What counts as not sent. Text is trimmed before. */
function isBlank(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

/** Whether null clears a field of the schema. */
function canClear({ properties = {} }: Node): boolean {
  return Object.values(properties).some((field) => field.null_clears === true || canClear(field));
}

/** Where the schema allows it (`null_clears`), null clears a field and is not checked as a value. */
function withoutCleared(schema: Node, value: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, each]): [string, unknown][] => {
      const field = findField(schema, name);
      if (each === null && field?.null_clears) return [];
      return [[name, field?.properties && isObject(each) ? withoutCleared(field, each) : each]];
    }),
  );
}

function only(names: string[]) {
  const [name] = names;
  return names.length === 1 && name !== undefined ? { field: name } : {};
}

/** The first of several errors, with all of them in its list: one for each field. */
export function withErrors(first: ApiError, all: readonly ApiError[]): ApiError {
  const by_field = new Map<string | null, FieldError>();
  for (const error of all.flatMap(({ errors = [] }) => errors)) {
    if (!by_field.has(error.field)) by_field.set(error.field, error);
  }
  const { code, message, field } = first;
  const errors = [...by_field.values()].slice(0, errors_max);
  return new ApiError(code, message, { ...(field !== undefined && { field }), errors });
}

/** A request can have thousands of invalid elements. */
const errors_max = 100;

/** TypeBox stops at eight problems unless it is told otherwise, for everyone. */
function listProblems(check: ReturnType<typeof Compile>, value: unknown): Problem[] {
  const { maxErrors } = Settings.Get();
  Settings.Set({ maxErrors: problems_max });
  try {
    // Unknown fields have a problem each; that of their object says nothing more.
    return check.Errors(value).filter(({ keyword }) => keyword !== 'additionalProperties');
  } finally {
    Settings.Set({ maxErrors });
  }
}

/** A field can have several problems. */
const problems_max = 1000;

function inOrder(order: string[], problems: Problem[]): Problem[] {
  const position = (problem: Problem) => {
    const index = order.indexOf(problem.instancePath.split('/')[1] ?? '');
    return index === -1 ? order.length : index;
  };
  return [...problems].sort((a, b) => position(a) - position(b));
}

function toApiErrors(schema: TObject, problem: Problem): ApiError[] {
  const path = problem.instancePath.split('/').slice(1);
  const name = path.reduce((all, part) => joinPath(all, part), '');
  const { requiredProperties: missing } = problem.params as { requiredProperties?: string[] };
  if (missing) {
    return missing.map((each) => {
      const field = joinPath(name, each);
      return apiError('missing_field', { field }, { field });
    });
  }
  if (problem.keyword === 'boolean') return [apiError('unexpected_fields', { fields: name }, { field: name })];
  const field = schemaAt(schema, path) as CheckedField | undefined;
  return [invalid(name, describeRule(name, field, problem).replaceAll('{name}', name))];
}

/** The path of a field in messages: `hours[0].shifts[1].start`. */
function joinPath(parent: string, name: string): string {
  if (parent === '') return name;
  return /^\d+$/.test(name) ? `${parent}[${name}]` : `${parent}.${name}`;
}

type CheckedField = TSchema & { messages?: Messages; enum?: unknown[]; anyOf?: unknown[] };

function describeRule(name: string, field: CheckedField | undefined, problem: Problem): string {
  if (field?.anyOf) return field.messages?.anyOf ?? `${name} is not valid`;
  const limit = (problem.params as { limit?: number }).limit;
  switch (problem.keyword) {
    case 'maxLength':
      return field?.messages?.maxLength ?? `${name} exceeds maximum length of ${limit} characters`;
    case 'minLength':
      if (field?.messages?.minLength) return field.messages.minLength;
      return limit === 1 ? `${name} must not be empty` : `${name} must be at least ${limit} characters`;
    case 'exclusiveMinimum':
      return `${name} must be more than ${limit}`;
    case 'minimum':
      return `${name} must be at least ${limit}`;
    case 'maximum':
      return `${name} must be at most ${limit}`;
    case 'enum':
      return `${name} must be one of: ${(field?.enum ?? []).join(', ')}`;
    case 'type':
      return `${name} must be ${article(String((problem.params as { type?: string }).type))}`;
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
