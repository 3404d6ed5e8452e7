import { type Received, respondWith, startReceiver } from '../harness/servers/receiver.ts';

export type CollectedSpan = {
  name: string;
  trace_id: string;
  span_id: string;
  /** Empty for the first span of a trace. */
  parent_id: string;
  links: { trace_id: string; span_id: string }[];
  attributes: Record<string, string | number>;
  failed: boolean;
};

export type Collector = {
  url: string;
  received: Received[];
  spans(): CollectedSpan[];
  /** The values of the latest export, by metric and `label=value,…`. */
  metric(name: string): Map<string, number>;
  close(): Promise<void>;
};

/** An OpenTelemetry collector: OTLP over HTTP with JSON bodies. */
export async function startCollector(): Promise<Collector> {
  const receiver = await startReceiver(respondWith(200, { 'content-type': 'application/json' }, '{}'));
  const bodies = (path: string) =>
    receiver.received.filter(({ url }) => url === path).map(({ body }): OtlpBody => JSON.parse(body));
  return {
    url: new URL(receiver.url).origin,
    received: receiver.received,
    spans: () =>
      bodies('/v1/traces')
        .flatMap(({ resourceSpans = [] }) => resourceSpans.flatMap(({ scopeSpans }) => scopeSpans))
        .flatMap(({ spans }) => spans.map(readSpan)),
    metric: (name) => {
      const metric_points = bodies('/v1/metrics')
        .flatMap(({ resourceMetrics = [] }) => resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics))
        .flatMap(({ metrics }) => metrics.filter((metric) => metric.name === name))
        .at(-1);
      const points = (metric_points?.sum ?? metric_points?.gauge ?? metric_points?.histogram)?.dataPoints ?? [];
      return new Map(points.map((point) => [formatLabels(point), Number(point.asDouble ?? point.count)]));
    },
    close: receiver.close,
  };
}

type OtlpAttribute = { key: string; value: { stringValue?: string; intValue?: number; doubleValue?: number } };
type OtlpSpan = {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  links?: { traceId: string; spanId: string }[];
  attributes: OtlpAttribute[];
  status?: { code?: number };
};
type OtlpPoint = { attributes: OtlpAttribute[]; asDouble?: number; count?: number };
type OtlpPoints = { dataPoints: OtlpPoint[] };
type OtlpMetric = { name: string; sum?: OtlpPoints; gauge?: OtlpPoints; histogram?: OtlpPoints };
type OtlpBody = {
  resourceSpans?: { scopeSpans: { spans: OtlpSpan[] }[] }[];
  resourceMetrics?: { scopeMetrics: { metrics: OtlpMetric[] }[] }[];
};

function readSpan({ name, traceId, spanId, parentSpanId, links, attributes, status }: OtlpSpan): CollectedSpan {
  return {
    name,
    trace_id: traceId,
    span_id: spanId,
    parent_id: parentSpanId ?? '',
    links: (links ?? []).map((link) => ({ trace_id: link.traceId, span_id: link.spanId })),
    attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, readValue(value)])),
    failed: status?.code === 2,
  };
}

function readValue({ stringValue, intValue, doubleValue }: OtlpAttribute['value']): string | number {
  return stringValue ?? intValue ?? doubleValue ?? '';
}

function formatLabels({ attributes }: OtlpPoint): string {
  return attributes.map(({ key, value }) => `${key}=${readValue(value)}`).join(',');
}
