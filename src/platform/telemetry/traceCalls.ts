import type { Outbound } from '../security/outbound.ts';
import type { Telemetry } from './telemetry.ts';

/** The same client with a span per call. The URL is not part of it: paths and queries name patients. */
export function traceCalls(outbound: Outbound, telemetry: Telemetry): Outbound {
  if (!telemetry.enabled) return outbound;
  return {
    ...outbound,
    fetch: (url, request) => {
      const { method } = request;
      const attributes = { 'http.request.method': method };
      return telemetry.span(`EMR ${method}`, { kind: 'client', attributes }, async () => {
        const response = await outbound.fetch(url, request);
        telemetry.annotate(statusAttributes(response.status, 400));
        return response;
      });
    },
  };
}

/** The status of a response, which is an error from `error_from` on. */
export function statusAttributes(status: number, error_from: 400 | 500) {
  return {
    'http.response.status_code': status,
    ...(status >= error_from && { 'error.type': String(status) }),
  };
}
