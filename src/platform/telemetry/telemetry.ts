import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Config } from '../../catalog/settings/config.ts';
import type { TracePosition } from './traceparent.ts';

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

/** A span that its owner ends: a request is not one function call. */
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

/** The packages of OpenTelemetry are loaded only if a collector is configured. */
export async function openTelemetry(config: Config, log: () => Logger): Promise<Telemetry> {
  if (config.otel_exporter_otlp_endpoint === undefined) return telemetry_off;
  const { openExport } = await import('./openExport.ts');
  return openExport({ ...config, endpoint: config.otel_exporter_otlp_endpoint }, log);
}

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
