import type { Registry } from 'prom-client';
import type { Outbound } from '../security/outbound.ts';

/**
 * What a span may say: names from our own catalogues, our ids, statuses and counts. Never a name of a person, an MRN, a
 * URL, a query, a body, a token or the text of an error. A name that is missing here does not compile.
 */
export type SpanAttributes = Partial<{
  'http.request.method': string;
  /** The path as declared, without its values: `/v1/jobs/{job_id}`. */
  'http.route': string;
  'http.response.status_code': number;
  /** A code of our catalogues, or the class of an error. Marks the span as failed. */
  'error.type': string;
  'chartwire.endpoint': string;
  'chartwire.request_id': string;
  'chartwire.client_id': string;
  'chartwire.account_id': string;
  'chartwire.operation_id': string;
  'chartwire.job_id': number;
  'chartwire.job_type': string;
  'chartwire.job_state': string;
  'chartwire.attempt': number;
  'chartwire.step': string;
  'chartwire.emr_operation': string;
  'chartwire.event_id': string;
  'chartwire.event_type': string;
  'chartwire.delivery_id': string;
  'chartwire.delivery_state': string;
  'chartwire.webhook_endpoint': string;
}>;

export type SpanOptions = {
  kind?: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  attributes?: SpanAttributes;
  /** The caller's `traceparent` header. */
  parent?: string | undefined;
  /**
   * The stored traceparent of the span that queued this work. The span then starts a trace of its own with a link to it,
   * because the work may run much later and several times.
   */
  queued_by?: string | null;
};

/** A span that the caller ends explicitly. */
export type OpenSpan = {
  /** Runs work, which may continue asynchronously, with this span as the active one. */
  run<T>(work: () => T): T;
  end(attributes?: SpanAttributes): void;
};

export type Telemetry = {
  enabled: boolean;
  /** Runs work in a span below the active one. The span fails if the work throws. */
  span<T>(name: string, options: SpanOptions, work: () => Promise<T>): Promise<T>;
  open(name: string, options: SpanOptions): OpenSpan;
  /** Adds attributes to the active span. */
  annotate(attributes: SpanAttributes): void;
  /** The active span, in the format of the header `traceparent`. Null if there is none. */
  traceparent(): string | null;
  /** The ids of the active span, if it is recorded. */
  logFields(): Partial<Pick<TracePosition, 'trace_id' | 'span_id'>>;
  /** Exports the metrics of the registry from now on. `refresh` updates those that are measured on demand. */
  exportMetrics(registry: Registry, refresh: () => Promise<void>): void;
  /** Sends what is left, for at most a second. */
  close(): Promise<void>;
};

export const telemetry_off: Telemetry = {
  enabled: false,
  span: (_name, _options, work) => work(),
  open: () => ({ run: (work) => work(), end: () => {} }),
  annotate: () => {},
  traceparent: () => null,
  logFields: () => ({}),
  exportMetrics: () => {},
  close: async () => {},
};

/** The position in a trace, as in the header `traceparent` of W3C Trace Context. */
export type TracePosition = { trace_id: string; span_id: string; flags: number };

const sampled_flag = 0x01;

/** Undefined if the header is missing or invalid. `tracestate`, in which any text may appear, is never read. */
export function parseTraceparent(header: string | null | undefined): TracePosition | undefined {
  // Later versions may append fields; version ff is invalid.
  const match = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(header?.trim() ?? '');
  if (!match) return undefined;
  const [, version = '', trace_id = '', span_id = '', flags = '', more] = match;
  if (/^0+$/.test(trace_id) || /^0+$/.test(span_id) || (version === '00' && more !== undefined)) return undefined;
  return { trace_id, span_id, flags: Number.parseInt(flags, 16) };
}

export function formatTraceparent({ trace_id, span_id, flags }: TracePosition): string {
  return `00-${trace_id}-${span_id}-${flags.toString(16).padStart(2, '0')}`;
}

export function isSampled({ flags }: TracePosition): boolean {
  return (flags & sampled_flag) !== 0;
}

/** The id under which a collector has the trace; null if it was not recorded. */
export function recordedTraceId(traceparent: string | null): string | null {
  const position = parseTraceparent(traceparent);
  return position && isSampled(position) ? position.trace_id : null;
}

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
