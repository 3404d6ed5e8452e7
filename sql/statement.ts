import { createHash } from 'node:crypto';
import pg from 'pg';
import { Json, type Parameter, toParameter, toRecord } from './values.ts';

/** A row whose columns the caller did not declare. */
export type Row = Record<string, unknown>;

/** The rows of a result; `count` is the number of rows returned, or changed by a statement that returns none. */
export type Rows<T extends readonly object[]> = T & { readonly count: number };

/** A statement ready to send. Statements with a name are prepared once per connection. */
export type Prepared = { text: string; values: unknown[]; name?: string };

/** Sends a statement and resolves with its rows. */
export type Run = (statement: Prepared) => Promise<Rows<Row[]>>;

/** Part of a statement, to be nested in another one. */
export type Fragment = Pick<Statement<Row[]>, 'write'>;

export type Value = Parameter | Identifier | Fragment | readonly Fragment[];

/** Builds statements: `` sql`SELECT … WHERE id = ${id}` `` sends its values as parameters, never as text. */
export interface Query {
  <T extends readonly object[] = Row[]>(strings: TemplateStringsArray, ...values: readonly Value[]): Statement<T>;
  /** The quoted name of a table or column, or several separated by commas. */
  (names: string | readonly string[]): Identifier;
  /** `(column, …) VALUES ($1, …)` for one row. For a list of rows use json_populate_recordset or unnest. */
  values(row: object): Fragment;
  /** `column = $1, …` */
  set(row: object): Fragment;
  json(value: unknown): Json;
  /** Rows for json_populate_recordset, which takes any number of them in one parameter. */
  records(rows: readonly object[]): Json;
  /** Sends text unchanged and unprepared. Without values it may contain several statements. */
  unsafe<T extends readonly object[] = Row[]>(text: string, values?: readonly Parameter[]): Promise<Rows<T>>;
}

export type Naming = { toColumn(name: string): string; fromColumn(column: string): string };

const as_is: Naming = { toColumn: (name) => name, fromColumn: (column) => column };

export function createQuery(run: Run, naming: Naming = as_is): Query {
  const quote = (name: string) => pg.escapeIdentifier(naming.toColumn(name));
  const query = (first: TemplateStringsArray | string | readonly string[], ...values: readonly Value[]) => {
    if (typeof first === 'string') return new Identifier(quote(first));
    if (!('raw' in first)) return new Identifier(first.map(quote).join(', '));
    return new Statement(run, first, values);
  };
  const writeValues = (row: object) => {
    const columns = Object.entries(row);
    const text: Writer = (values) => {
      const marks = columns.map(([name, value]) => write(value, values, name));
      return `(${columns.map(([name]) => quote(name)).join(', ')}) VALUES (${marks.join(', ')})`;
    };
    return { write: text };
  };
  const writeAssignments = (row: object) => {
    const text: Writer = (values) =>
      Object.entries(row)
        .map(([name, value]) => `${quote(name)} = ${write(value, values, name)}`)
        .join(', ');
    return { write: text };
  };
  const unsafe = (text: string, values: readonly Parameter[] = []) =>
    run({ text, values: values.map((value, n) => toParameter(value, `$${n + 1}`)) });
  const json = (value: unknown) => new Json(value);
  const records = (rows: readonly object[]) =>
    new Json(rows.map((row) => toRecord(Object.entries(row).map(([name, value]) => [naming.toColumn(name), value]))));
  // The cast restores the overloads of `Query`.
  return Object.assign(query, {
    values: writeValues,
    set: writeAssignments,
    json,
    records,
    unsafe,
  }) as unknown as Query;
}

export class Identifier {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Writer = (values: unknown[]) => string;

/** A statement that is sent when it is first awaited, or a fragment when it is nested in another. */
export class Statement<T extends readonly object[]> implements Promise<Rows<T>> {
  readonly [Symbol.toStringTag] = 'Statement';
  readonly #run: Run;
  readonly #strings: TemplateStringsArray;
  readonly #values: readonly Value[];
  #result: Promise<Rows<T>> | undefined;

  constructor(run: Run, strings: TemplateStringsArray, values: readonly Value[]) {
    this.#run = run;
    this.#strings = strings;
    this.#values = values;
  }

  /** Returns the text of this part and adds its values to `values`; their positions are the parameter numbers. */
  write(values: unknown[]): string {
    let text = this.#strings[0] ?? '';
    for (let n = 1; n < this.#strings.length; n++) {
      text += write(this.#values[n - 1], values, text) + this.#strings[n];
    }
    return text;
  }

  // biome-ignore lint/suspicious/noThenProperty: awaiting a statement sends it.
  then<A = Rows<T>, B = never>(
    done?: ((rows: Rows<T>) => A | PromiseLike<A>) | null,
    failed?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#result ??= this.#send();
    return this.#result.then(done, failed);
  }

  catch<B = never>(failed?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<Rows<T> | B> {
    return this.then(null, failed);
  }

  finally(done?: (() => void) | null): Promise<Rows<T>> {
    return this.then().finally(done);
  }

  async #send(): Promise<Rows<T>> {
    const values: unknown[] = [];
    const text = this.write(values);
    try {
      // Unchecked: the caller declares the columns it selects.
      return (await this.#run({ text, values, ...chooseName(text) })) as unknown as Rows<T>;
    } catch (error) {
      // The driver creates errors while reading the socket, so their stack would not contain the caller.
      if (error instanceof Error) Error.captureStackTrace(error);
      throw error;
    }
  }
}

function write(value: unknown, values: unknown[], where: string): string {
  if (value instanceof Identifier) return value.text;
  if (isFragment(value)) return value.write(values);
  if (Array.isArray(value) && isFragment(value[0])) return value.map((each) => write(each, values, where)).join(' ');
  return `$${values.push(toParameter(value, where))}`;
}

function isFragment(value: unknown): value is Fragment {
  return typeof value === 'object' && value !== null && 'write' in value && !(value instanceof Uint8Array);
}

const names = new Map<string, string>();
/** Prepared statements use memory on every connection. There are a few hundred; far more would mean that a text varies. */
const names_max = 2_000;

/** The name of a prepared statement: a hash of its text, which never contains values. */
function chooseName(text: string): { name: string } | undefined {
  let name = names.get(text);
  if (name === undefined) {
    if (names.size >= names_max) return undefined;
    name = hash(text);
    names.set(text, name);
  }
  return { name };
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}
