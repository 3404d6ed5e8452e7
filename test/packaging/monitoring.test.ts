import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { secret_names } from '../../src/catalog/settings/config.ts';
import { createMetrics } from '../../src/platform/telemetry/metrics.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const alerts = read('deploy/prometheus/alerts.yml');
const dashboard: string = JSON.parse(read('deploy/grafana/chartwire.json'))
  .panels.flatMap(({ targets = [] }: { targets?: { expr: string }[] }) => targets.map(({ expr }) => expr))
  .join('\n');

/** The series at /metrics and their labels. */
async function readCatalogue(): Promise<Map<string, string[]>> {
  const { registry } = createMetrics();
  const series = new Map<string, string[]>();
  for (const metric of await registry.getMetricsAsJSON()) {
    // Not declared by prom-client.
    const { labelNames } = registry.getSingleMetric(metric.name) as unknown as { labelNames: string[] };
    const histogram = String(metric.type) === 'histogram';
    const names = histogram ? ['_bucket', '_count', '_sum'].map((end) => metric.name + end) : [metric.name];
    for (const name of names) series.set(name, [...labelNames, ...(name.endsWith('_bucket') ? ['le'] : [])]);
  }
  return series;
}

/** Added to every series by Prometheus. */
const target_labels = ['job', 'instance'];

describe.each([
  ['deploy/prometheus/alerts.yml', alerts],
  ['deploy/grafana/chartwire.json', dashboard],
])('%s', (_path, text) => {
  test('uses only series of /metrics, with labels that they have', async () => {
    const catalogue = await readCatalogue();
    const used = [...text.matchAll(/\b((?:chartwire|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)];
    expect(used.length).toBeGreaterThan(15);
    const unknown = used.flatMap(([, name = '', selector = '']) => {
      const metric = catalogue.get(name);
      if (!metric) return [name];
      const labels = [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)].map(([, label = '']) => label);
      return labels
        .filter((label) => ![...metric, ...target_labels].includes(label))
        .map((label) => `${name}.${label}`);
    });
    expect(unknown).toStrictEqual([]);
  });
});

test('every metric of ours is part of an alert or of the dashboard', async () => {
  const names = [...(await readCatalogue()).keys()].filter((name) => /^chartwire_.*(?<!_bucket|_sum)$/.test(name));
  expect(names.filter((name) => !`${alerts}${dashboard}`.includes(name))).toStrictEqual([]);
});

test('promtool, where it is installed, finds no fault in the names and help texts of our metrics', async () => {
  const input = await createMetrics().registry.metrics();
  const { error, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' });
  if (error) return expect(error).toMatchObject({ code: 'ENOENT' });
  // Those of prom-client itself have names that promtool would not choose.
  const complaints = `${stdout}${stderr}`.split('\n').filter((line) => line !== '' && !line.startsWith('nodejs_'));
  expect(complaints).toStrictEqual([]);
});

test('every alert has a test and a section in the guide', () => {
  const names = [...alerts.matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);
  const tests = read('deploy/prometheus/alerts.test.yml');
  const sections = [...read('docs/guides/what-to-watch.md').matchAll(/^### (\w+)$/gm)].map(([, name = '']) => name);
  expect(names.filter((name) => !tests.includes(`alertname: ${name}`))).toStrictEqual([]);
  expect(sections).toStrictEqual(names);
});

test('the drop-in for systemd loads secrets of the settings, under their names', () => {
  const lines = read('deploy/chartwire-credentials.conf').split('\n');
  const loaded = lines.flatMap((line) => /^#?LoadCredential(?:Encrypted)?=(\w+):\S+$/.exec(line)?.[1] ?? []);
  expect(loaded).toHaveLength(lines.filter((line) => /^#?LoadCredential/.test(line)).length);
  expect(loaded).toContain('MASTER_KEY');
  expect(loaded.filter((name) => !secret_names.includes(name))).toStrictEqual([]);
});

test('the programs that read the files in deploy/ accept them, where they are installed', () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'scripts/checkDeploy.mjs'), '--skip-missing'],
    { encoding: 'utf8' },
  );
  expect(status, stdout + stderr).toBe(0);
});
