import { OutboundFailure, type OutboundResponse } from '../../platform/security/outbound.ts';
import type { Call, Interceptor } from './environment.ts';

const response = (status: number, body: string, headers: Record<string, string> = {}): OutboundResponse => ({
  status,
  headers,
  body: Buffer.from(body),
  truncated: false,
});
const page = '<!doctype html><html><title>Maintenance</title><body><h1>Back soon</h1></body></html>';

/** Responses that servers and proxies really send and that say nothing about the request. */
export const unusable_responses = {
  'an error (500)': () => response(500, '{"error":"internal"}', { 'content-type': 'application/json' }),
  'an HTML page': () => response(200, page, { 'content-type': 'text/html' }),
  'an HTML error page (502)': () => response(502, page, { 'content-type': 'text/html' }),
  'an empty response': () => response(200, ''),
  'a truncated response': () => ({ ...response(200, '{"resourceType":"Bundle","rows":[{"a', {}), truncated: true }),
  'unrelated JSON': () => response(200, '{"hello":"world"}', { 'content-type': 'application/json' }),
  'a redirect': () => response(302, '', { location: 'http://198.51.100.1/' }),
} satisfies Record<string, () => OutboundResponse>;

export const respondWith =
  (make: () => OutboundResponse): Interceptor =>
  async () =>
    make();

export const tooManyRequests = respondWith(() => response(429, '', { 'retry-after': '7' }));

/** Nothing was sent. */
export const unreachable: Interceptor = async () => {
  throw new OutboundFailure('unreachable', 'The address refuses connections.');
};

/** The connection is lost after the request was sent, before it reached the EMR. */
export const dropConnection: Interceptor = async () => {
  throw new OutboundFailure('broken', 'The connection was lost.', { sent: true });
};

/** The EMR applies the request, and its response is lost. */
export const loseResponse: Interceptor = async (_, pass) => {
  await pass();
  throw new OutboundFailure('broken', 'The connection was lost.', { sent: true });
};

/** Intercepts the call with this index (from 0) among those that `counts` accepts, and passes the others. */
export function onCall(
  index: number,
  intercept: Interceptor,
  counts: (call: Call) => boolean = () => true,
): Interceptor {
  let seen = -1;
  return (call, pass, request) => (counts(call) && ++seen === index ? intercept(call, pass, request) : pass());
}

export function isWrite({ may_write }: Call): boolean {
  return may_write;
}
