import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { failureOf, type OutboundFailure, stopped, timedOut } from './outboundFailure.ts';

export type OutboundRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD';
  headers?: Record<string, string> | undefined;
  body?: string | Buffer | undefined;
  /** For the whole exchange: DNS, connection, TLS, request and complete response. */
  timeout_ms: number;
  signal?: AbortSignal | undefined;
  /** A longer response is cut off here and its connection closed. */
  response_bytes_max: number;
  /** The same for status 400 and above. Default: `response_bytes_max`. */
  error_bytes_max?: number | undefined;
};

export type OutboundResponse = {
  status: number;
  /** Names in lower case; a header sent several times is joined with `, `. */
  headers: Record<string, string>;
  /** Never decompressed, so a small response cannot expand into a large one. */
  body: Buffer;
  truncated: boolean;
};

/**
 * One request and its response over undici's lowest-level interface, the only one that reports when the request was
 * handed to a connection. That moment separates "nothing was sent" from "may have arrived", which a write must know.
 */
export function exchange(via: Dispatcher, url: URL, request: OutboundRequest): Promise<OutboundResponse> {
  const { method, timeout_ms, signal, response_bytes_max, error_bytes_max = response_bytes_max } = request;
  return new Promise((resolve, reject) => {
    let sent = false;
    let done = false;
    let controller: Dispatcher.DispatchController | undefined;
    let head: Pick<OutboundResponse, 'status' | 'headers'> | undefined;
    const chunks: Buffer[] = [];
    let received_bytes = 0;

    const timer = setTimeout(() => fail(timedOut(url.host, timeout_ms, sent)), timeout_ms);
    const onAbort = () => fail(stopped(url.host, sent));

    function finish(settle: () => void): void {
      if (done) return;
      done = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      settle();
    }
    function fail(failure: OutboundFailure): void {
      finish(() => reject(failure));
      controller?.abort(failure);
    }
    function respond(truncated: boolean): void {
      const received = head;
      if (received) finish(() => resolve({ ...received, body: Buffer.concat(chunks), truncated }));
    }

    if (signal?.aborted) return onAbort();
    signal?.addEventListener('abort', onAbort);
    const { headers = {}, body = null } = request;
    via.dispatch(
      { origin: url.origin, path: url.pathname + url.search, method, headers, body },
      {
        onRequestStart: (started) => {
          controller = started;
          // Aborted while waiting for a connection: undici writes nothing.
          if (done) return started.abort(stopped(url.host, false));
          sent = true;
        },
        onResponseStart: (_, status, fields) => {
          // 1xx responses precede the real one.
          if (status >= 200) head = { status, headers: joined(fields) };
        },
        onResponseData: (current, chunk) => {
          const bytes_max = (head?.status ?? 0) >= 400 ? error_bytes_max : response_bytes_max;
          const part = chunk.subarray(0, bytes_max - received_bytes);
          received_bytes += part.length;
          chunks.push(part);
          if (part.length === chunk.length) return;
          respond(true);
          current.abort(stopped(url.host, true));
        },
        onResponseEnd: () => respond(false),
        onResponseError: (_, error) => finish(() => reject(failureOf(error, url.host, sent))),
      },
    );
  });
}

function joined(fields: IncomingHttpHeaders): Record<string, string> {
  const entries = Object.entries(fields).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(', ') : value,
  ]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}
