import { AsyncLocalStorage } from 'node:async_hooks';
import { hostname } from 'node:os';
import {
  type Attributes,
  type HrTime,
  type Link,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  ValueType,
} from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { emptyResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  MeterProvider,
  type MetricData,
  type MetricProducer,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import type { MetricObjectWithValues, MetricValue, Registry } from 'prom-client';
import type { Config } from '../../catalog/settings/config.ts';
import type { SamplerName } from '../../catalog/settings/settingValues.ts';
import { version } from '../../catalog/version.ts';
import { waitAtMost } from '../worker/worker.ts';
import {
  formatTraceparent,
  isSampled,
  type OpenSpan,
  parseTraceparent,
  type SpanAttributes,
  type SpanOptions,
  type Telemetry,
  type TracePosition,
} from './telemetry.ts';

/** Part of the two seconds of a shutdown that are not reserved for running work. */
const close_ms = 1_000;

/**
 * Sends traces and metrics to a collector. Nothing is registered globally, and no module is patched: every span is
 * opened by our own code.
 */
export function openExport(config: Config & { endpoint: string }, log: () => Logger): Telemetry {
  const resource = resourceFromAttributes({
    'service.name': config.otel_service_name,
    'service.version': version,
    'service.instance.id': `${hostname()}:${process.pid}`,
  });
  const destination = (signal: 'traces' | 'metrics') => ({
    url: `${config.endpoint.replace(/\/+$/, '')}/v1/${signal}`,
    headers: config.otel_exporter_otlp_headers,
    timeoutMillis: 5_000,
  });
  const traces = reportFailures(new OTLPTraceExporter(destination('traces')), () =>
    log().warn({ reason: 'traces' }, 'telemetry not exported'),
  );
  const provider = new TracerProvider({
    resource,
    sampler: createSampler(config.otel_traces_sampler, config.otel_traces_sampler_arg),
    spanProcessors: [new BatchSpanProcessor({ exporter: traces })],
  });
  const tracer = provider.getTracer('chartwire', version);
  const active = new AsyncLocalStorage<Span>();
  let meters: MeterProvider | undefined;

  const start = (name: string, { kind = 'internal', attributes = {}, parent, queued_by }: SpanOptions): Span => {
    const options = { kind: kinds[kind], attributes, links: linksTo(queued_by) };
    return tracer.startSpan(name, options, parentContext(parent, queued_by));
  };
  const parentContext = (header: string | undefined, queued_by: string | null | undefined) => {
    const caller = parseTraceparent(header);
    if (caller) return trace.setSpanContext(ROOT_CONTEXT, { ...spanContext(caller), isRemote: true });
    const current = queued_by === undefined ? active.getStore() : undefined;
    return current ? trace.setSpan(ROOT_CONTEXT, current) : ROOT_CONTEXT;
  };
  const position = (): TracePosition | undefined => {
    const span = active.getStore()?.spanContext();
    return span && { trace_id: span.traceId, span_id: span.spanId, flags: span.traceFlags };
  };

  return {
    enabled: true,
    span: async (name, options, work) => {
      const span = start(name, options);
      try {
        return await active.run(span, work);
      } catch (error) {
        describe(span, { 'error.type': classifyError(error) });
        throw error;
      } finally {
        span.end();
      }
    },
    open: (name, options): OpenSpan => {
      const span = start(name, options);
      return {
        run: (work) => active.run(span, work),
        end: (attributes = {}) => {
          describe(span, attributes);
          span.end();
        },
      };
    },
    annotate: (attributes) => {
      const span = active.getStore();
      if (span) describe(span, attributes);
    },
    traceparent: () => {
      const current = position();
      return current ? formatTraceparent(current) : null;
    },
    logFields: () => {
      const current = position();
      return current && isSampled(current) ? { trace_id: current.trace_id, span_id: current.span_id } : {};
    },
    exportMetrics: (registry, refresh) => {
      const exporter = reportFailures(new OTLPMetricExporter(destination('metrics')), () =>
        log().warn({ reason: 'metrics' }, 'telemetry not exported'),
      );
      const reader = new PeriodicExportingMetricReader({
        exporter,
        exportIntervalMillis: config.otel_metric_export_interval,
        exportTimeoutMillis: Math.min(config.otel_metric_export_interval, 5_000),
        metricProducers: [metricProducer(registry, refresh)],
      });
      meters = new MeterProvider({ resource, readers: [reader] });
    },
    // A collector that is down must not delay or fail the shutdown.
    close: () => waitAtMost(close_ms, Promise.allSettled([provider.shutdown(), meters?.shutdown()])),
  };
}

const kinds: Record<NonNullable<SpanOptions['kind']>, SpanKind> = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
};

function linksTo(traceparent: string | null | undefined): Link[] {
  const origin = parseTraceparent(traceparent);
  return origin ? [{ context: spanContext(origin) }] : [];
}

function spanContext({ trace_id, span_id, flags }: TracePosition) {
  return { traceId: trace_id, spanId: span_id, traceFlags: flags };
}

