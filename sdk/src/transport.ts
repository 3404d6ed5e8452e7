import { ChartwireError, ConnectionError, errorFor, TimeoutError } from './errors.ts';

export type RequestOptions = {
  /** Cancels the request and its retries. */
  signal?: AbortSignal | undefined;
  /** How long the request may take, including its retries. */
  timeoutMs?: number | undefined;
  retriesMax?: number | undefined;
  /** Default: a random key. It is the same for all retries of a write. */
  idempotencyKey?: string | undefined;
};

/** Only checks a write, in the EMR too. The method then returns what the write would do. */
export type DryRunOption = { dryRun: true };

/** A request as hooks see it: without query and body, and with the names of path parameters, which can be MRNs. */
export type SentRequest = { method: string; route: string; attempt: number };

export type ReceivedResponse = SentRequest & {
  status: number;
  headers: Headers;
  /** Include it when you ask for help. */
  requestId: string | undefined;
  durationMs: number;
};

export type Logger = { debug(message: string): void; warn(message: string): void };

/** What they throw is logged, and ignored: the request itself has succeeded, or is sent again. */
export type Hooks = {
  /** Called before each attempt. */
  onRequest?: (request: SentRequest) => void;
  /** Called after each response, also of attempts that are repeated. */
  onResponse?: (response: ReceivedResponse) => void;
  /** Such as `console`. It gets routes, status codes, times and request IDs; no bodies, queries, MRNs or credentials. */
  logger?: Logger;
};

/** The response that a result of this library came with: its headers, status and request ID. */
export function readResponse(result: object): ReceivedResponse | undefined {
  return responses.get(result);
}

const responses = new WeakMap<object, ReceivedResponse>();

export type Call = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  /** The path with the names of its parameters, if it has any. */
  route?: string;
  query?: object | undefined;
  body?: object | undefined;
  /** The request has no effect, so that it needs no idempotency key. */
  reads?: boolean;
  /** The body is sent as a multipart form. */
  form?: boolean;
};

type TransportOptions = Hooks & {
  baseUrl: string;
  clientId: string;
  clientSecret: string;
  accessToken?: string;
  timeoutMs?: number;
  retriesMax?: number;
  fetch?: typeof fetch;
};

