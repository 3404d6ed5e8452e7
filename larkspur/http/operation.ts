import type { Static, TSchema } from 'typebox';
import type { Context } from '../context.ts';
import type { Query } from '../database/open.ts';
import type { RecordChange } from '../records/history.ts';
import type { Session } from '../signin/sessions.ts';

/** The arguments of a handler. In a write, `sql` is the write's transaction. */
export interface Call<Params, Body, QueryParams> {
  context: Context;
  sql: Query;
  params: Params;
  body: Body;
  query: QueryParams;
  /** The caller's session; empty in public operations. */
  session: Session;
}

export interface WriteResult {
  record_id: string;
  /** The MRN of the new chart, if the write created one. */
  mrn?: string;
  changes: RecordChange[];
}

interface Declaration {
  name: string;
  method: 'GET' | 'POST';
  path: string;
  body?: TSchema;
  query?: TSchema;
  /** Default: 1 MiB. */
  body_bytes_max?: number;
}

export interface ReadOperation extends Declaration {
  writes: false;
  public: boolean;
  handle(call: Call<unknown, unknown, unknown>): Promise<unknown>;
}

export interface WriteOperation extends Declaration {
  writes: true;
  public: false;
  body: TSchema;
  /** The MRN of the affected chart, for the ledger. Called before the write is applied. */
  patientMrn(sql: Query, params: unknown, body: unknown): Promise<string | undefined>;
  write(call: Call<unknown, unknown, unknown>): Promise<WriteResult>;
}

export type Operation = ReadOperation | WriteOperation;

/** Declares an operation that responds 200 with the result of `handle`. Public operations need no session. */
export function read<Path extends string, Body extends TSchema, QueryParams extends TSchema>(declaration: {
  name: string;
  /** Default: GET. */
  method?: 'POST';
  path: Path;
  public?: boolean;
  body?: Body;
  query?: QueryParams;
  handle(call: Call<ParamsOf<Path>, Static<Body>, Static<QueryParams>>): Promise<unknown>;
}): ReadOperation {
  return { method: 'GET', public: false, ...declaration, writes: false };
}

/** Declares an operation that writes in one transaction, with a receipt, history and ledger entry, and responds 201. */
export function write<Path extends string, Body extends TSchema>(declaration: {
  name: string;
  path: Path;
  body: Body;
  body_bytes_max?: number;
  /** The body is not validated yet. */
  patientMrn(sql: Query, params: ParamsOf<Path>, body: unknown): Promise<string | undefined>;
  write(call: Call<ParamsOf<Path>, Static<Body>, unknown>): Promise<WriteResult>;
}): WriteOperation {
  return { ...declaration, method: 'POST', writes: true, public: false };
}

type ParamsOf<Path extends string> = { [name in ParamNames<Path>]: string };

type ParamNames<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamNames<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;