function describe(span: Span, attributes: SpanAttributes): void {
  span.setAttributes(attributes);
  // Without a message: those of errors may quote data.
  if (attributes['error.type'] !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
}

/** The code of an error, or its class. Codes of all libraries look like names; texts do not. */
function classifyError(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const { code, kind } = error as { code?: unknown; kind?: unknown };
  return [code, kind].find((each): each is string => typeof each === 'string' && /^\w{1,64}$/.test(each)) ?? error.name;
}

type Exporter<Items> = { export(items: Items, done: (result: { code: number }) => void): void };

/** Calls `report` when exporting begins to fail. The libraries themselves are silent. */
function reportFailures<Items, E extends Exporter<Items>>(exporter: E & Exporter<Items>, report: () => void): E {
  const send = exporter.export.bind(exporter);
  let failing = false;
  exporter.export = (items, done) =>
    send(items, (result) => {
      if (result.code !== 0 && !failing) report();
      failing = result.code !== 0;
      done(result);
    });
  return exporter;
}

type Metric = MetricObjectWithValues<MetricValue<string> & { metricName?: string }>;

/** The metrics of /metrics for OpenTelemetry, under the same names, so that there is one catalogue. */
export function metricProducer(registry: Registry, refresh: () => Promise<void>): MetricProducer {
  const started = hrTime(Date.now());
  return {
    collect: async () => {
      await refresh();
      // Declared without its values, which it has.
      const metrics = (await registry.getMetricsAsJSON()) as Metric[];
      const times = { startTime: started, endTime: hrTime(Date.now()) };
      return {
        // The reader uses its own.
        resourceMetrics: {
          resource: emptyResource(),
          scopeMetrics: [
            { scope: { name: 'chartwire', version }, metrics: metrics.flatMap((metric) => convert(metric, times)) },
          ],
        },
        errors: [],
      };
    },
  };
}

type Times = Pick<DataPoint<unknown>, 'startTime' | 'endTime'>;

function hrTime(ms: number): HrTime {
  return [Math.floor(ms / 1000), (ms % 1000) * 1_000_000];
}

/** We have no summaries. */
function convert(metric: Metric, times: Times): MetricData[] {
  const unit = /_seconds(_total)?$/.test(metric.name) ? 's' : /_bytes(_total)?$/.test(metric.name) ? 'By' : '';
  const shared = {
    descriptor: { name: metric.name, description: metric.help, unit, valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  // An enum in the declarations, a string at run time.
  const type = String(metric.type);
  if (type === 'histogram') {
    return [{ ...shared, dataPointType: DataPointType.HISTOGRAM, dataPoints: histograms(metric, times) }];
  }
  const dataPoints = metric.values
    .filter(({ value }) => Number.isFinite(value))
    .map(({ value, labels }) => ({ ...times, value, attributes: toAttributes(labels) }));
  if (type === 'counter') return [{ ...shared, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }];
  return type === 'gauge' ? [{ ...shared, dataPointType: DataPointType.GAUGE, dataPoints }] : [];
}

/** Prometheus counts are cumulative over the buckets, those of OpenTelemetry are per bucket. */
function histograms({ name, values }: Metric, times: Times): DataPoint<Histogram>[] {
  const series = new Map<string, { attributes: Attributes; buckets: [le: number, count: number][]; sum: number }>();
  for (const { labels, value, metricName } of values) {
    const { le, ...rest } = labels;
    const key = JSON.stringify(Object.entries(rest).sort());
    const entry = series.get(key) ?? { attributes: toAttributes(rest), buckets: [], sum: 0 };
    series.set(key, entry);
    if (metricName === `${name}_bucket`) entry.buckets.push([le === '+Inf' ? Infinity : Number(le), value]);
    else if (metricName === `${name}_sum`) entry.sum = value;
  }
  return [...series.values()].map(({ attributes, buckets, sum }) => {
    buckets.sort(([a], [b]) => a - b);
    const counts = buckets.map(([, count], n) => count - (buckets[n - 1]?.[1] ?? 0));
    const boundaries = buckets.map(([le]) => le).filter(Number.isFinite);
    const count = buckets.at(-1)?.[1] ?? 0;
    return { ...times, attributes, value: { buckets: { boundaries, counts }, sum, count } };
  });
}

function toAttributes(labels: Partial<Record<string, string | number>>): Attributes {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, String(value)]));
}

/**
 * The configured sampler, except that queued work is recorded if the request that queued it was: a write is recorded from
 * the request to the webhook, or not at all.
 */
export function createSampler(name: SamplerName, ratio: number): Sampler {
  const configured = samplers[name](ratio);
  return {
    shouldSample: (context, trace_id, span_name, kind, attributes, links) => {
      const [origin] = links;
      if (!origin) return configured.shouldSample(context, trace_id, span_name, kind, attributes, links);
      const sampled = (origin.context.traceFlags & 1) !== 0;
      return { decision: sampled ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD };
    },
    toString: () => configured.toString(),
  };
}

const samplers: Record<SamplerName, (ratio: number) => Sampler> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (ratio) => new TraceIdRatioBasedSampler(ratio),
  parentbased_always_on: () => new ParentBasedSampler({ root: new AlwaysOnSampler() }),
  parentbased_always_off: () => new ParentBasedSampler({ root: new AlwaysOffSampler() }),
  parentbased_traceidratio: (ratio) => new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
};
