import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Registry } from 'prom-client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { StartFailure } from '../../src/catalog/errors.ts';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import { createLog } from '../../src/platform/telemetry/log.ts';
import { openTelemetry } from '../../src/platform/telemetry/openTelemetry.ts';
import {
  parseTraceparent,
  recordedTraceId,
  type Telemetry,
  telemetry_off,
} from '../../src/platform/telemetry/telemetry.ts';
import { until } from '../journeys/support.ts';
import { type Collector, startCollector } from './collector.ts';

const trace_id = '0af7651916cd43dd8448eb211c80319c';
const composeParent = (flags: string) => `00-${trace_id}-b7ad6b7169203331-${flags}`;

async function open(
  env: Record<string, string>,
): Promise<{ telemetry: Telemetry; collector: Collector; lines: string[] }> {
  const collector = await startCollector();
  onTestFinished(collector.close);
  const lines: string[] = [];
  const log = createLog('warn', { write: (line) => void lines.push(line) });
  const config = loadConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...env });
  return { telemetry: await openTelemetry(config, () => log), collector, lines };
}

/** A request, the job it queues and the names of the spans that were exported. */
async function exportedSpans(env: Record<string, string>, parent?: string): Promise<string[]> {
  const { telemetry, collector } = await open(env);
  const queued_by = await telemetry.span('request', { parent }, async () => telemetry.traceparent());
  await telemetry.span('job', { queued_by }, async () => {});
  await telemetry.close();
  return collector.spans().map(({ name }) => name);
}

describe('telemetry', () => {
  test('is off without a collector, and then loads no package of OpenTelemetry', async () => {
    expect(await openTelemetry(loadConfig({}), () => createLog('silent'))).toBe(telemetry_off);
    const root = resolve(import.meta.dirname, '../../src');
    const importing = (pattern: RegExp) =>
      readdirSync(root, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts') && pattern.test(readFileSync(join(root, name), 'utf8')))
        .sort();
    expect(importing(/from '@opentelemetry\//)).toStrictEqual(['platform/telemetry/openExport.ts']);
    expect(importing(/^import .*openExport\.ts'/m)).toStrictEqual([]);
  });

  test.each([
    ['always_on', undefined, ['request', 'job']],
    ['always_off', composeParent('01'), []],
    ['parentbased_always_on', composeParent('00'), []],
    ['parentbased_always_off', composeParent('01'), ['request', 'job']],
    ['parentbased_always_off', undefined, []],
    ['traceidratio', composeParent('01'), []],
  ])('the sampler %s with the parent %s records a request and its job, or neither', async (sampler, parent, names) => {
    const env = { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: '0' };
    expect(await exportedSpans(env, parent)).toStrictEqual(names);
  });

  test('a ratio applies to requests with all their jobs', async () => {
    const { telemetry, collector } = await open({
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.5',
    });
    for (let n = 0; n < 200; n += 1) {
      const queued_by = await telemetry.span(`request ${n}`, {}, async () => telemetry.traceparent());
      await telemetry.span(`job ${n}`, { queued_by }, async () => {});
    }
    await telemetry.close();
    const names = collector.spans().map(({ name }) => name);
    const numbers = (kind: string) =>
      names.flatMap((name) => (name.startsWith(kind) ? [name.slice(kind.length)] : [])).sort();
    expect(numbers('job ')).toStrictEqual(numbers('request '));
    // 200 coin flips are outside of this range once in 10^17 runs.
    expect(numbers('job ').length).toBeGreaterThan(40);
    expect(numbers('job ').length).toBeLessThan(160);
  });

  test('a failed span has the code of its error and no message', async () => {
    const { telemetry, collector } = await open({});
    const error = Object.assign(new Error('Quoted data'), { code: 'slot_taken' });
    await expect(telemetry.span('step', {}, () => Promise.reject(error))).rejects.toBe(error);
    await telemetry.close();
    expect(collector.spans()).toMatchObject([{ failed: true, attributes: { 'error.type': 'slot_taken' } }]);
    expect(JSON.stringify(collector.received)).not.toContain('Quoted');
  });

  test('a collector that is down is logged once, and does not delay the shutdown', async () => {
    const { telemetry, collector, lines } = await open({
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%20secret',
      OTEL_METRIC_EXPORT_INTERVAL: '100',
    });
    await collector.close();
    let exports = 0;
    telemetry.exportMetrics(new Registry(), async () => {
      exports += 1;
    });
    await until('a failed export', async () => lines.length > 0);
    const before = exports;
    await until('further exports', async () => exports > before + 2);
    await telemetry.span('request', {}, async () => {});
    const started = performance.now();
    await telemetry.close();
    // A second for both signals, and what a busy machine adds.
    expect(performance.now() - started).toBeLessThan(10_000);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ reason: 'metrics', msg: 'telemetry not exported' }]);
    expect(lines.join('')).not.toContain('secret');
  });

  test('the headers of the collector are sent', async () => {
    const { telemetry, collector } = await open({ OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%20secret, x-tenant = one' });
    await telemetry.span('request', {}, async () => {});
    await telemetry.close();
    expect(collector.received[0]?.headers).toMatchObject({ 'api-key': 'a secret', 'x-tenant': 'one' });
  });
});

describe('settings', () => {
  test.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }, 'OTEL_EXPORTER_OTLP_ENDPOINT must be a URL'],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'secret' }, 'OTEL_EXPORTER_OTLP_HEADERS must be comma-separated name=value pairs'],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'key=%ff' }, 'OTEL_EXPORTER_OTLP_HEADERS must be comma-separated name=value pairs'],
    [{ OTEL_TRACES_SAMPLER: 'sometimes' }, 'OTEL_TRACES_SAMPLER must be one of always_on,'],
    [{ OTEL_TRACES_SAMPLER_ARG: '1.5' }, "OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, not '1.5'."],
  ])('%j is rejected', (env, message) => {
    expect(() => loadConfig(env)).toThrow(StartFailure);
    expect(() => loadConfig(env)).toThrow(message);
  });
});

describe('a traceparent header', () => {
  test.each([
    undefined,
    '',
    'x',
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    `00-${trace_id}-${'0'.repeat(16)}-01`,
    `ff-${trace_id}-b7ad6b7169203331-01`,
    `${composeParent('01')}-more`,
    composeParent('01').toUpperCase(),
  ])('%s is ignored', (header) => {
    expect(parseTraceparent(header)).toBeUndefined();
  });

  test('a traceparent header of a later version may have more fields', () => {
    expect(parseTraceparent(`01-${trace_id}-b7ad6b7169203331-03-more`)).toMatchObject({ trace_id, flags: 3 });
  });

  test('names a recorded trace only if it is sampled', () => {
    expect(recordedTraceId(composeParent('03'))).toBe(trace_id);
    expect(recordedTraceId(composeParent('02'))).toBeNull();
    expect(recordedTraceId(null)).toBeNull();
  });
});
