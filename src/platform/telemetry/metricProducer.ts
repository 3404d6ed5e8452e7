import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api';
import { emptyResource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import type { MetricObjectWithValues, MetricValue, Registry } from 'prom-client';
import { version } from '../../catalog/version.ts';

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
    .map(({ value, labels }) => ({ ...times, value, attributes: attributesOf(labels) }));
  if (type === 'counter') return [{ ...shared, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }];
  return type === 'gauge' ? [{ ...shared, dataPointType: DataPointType.GAUGE, dataPoints }] : [];
}

/** Prometheus counts are cumulative over the buckets, those of OpenTelemetry are per bucket. */
function histograms({ name, values }: Metric, times: Times): DataPoint<Histogram>[] {
  const series = new Map<string, { attributes: Attributes; buckets: [le: number, count: number][]; sum: number }>();
  for (const { labels, value, metricName } of values) {
    const { le, ...rest } = labels;
    const key = JSON.stringify(Object.entries(rest).sort());
    const found = series.get(key) ?? { attributes: attributesOf(rest), buckets: [], sum: 0 };
    series.set(key, found);
    if (metricName === `${name}_bucket`) found.buckets.push([le === '+Inf' ? Infinity : Number(le), value]);
    else if (metricName === `${name}_sum`) found.sum = value;
  }
  return [...series.values()].map(({ attributes, buckets, sum }) => {
    buckets.sort(([a], [b]) => a - b);
    const counts = buckets.map(([, count], n) => count - (buckets[n - 1]?.[1] ?? 0));
    const boundaries = buckets.map(([le]) => le).filter(Number.isFinite);
    const count = buckets.at(-1)?.[1] ?? 0;
    return { ...times, attributes, value: { buckets: { boundaries, counts }, sum, count } };
  });
}

function attributesOf(labels: Partial<Record<string, string | number>>): Attributes {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, String(value)]));
}
