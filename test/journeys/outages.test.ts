import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../scripts/freePort.ts';
import type { TestProcess } from '../harness/sandbox.ts';
import { respondWith, startReceiver } from '../harness/servers/receiver.ts';
import { type Installation, install } from './installation.ts';
import { setFault, until } from './support.ts';

/** An API and a worker as processes of their own, as in production. */
let installation: Installation;
let worker: TestProcess;
let metrics_port: number;

beforeAll(async () => {
  installation = await install();
  metrics_port = await freePort();
});
afterAll(() => installation.close());

const ready = async () => (await installation.api.call('GET', '/readyz')).body;
const untilReadiness = (expected: object) => expect.poll(ready).toMatchObject(expected);

/** The value of a series in the metrics of the API, or undefined. */
async function metric(series: string): Promise<number | undefined> {
  const { body } = await installation.api.call('GET', '/metrics');
  const line = `${body}`.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

const readAlerts = (code: string) =>
  installation.owner<{ summary: string }[]>`SELECT summary FROM alerts WHERE code = ${code} AND resolved_at IS NULL`;

test('without a worker, the API accepts writes and says that they wait', async () => {
  await installation.owner`UPDATE processes SET seen_at = now() - interval '1 hour' WHERE role <> 'api'`;
  await untilReadiness({ status: 'degraded', warnings: ['no_workers'] });
  expect((await installation.api.call('GET', '/readyz')).status).toBe(200);
  expect((await ready()).checks).toMatchObject({ accepting: true, workers: false });
  expect(await metric('chartwire_workers')).toBe(0);
  await until('the alert', async () => (await readAlerts('no_workers')).length === 1);
});

test('a worker is seen by the API, and serves the metrics of its jobs at METRICS_PORT', async () => {
  worker = await installation.startWorker({
    METRICS_PORT: String(metrics_port),
    METRICS_TOKEN: 'a-token-for-this-test',
  });
  await untilReadiness({ status: 'ready', warnings: [] });
  expect(await metric('chartwire_workers')).toBe(1);
  await until('the alert to be resolved', async () => (await readAlerts('no_workers')).length === 0);
  const { body } = await installation.api.callIn();
  await installation.api.untilEvent(body.job_id);
  const read = (path: string, headers = {}) => fetch(`http://127.0.0.1:${metrics_port}${path}`, { headers });
  expect(await (await read('/readyz')).json()).toMatchObject({ status: 'ready', checks: { workers: true } });
  const refused = await read('/metrics');
  expect([refused.status, refused.headers.get('www-authenticate')]).toStrictEqual([401, 'Bearer']);
  const metrics = await (await read('/metrics', { authorization: 'Bearer a-token-for-this-test' })).text();
  expect(metrics).toMatch(/chartwire_job_seconds_count\{type="telephone_encounter.create",state="succeeded"\} 1/);
  expect((await read('/v1/patients')).status).toBe(404);
});

test('an EMR that does not respond is reported until it responds', async () => {
  const [account] = await installation.owner<{ reference_id: string }[]>`SELECT reference_id FROM accounts`;
  const series = `chartwire_emr_unreachable_seconds{emr="larkspur",account="${account?.reference_id}"}`;
  await setFault(installation.api, 'create_telephone_encounter', 'error_500', { times: 1000 });
  onTestFinished(async () => void (await installation.api.control('DELETE', '/control/faults')));
  const { body } = await installation.api.callIn();
  await until('a failed attempt', async () => (await metric(series)) !== undefined);
  expect(await metric('chartwire_waiting{queue="retried"}')).toBe(1);
  await installation.owner`UPDATE emr_outages SET since = now() - interval '301 seconds'`;
  expect(await metric(series)).toBeGreaterThanOrEqual(301);
  await untilReadiness({ status: 'degraded', warnings: ['emr_unreachable'] });
  await until('the alert', async () => (await readAlerts('emr_unreachable')).length === 1);
  const [alert] = await readAlerts('emr_unreachable');
  expect(alert?.summary).toMatch(
    /^The EMR of practice \S+ has not responded for 5 minutes\. 1 job is being retried\.$/,
  );
  await installation.api.control('DELETE', '/control/faults');
  await installation.api.untilEvent(body.job_id);
  await untilReadiness({ status: 'ready', warnings: [] });
  expect(await metric(series)).toBeUndefined();
  await until('the alert to be resolved', async () => (await readAlerts('emr_unreachable')).length === 0);
});

test('a webhook that always fails is reported within a minute, and raises an alert after five', async () => {
  const receiver = await startReceiver(respondWith(500));
  onTestFinished(receiver.close);
  const headers = { access_token: null };
  const hook = await installation.api.call('POST', '/v1/webhook', { body: { webhook_url: receiver.url }, headers });
  const { body } = await installation.api.callIn();
  await installation.api.untilEvent(body.job_id);
  await until('a failed delivery', async () => (await metric('chartwire_endpoints_failing')) === 1);
  await installation.owner`UPDATE webhook_endpoints SET failing_since = now() - interval '60 seconds'`;
  await untilReadiness({ status: 'degraded', warnings: ['endpoint_failing'] });
  expect(await readAlerts('endpoint_failing')).toHaveLength(0);
  await installation.owner`UPDATE webhook_endpoints SET failing_since = now() - interval '301 seconds'`;
  await until('the alert', async () => (await readAlerts('endpoint_failing')).length === 1);
  await installation.api.call('DELETE', `/v1/webhook/${hook.body.webhook_id}`, { headers });
  await untilReadiness({ status: 'ready', warnings: [] });
});

test('a worker that was killed is missed', async () => {
  await worker.stop();
  await installation.owner`UPDATE processes SET seen_at = seen_at - interval '25 seconds' WHERE role = 'worker'`;
  await untilReadiness({ status: 'degraded', warnings: ['no_workers'] });
});
