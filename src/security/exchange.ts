import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { failureOf, type OutboundFailure, stopped, timedOut } from './outboundFailure.ts';

export type OutboundRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD';
  headers?: Record<string, string> | undefined;
  body?: string | Buffer | undefined;
  /** For the whole call: name, connection, TLS, request, and the answer to its last byte. */
  timeout_ms: number;
  signal?: AbortSignal | undefined;
  /** Of a longer answer, this much is kept and the connection is dropped. */
  response_bytes_max: number;
};

export type OutboundResponse = {
  status: number;
  /** Names in lower case; a header sent several times is joined with `, `. */
  headers: Record<string, string>;
  /** As it came: we ask for no compression and undo none, so a small answer cannot unfold into a large one. */
  body: Buffer;
  truncated: boolean;
};

/**
 * One request and its answer over undici's lowest interface, the only one that says whether the request was handed to a
 * connection: that moment divides "nothing was sent" from "may have arrived", and a write must know which it was.
 */
export function exchange(via: Dispatcher, url: URL, request: OutboundRequest): Promise<OutboundResponse> {
  const { method, timeout_ms, signal, response_bytes_max } = request;
  return new Promise((resolve, reject) => {
    let sent = false;
    let ended = false;
    let controller: Dispatcher.DispatchController | undefined;
    let head: Pick<OutboundResponse, 'status' | 'headers'> | undefined;
    const chunks: Buffer[] = [];
    let kept_bytes = 0;

    const timer = setTimeout(() => fail(timedOut(url.host, timeout_ms, sent)), timeout_ms);
    const onAbort = () => fail(stopped(url.host, sent));

    function end(settle: () => void): void {
      if (ended) return;
      ended = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      settle();
    }
    function fail(failure: OutboundFailure): void {
      end(() => reject(failure));
      controller?.abort(failure);
    }
    function answer(truncated: boolean): void {
      const whole = head;
      if (whole) end(() => resolve({ ...whole, body: Buffer.concat(chunks), truncated }));
    }

    if (signal?.aborted) return onAbort();
    signal?.addEventListener('abort', onAbort);
    const { headers = {}, body = null } = request;
    via.dispatch(
      { origin: url.origin, path: url.pathname + url.search, method, headers, body },
      {
        onRequestStart: (started) => {
          controller = started;
          // Ended while waiting for a connection: aborted here, undici writes nothing.
          if (ended) return started.abort(stopped(url.host, false));
          sent = true;
        },
        onResponseStart: (_, status, fields) => {
          // 1xx come before the answer itself.
          if (status >= 200) head = { status, headers: joined(fields) };
        },
        onResponseData: (current, chunk) => {
          const wanted = chunk.subarray(0, response_bytes_max - kept_bytes);
          kept_bytes += wanted.length;
          chunks.push(wanted);
          if (wanted.length === chunk.length) return;
          answer(true);
          current.abort(stopped(url.host, true));
        },
        onResponseEnd: () => answer(false),
        onResponseError: (_, error) => end(() => reject(failureOf(error, url.host, sent))),
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
