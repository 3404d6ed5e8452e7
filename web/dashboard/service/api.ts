import { type Endpoints, endpoints } from './api.gen.ts';

export type EndpointId = keyof Endpoints;
export type ResponseOf<Id extends EndpointId> = Endpoints[Id]['response'];
/** Endpoints that return a list page by page. */
export type PagedId = {
  [Id in EndpointId]: ResponseOf<Id> extends { rows: unknown[] } ? Id : never;
}[EndpointId];
export type RowOf<Id extends PagedId> = ResponseOf<Id>['rows'][number];

type Part<Id extends EndpointId, Name extends string> =
  Endpoints[Id] extends Record<Name, infer Value> ? Value : object;
/** Values come from forms and the URL, so the server checks which strings are allowed. */
type Widened<Value> = Value extends string
  ? string
  : Value extends object
    ? { [Name in keyof Value]: Widened<Value[Name]> }
    : Value;

export type Params<Id extends EndpointId> = Part<Id, 'params'>;
export type Body<Id extends EndpointId> = Widened<Part<Id, 'body'>>;
/** Filters from the URL are strings; empty ones are not sent. */
export type Query<Id extends EndpointId> = { [Name in keyof Part<Id, 'query'>]?: string | number | undefined };

type Options<Id extends EndpointId> = {
  query?: Query<Id>;
  /** Sent by the page rather than the operator: does not extend the operator's session. */
  background?: boolean;
  signal?: AbortSignal;
} & (object extends Body<Id> ? { body?: Body<Id> } : { body: Body<Id> });
type OptionsArgument<Id extends EndpointId> =
  object extends Body<Id> ? [options?: Options<Id>] : [options: Options<Id>];

/** An error response, or no response at all. Its message can be shown to the operator. */
export class ApiError extends Error {
  readonly code: string;
  readonly status: number;
  readonly field: string | undefined;
  /** All invalid fields of a request. */
  readonly errors: readonly { field: string | null; code: string; message: string }[];
  readonly request_id: string | undefined;

  constructor(
    status: number,
    body: { message?: string; code?: string; field?: string; request_id?: string; errors?: ApiError['errors'] },
  ) {
    super(body.message ?? 'Unexpected response from the service. Try again.');
    this.name = 'ApiError';
    this.status = status;
    this.code = body.code ?? 'unreadable';
    this.field = body.field;
    this.errors = body.errors ?? [];
    this.request_id = body.request_id;
  }
}

let csrf_token = '';

/** The token arrives with the session and is sent with every request that changes something. */
export function setCsrfToken(token: string): void {
  csrf_token = token;
}

/** Lets the operator confirm their identity; rejects if they cancel. */
type ConfirmIdentity = () => Promise<void>;
let confirmIdentity: ConfirmIdentity | undefined;

/** `confirm` is called when the server asks for a fresh sign-in. Afterwards the request is sent again. */
export function setConfirmIdentity(confirm: ConfirmIdentity | undefined): void {
  confirmIdentity = confirm;
}

/** Calls a dashboard endpoint: `call('jobs.get', { client_id, job_id })`. */
export async function call<Id extends EndpointId>(
  id: Id,
  params: Params<Id>,
  ...[options]: OptionsArgument<Id>
): Promise<ResponseOf<Id>> {
  return callWith(id, params, options);
}

/** As `call`, for callers that decide only at run time where the input goes. */
export async function callWith<Id extends EndpointId>(
  id: Id,
  params: Params<Id>,
  options: SendOptions | undefined,
): Promise<ResponseOf<Id>> {
  const response = await send(id, params, options);
  // The server's tests check its responses against the schemas from which this type is generated.
  return (await response.json().catch(() => ({}))) as ResponseOf<Id>;
}

export async function callForFile<Id extends EndpointId>(
  id: Id,
  params: Params<Id>,
  ...[options]: OptionsArgument<Id>
): Promise<Blob> {
  return (await send(id, params, options)).blob();
}

/** Calls an endpoint that responds with one JSON object per line. */
export async function callForLines<Id extends EndpointId>(
  id: Id,
  params: Params<Id>,
  onLine: (line: ResponseOf<Id>) => void,
): Promise<void> {
  const { body } = await send(id, params, undefined);
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    const lines = (rest + part.value).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(JSON.parse(line) as ResponseOf<Id>);
  }
}

export function toUrl<Id extends EndpointId>(id: Id, params: Params<Id>, query: Query<Id> = {}): string {
  const values = params as Record<string, string | number>;
  const path = endpoints[id].path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(values[name])));
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs as [string, string][])}`;
}

type SendOptions = { query?: object; body?: unknown; background?: boolean; signal?: AbortSignal };

/** Every request may need a fresh sign-in, so that no page has to know which ones do. */
async function send<Id extends EndpointId>(id: Id, params: Params<Id>, options?: SendOptions): Promise<Response> {
  try {
    return await sendOnce(id, params, options);
  } catch (error) {
    const unconfirmed = error instanceof ApiError && error.code === 'operator_sign_in_again';
    if (!unconfirmed || !confirmIdentity) throw error;
  }
  await confirmIdentity();
  return sendOnce(id, params, options);
}

async function sendOnce<Id extends EndpointId>(
  id: Id,
  params: Params<Id>,
  { query = {}, body, background, signal }: SendOptions = {},
): Promise<Response> {
  const { method } = endpoints[id];
  const headers: Record<string, string> = {};
  if (background) headers['x-background'] = '1';
  if (method !== 'GET') {
    headers['x-csrf-token'] = csrf_token;
    headers['content-type'] = 'application/json';
  }
  const response = await fetch(toUrl(id, params, query as Query<Id>), {
    method,
    headers,
    ...(method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }),
    ...(signal ? { signal } : {}),
  }).catch((cause: unknown) => {
    if (signal?.aborted) throw cause;
    const message = 'Cannot reach the service. Check that it is running, then try again.';
    throw new ApiError(0, { message, code: 'unreachable' });
  });
  if (response.ok) return response;
  throw new ApiError(response.status, (await response.json().catch(() => ({}))) as { message?: string });
}
