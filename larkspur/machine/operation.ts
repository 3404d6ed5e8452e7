import type { Static, TSchema } from 'typebox';
import type { Context } from '../context.ts';
import type { Query } from '../database/open.ts';
import type { Session } from '../signin/sessions.ts';
import type { Change } from './history.ts';

/** What a handler is given. `sql` is the write's transaction where the operation writes. */
export interface Call<Params, Body, Search> {
  context: Context;
  sql: Query;
  params: Params;
  body: Body;
  search: Search;
  /** Who is asking. Operations that need no session never read it. */
  session: Session;
}

export interface Written {
  record_id: string;
  /** Where the write made the chart itself: its MRN, which the answer then carries too. */
  mrn?: string;
  changes: Change[];
}

interface Declared {
  name: string;
  method: 'GET' | 'POST';
  path: string;
  body?: TSchema;
  search?: TSchema;
  /** 1 MiB unless told. */
  body_bytes_max?: number;
}

export interface ReadOperation extends Declared {
  writes: false;
  open: boolean;
  handle(call: Call<unknown, unknown, unknown>): Promise<unknown>;
}

export interface WriteOperation extends Declared {
  writes: true;
  open: false;
  body: TSchema;
  /** Whose chart it touches, for the ledger; asked before anything is applied. */
  patientMrn(sql: Query, params: unknown, body: unknown): Promise<string | undefined>;
  write(call: Call<unknown, unknown, unknown>): Promise<Written>;
}

export type Operation = ReadOperation | WriteOperation;

/** An operation that answers 200 with what `handle` returns. `open` ones need no session. */
export function read<Path extends string, Body extends TSchema, Search extends TSchema>(declaration: {
  name: string;
  method: 'GET' | 'POST';
  path: Path;
  open?: boolean;
  body?: Body;
  search?: Search;
  handle(call: Call<ParamsOf<Path>, Static<Body>, Static<Search>>): Promise<unknown>;
}): ReadOperation {
  return { open: false, ...declaration, writes: false };
}

/** An operation that writes: one transaction, a receipt, history, a ledger entry, and 201 with the record's id. */
export function write<Path extends string, Body extends TSchema>(declaration: {
  name: string;
  path: Path;
  body: Body;
  body_bytes_max?: number;
  /** The body has not passed its schema yet. */
  patientMrn(sql: Query, params: ParamsOf<Path>, body: unknown): Promise<string | undefined>;
  write(call: Call<ParamsOf<Path>, Static<Body>, unknown>): Promise<Written>;
}): WriteOperation {
  return { ...declaration, method: 'POST', writes: true, open: false };
}

type ParamsOf<Path extends string> = { [name in ParamNames<Path>]: string };

type ParamNames<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamNames<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;
