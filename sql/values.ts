import pg from 'pg';

/** Values that can be sent as parameters. */
export type Parameter =
  | string
  | number
  | bigint
  | boolean
  | null
  | Date
  | Uint8Array
  | Json
  | readonly (Parameter | undefined)[];

/** A value for a json or jsonb column. A bare string or array would be sent as text or as a PostgreSQL array. */
export class Json {
  /** Null is sent as NULL, not as the JSON value. */
  readonly text: string | null;
  constructor(value: unknown) {
    if (value === undefined) throw new TypeError('A JSON parameter is undefined.');
    this.text = value === null ? null : JSON.stringify(value);
  }
}

/**
 * Converts a value to one that node-postgres sends unchanged. `undefined` is an error, because the driver would send
 * NULL; a Date is sent in UTC, because the driver would send local time.
 */
export function toParameter(value: unknown, where: string): unknown {
  if (value === undefined) throw new TypeError(`A parameter is undefined after: ${where.trimEnd().slice(-60)}`);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) return value;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Json) return value.text;
  if (Array.isArray(value)) return value.map((element) => toParameter(element, where));
  throw new TypeError(`A parameter is an object; use sql.json() after: ${where.trimEnd().slice(-60)}`);
}

/** A row as JSON in which every column has the text format of its type. */
export function toRecord(columns: readonly (readonly [name: string, value: unknown])[]): Record<string, unknown> {
  const record: Record<string, unknown> = {};
  for (const [name, value] of columns) {
    if (value === undefined) throw new TypeError(`The column ${name} is undefined.`);
    record[name] = value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : value;
  }
  return record;
}

export type Parse = (text: string) => unknown;
export type Parsers = ReadonlyMap<number, Parse>;

/** PostgreSQL type ids: of the type, and of its array type. */
export const oid = {
  bool: [16, 1000],
  bytea: [17, 1001],
  int8: [20, 1016],
  int2: [21, 1005],
  int4: [23, 1007],
  text: [25, 1009],
  oid: [26, 1028],
  json: [114, 199],
  float4: [700, 1021],
  float8: [701, 1022],
  varchar: [1043, 1015],
  date: [1082, 1182],
  timestamp: [1114, 1115],
  timestamptz: [1184, 1185],
  interval: [1186, 1187],
  numeric: [1700, 1231],
  uuid: [2950, 2951],
  jsonb: [3802, 3807],
  name: [19, 1003],
} as const;

const asText: Parse = (text) => text;
const asDate: Parse = (text) => new Date(text);

/**
 * Parsers by type. Integers are numbers: job ids stay below 2^53 for 285 years at a million jobs per second. All other
 * types, including numeric and interval, stay text.
 */
const standard: Partial<Record<keyof typeof oid, Parse>> = {
  bool: (text) => text === 't',
  bytea: (text) => Buffer.from(text.slice(2), 'hex'),
  int2: Number,
  int4: Number,
  int8: Number,
  oid: Number,
  float4: Number,
  float8: Number,
  json: (text) => JSON.parse(text),
  jsonb: (text) => JSON.parse(text),
  date: asDate,
  timestamp: asDate,
  timestamptz: asDate,
};

/** The parsers for types and their arrays. */
export function parsersFor(own: Partial<Record<keyof typeof oid, Parse>> = {}): pg.CustomTypesConfig {
  const chosen: Record<string, Parse | undefined> = { ...standard, ...own };
  const parsers = new Map<number, Parse>();
  for (const [type, [single, array]] of Object.entries(oid)) {
    const parse = chosen[type] ?? asText;
    parsers.set(single, parse);
    parsers.set(array, (text) => readArray(text, parse));
  }
  // Only the text format is used, so the format argument is ignored.
  return { getTypeParser: ((id: number) => parsers.get(id) ?? asText) as pg.CustomTypesConfig['getTypeParser'] };
}

const readTextArray: (text: string) => unknown[] = pg.types.getTypeParser(oid.text[1] as number, 'text');

function readArray(text: string, parse: Parse): unknown[] {
  const read = (element: unknown): unknown => {
    if (Array.isArray(element)) return element.map(read);
    return element === null ? null : parse(String(element));
  };
  return readTextArray(text).map(read);
}