/** Sends requests, with credentials, timeout and retries. */
export class Transport {
  readonly #options: TransportOptions;
  readonly #baseUrl: string;
  lastResponse: ReceivedResponse | undefined;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#baseUrl = options.baseUrl.replace(/\/+$/, '');
  }

  /** Returns the body of the response. Throws a `ChartwireError`, or the signal's reason. */
  async request<T>(request: Call, options: RequestOptions & Partial<DryRunOption> = {}): Promise<T> {
    // Nothing is stored, so that it can be repeated without a key.
    const call = options.dryRun ? { ...request, query: { ...request.query, dry_run: true }, reads: true } : request;
    const { timeoutMs = this.#options.timeoutMs ?? 60_000, retriesMax = this.#options.retriesMax ?? 4 } = options;
    const deadline = Date.now() + timeoutMs;
    const headers = this.#headersFor(call, options);
    for (let attempt = 0; ; attempt += 1) {
      const limits = { timeoutMs, deadline, signal: options.signal };
      const result = await this.#attempt<T>(call, headers, limits, attempt + 1);
      if ('value' in result) return result.value;
      const { error } = result;
      const pause_ms = pauseBefore(attempt + 1, error.retryAfterSeconds);
      if (attempt >= retriesMax || !isRepeatable(call, error) || Date.now() + pause_ms >= deadline) throw error;
      this.#options.logger?.warn(
        `${call.method} ${call.route ?? call.path}: ${error.status ?? 'no response'}. Sent again in ${Math.round(pause_ms)} ms.`,
      );
      await sleep(pause_ms, options.signal);
    }
  }

  /** Keys are made once per request, so that its retries have no further effect. */
  #headersFor({ method, body, form, reads }: Call, { idempotencyKey }: RequestOptions): Record<string, string> {
    const { clientId, clientSecret, accessToken } = this.#options;
    return {
      // Names with hyphens: some proxies drop those with underscores.
      'client-id': clientId,
      'client-secret': clientSecret,
      ...(accessToken !== undefined && { 'access-token': accessToken }),
      ...(body !== undefined && !form && { 'content-type': 'application/json' }),
      ...((method === 'POST' || method === 'PATCH') && !reads && { 'idempotency-key': idempotencyKey ?? randomKey() }),
    };
  }

  async #attempt<T>(
    call: Call,
    headers: Record<string, string>,
    limits: { timeoutMs: number; deadline: number; signal: AbortSignal | undefined },
    attempt: number,
  ): Promise<{ value: T } | { error: ChartwireError }> {
    const { signal } = limits;
    signal?.throwIfAborted();
    const sent = { method: call.method, route: call.route ?? call.path, attempt };
    this.#notify(() => this.#options.onRequest?.(sent));
    const started = Date.now();
    const controller = new AbortController();
    const abort = () => controller.abort(signal?.reason);
    const timer = setTimeout(() => controller.abort(), Math.max(limits.deadline - Date.now(), 1));
    signal?.addEventListener('abort', abort);
    try {
      const send = this.#options.fetch ?? fetch;
      const response = await send(this.#baseUrl + call.path + encodeQuery(call.query), {
        method: call.method,
        headers,
        signal: controller.signal,
        // Following one would send the credentials to another place.
        redirect: 'manual',
        ...(call.body !== undefined && { body: call.form ? toForm(call.body) : JSON.stringify(call.body) }),
      });
      const text = await response.text();
      const received = this.#receive(sent, response, Date.now() - started);
      if (!response.ok) return { error: errorFor(response, text, { method: call.method, path: sent.route }) };
      const value = parse<T & object>(text, response.status, call);
      responses.set(value, received);
      return { value };
    } catch (cause) {
      if (cause instanceof ChartwireError) throw cause;
      signal?.throwIfAborted();
      const place = `${call.method} ${sent.route}`;
      if (controller.signal.aborted) {
        throw new TimeoutError(`${place} took longer than ${limits.timeoutMs} ms. Raise timeoutMs, or try again.`, {
          cause,
        });
      }
      return {
        error: new ConnectionError(`Chartwire cannot be reached at ${this.#baseUrl}. Check baseUrl and the network.`, {
          cause,
        }),
      };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }

  #receive(sent: SentRequest, { status, headers }: Response, durationMs: number): ReceivedResponse {
    const received = { ...sent, status, headers, requestId: headers.get('x-request-id') ?? undefined, durationMs };
    this.lastResponse = received;
    const { method, route } = sent;
    this.#options.logger?.debug(`${method} ${route}: ${status} in ${durationMs} ms, request ${received.requestId}`);
    this.#notify(() => this.#options.onResponse?.(received));
    return received;
  }

  #notify(call: () => void): void {
    try {
      call();
    } catch (error) {
      // Its message may contain anything.
      this.#options.logger?.warn(`A hook has thrown ${error instanceof Error ? error.name : typeof error}.`);
    }
  }
}

/** Another program, or the page of a proxy, can respond with status 200 too. */
function parse<T extends object>(text: string, status: number, { method, path, route = path }: Call): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Explained below.
  }
  // Every response of an operation says so; those of other paths, such as /readyz, do not.
  const is_operation = /^\/(v1|link|sandbox)\//.test(path);
  if (typeof value === 'object' && value !== null && (!is_operation || 'success' in value)) return value as T;
  const message = `${method} ${route} returned status ${status}, but the response is not from Chartwire. Check baseUrl, and any proxy in between.`;
  throw new ChartwireError(message, { status });
}

/** A pause that ends early if the signal aborts, with its reason as the error. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** Half a second, doubling to 8 seconds, ±25 %, so that many clients do not come back at the same time. */
function pauseBefore(attempt: number, retry_after_s: number | undefined): number {
  const pause_ms = Math.min(500 * 2 ** (attempt - 1), 8000) * (0.75 + Math.random() / 2);
  return retry_after_s === undefined ? pause_ms : Math.max(retry_after_s * 1000, pause_ms);
}

/**
 * Writes have an idempotency key, so that they can be repeated even if it is unknown whether they were accepted. A
 * deletion has none: it is repeated only if the service says that it did not take place.
 */
function isRepeatable({ method }: Call, { status, code }: ChartwireError): boolean {
  if (status === 429 || status === 503) return true;
  // Our own earlier attempt is still running.
  if (code === 'idempotency_key_running') return true;
  return method !== 'DELETE' && (status === 502 || status === undefined);
}

function encodeQuery(query: object | undefined): string {
  const entries = Object.entries(query ?? {}).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(entries.map(([name, value]): [string, string] => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

function toForm(fields: object): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (value instanceof Blob) form.append(name, value);
    else if (value instanceof Uint8Array) form.append(name, new Blob([new Uint8Array(value)]), name);
    else form.append(name, String(value));
  }
  return form;
}

function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
