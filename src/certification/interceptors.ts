import { OutboundFailure, type OutboundResponse } from '../security/outbound.ts';
import type { Call, Interceptor } from './environment.ts';

const answer = (status: number, body: string, headers: Record<string, string> = {}): OutboundResponse => ({
  status,
  headers,
  body: Buffer.from(body),
  truncated: false,
});
const page = '<!doctype html><html><title>Maintenance</title><body><h1>Back soon</h1></body></html>';

/** Answers that tell nothing about what was asked: what servers, proxies and lines really send. */
export const useless = {
  'an error (500)': () => answer(500, '{"error":"internal"}', { 'content-type': 'application/json' }),
  'a page instead of data': () => answer(200, page, { 'content-type': 'text/html' }),
  'a page with an error (502)': () => answer(502, page, { 'content-type': 'text/html' }),
  'an empty answer': () => answer(200, ''),
  'half an answer': () => ({ ...answer(200, '{"resourceType":"Bundle","rows":[{"a', {}), truncated: true }),
  'JSON of another kind': () => answer(200, '{"hello":"world"}', { 'content-type': 'application/json' }),
  'a redirect': () => answer(302, '', { location: 'http://198.51.100.1/' }),
} satisfies Record<string, () => OutboundResponse>;

export const too_many = answer(429, '', { 'retry-after': '7' });

export const answering =
  (make: () => OutboundResponse): Interceptor =>
  async () =>
    make();

/** Nobody is there: nothing was sent. */
export const unreachable: Interceptor = async () => {
  throw new OutboundFailure('unreachable', 'The address refuses connections.');
};

/** The connection breaks after the request went out, and the EMR never saw it. */
export const cut: Interceptor = async () => {
  throw new OutboundFailure('broken', 'The connection broke off.', { sent: true });
};

/** The EMR does what it was asked, and its answer never arrives. */
export const losing: Interceptor = async (_, pass) => {
  await pass();
  throw new OutboundFailure('broken', 'The connection broke off.', { sent: true });
};

/** The call with this number (from 0), of those that may write when `of` says so; the others pass. */
export function at(index: number, intercept: Interceptor, of: (call: Call) => boolean = () => true): Interceptor {
  let seen = -1;
  return (call, pass, request) => (of(call) && ++seen === index ? intercept(call, pass, request) : pass());
}

/** A call that changes something. Asking is done by GET, or in FHIR by a form sent to `_search`. */
export function mayWrite({ method, url }: Call): boolean {
  return method !== 'GET' && method !== 'HEAD' && !new URL(url).pathname.endsWith('/_search');
}
