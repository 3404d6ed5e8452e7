import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Api } from '../harness/api.ts';
import { signInOperator } from '../harness/operator.ts';
import { spawnSandbox, type TestProcess } from '../harness/sandbox.ts';
import { startReceiver } from '../harness/servers/receiver.ts';
import { endPauses, setFault, until, untilFailedAttempt } from '../journeys/support.ts';
import { type CollectedSpan, type Collector, startCollector } from './collector.ts';

/** Health data and secrets that requests contain, all recognizable. */
const planted = {
  reason: 'Plantedreason chest pain',
  caller: 'Plantedcaller',
  message: 'Plantedmessage',
  first_name: 'Plantedfirst',
  last_name: 'Plantedlast',
  email: 'planted@example.test',
  phone: '518-555-0199',
  dob: '1987-06-05',
  query: 'Plantedquery',
  receiver_token: 'plantedtoken',
  tracestate: 'plantedvendor',
};
const caller_trace = { trace_id: '0af7651916cd43dd8448eb211c80319c', span_id: 'b7ad6b7169203331' };
const traceparent = `00-${caller_trace.trace_id}-${caller_trace.span_id}-01`;

/** A telephone encounter whose first attempt fails, a new patient, a search and a rejected request. */
async function runRequests(api: Api): Promise<{ call_job: number; patient_job: number }> {
  await setFault(api, 'create_telephone_encounter', 'error_429');
  const { reason, caller, message } = planted;
  const headers = { traceparent, tracestate: `vendor=${planted.tracestate}`, 'idempotency-key': 'plantedkey' };
  const call = await api.callIn({ reason, caller, message }, headers);
  expect(call.status, JSON.stringify(call.body)).toBe(200);
  await untilFailedAttempt(api, call.body.job_id);
  await endPauses(product.owner);
  await api.untilEvent(call.body.job_id);
  const { first_name, last_name, email, phone, dob } = planted;
  const patient = await api.call('POST', '/v1/patients', {
    body: { first_name, last_name, email, phone, dob, sex: 'female' },
  });
  await api.untilEvent(patient.body.job_id);
  await api.call('GET', `/v1/patients?last_name=${planted.query}`);
  await api.call('POST', '/v1/patients', { body: { first_name: planted.query } });
  return { call_job: call.body.job_id, patient_job: patient.body.job_id };
}

let collector: Collector;
let product: Awaited<ReturnType<typeof spawnSandbox>>;
let running: TestProcess;
let secrets: string[];
let jobs: Awaited<ReturnType<typeof runRequests>>;
let shown: { request_trace_id: string; attempt_trace_id: string };
let spans: CollectedSpan[];

beforeAll(async () => {
  collector = await startCollector();
  const receiver = await startReceiver();
  product = await spawnSandbox({
    small: true,
    env: { LOG_LEVEL: 'info', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_METRIC_EXPORT_INTERVAL: '500' },
  });
  running = await product.start();
  const { sandbox, api } = await product.read();
  const webhook_url = `${receiver.url}?token=${planted.receiver_token}`;
  const { body: webhook } = await api.call('POST', '/v1/webhook', { body: { webhook_url } });
  jobs = await runRequests(api);
  await until('both webhooks', async () => receiver.received.length >= 2);
  const operator = await signInOperator({ sandbox });
  shown = (await operator.get(`clients/{client}/jobs/${jobs.call_job}`)).body.job;
  const { body: patient } = await api.call('GET', `/v1/webhook-events?job_id=${jobs.patient_job}`);
  secrets = [
    ...[sandbox.client_secret, sandbox.access_token, sandbox.example.patient_mrn, webhook.webhook_secret],
    ...[patient.webhook_events[0].data.mrn, sandbox.dashboard.password, sandbox.dashboard.email],
  ];
  // Stopping exports what is left, but only within a second.
  await until('the spans to be exported', async () => {
    const exported = (name: string) => collector.spans().filter((span) => span.name === name).length;
    return exported('POST /v1/patients') === 2 && exported('webhook telephone_encounter.created') === 1;
  });
  await running.stop();
  spans = collector.spans();
  await receiver.close();
});
afterAll(async () => {
  await product?.close();
  await collector?.close();
});

const named = (name: string) => spans.filter((span) => span.name === name);
function only(spans: CollectedSpan[]): CollectedSpan {
  const [span] = spans;
  if (!span || spans.length > 1) throw new Error(`Expected one span, not ${spans.length}.`);
  return span;
}
const below = (parent: CollectedSpan) => spans.filter(({ parent_id }) => parent_id === parent.span_id);
const toPosition = ({ trace_id, span_id }: CollectedSpan) => ({ trace_id, span_id });

describe('the traces of a write', () => {
  test('lead from the caller through the request and its acceptance to both attempts, their steps and EMR calls', () => {
    const request = only(named('POST /v1/telephone-encounters'));
    expect(request).toMatchObject({ trace_id: caller_trace.trace_id, parent_id: caller_trace.span_id, failed: false });
    expect(request.attributes).toMatchObject({
      'http.route': '/v1/telephone-encounters',
      'http.response.status_code': 200,
    });
    const accepted = only(named('accept telephone_encounter.create'));
    expect(accepted).toMatchObject({ trace_id: caller_trace.trace_id, parent_id: request.span_id });
    expect(accepted.attributes['chartwire.job_id']).toBe(jobs.call_job);

    const attempts = named('job telephone_encounter.create');
    expect(
      attempts.map(({ parent_id, links, attributes, failed }) => ({ parent_id, links, attributes, failed })),
    ).toMatchObject(
      [
        {
          attributes: { 'chartwire.attempt': 1, 'chartwire.job_state': 'retry', 'error.type': 'unavailable' },
          failed: true,
        },
        { attributes: { 'chartwire.attempt': 2, 'chartwire.job_state': 'succeeded' }, failed: false },
      ].map((each) => ({ ...each, parent_id: '', links: [toPosition(accepted)] })),
    );
    const [, second] = attempts;
    if (!second) throw new Error('There is no second attempt.');
    const step = only(below(second).filter(({ name }) => name === 'step create_encounter'));
    const operations = below(step);
    expect(new Set(operations.map(({ name }) => name))).toStrictEqual(new Set(['EMR createTelephoneEncounter']));
    expect(operations.flatMap(below).map(({ name, attributes }) => ({ name, attributes }))).toContainEqual({
      name: 'EMR POST',
      attributes: { 'http.request.method': 'POST', 'http.response.status_code': 201 },
    });
  });

  test('lead on to the webhook, which is linked to the attempt that sent the event', () => {
    const delivery = only(named('webhook telephone_encounter.created'));
    const last = named('job telephone_encounter.create').at(-1);
    expect(delivery.links).toStrictEqual(last && [toPosition(last)]);
    expect(delivery.attributes).toMatchObject({
      'http.response.status_code': 200,
      'chartwire.delivery_state': 'success',
    });
  });

  test('are named by the log lines and on the job page', () => {
    const lines = running
      .output()
      .split('\n')
      .flatMap((line): Record<string, unknown>[] => (line.startsWith('{') ? [JSON.parse(line)] : []));
    const last = named('job telephone_encounter.create').at(-1);
    expect(lines).toContainEqual(
      expect.objectContaining({
        msg: 'request',
        endpoint: 'telephone-encounters.create',
        trace_id: caller_trace.trace_id,
      }),
    );
    expect(lines).toContainEqual(
      expect.objectContaining({ msg: 'job finished', job_id: jobs.call_job, trace_id: last?.trace_id }),
    );
    expect(lines).toContainEqual(
      expect.objectContaining({
        msg: 'webhook attempted',
        trace_id: only(named('webhook telephone_encounter.created')).trace_id,
      }),
    );
    expect(shown).toMatchObject({
      request_trace_id: caller_trace.trace_id,
      attempt_trace_id: last?.trace_id,
    });
  });
});

test('nothing that is exported contains health data, a secret, a URL or a query', () => {
  expect(named('POST /v1/patients')).toHaveLength(2);
  expect(named('GET /v1/patients')).toHaveLength(1);
  const exported = collector.received.map(({ url, body }) => `${url} ${body}`).join('\n');
  expect(exported.length).toBeGreaterThan(10_000);
  const leaked = [...Object.values(planted), 'plantedkey', 'http://', '127.0.0.1', ...secrets].filter((text) =>
    exported.toLowerCase().includes(text.toLowerCase()),
  );
  expect(leaked).toStrictEqual([]);
});

test('the exported metrics have the names and values of /metrics', () => {
  const jobs_finished = collector.metric('chartwire_job_seconds');
  expect(jobs_finished.get('type=telephone_encounter.create,state=succeeded')).toBe(1);
  expect(collector.metric('chartwire_waiting').get('queue=parked')).toBe(0);
  expect(collector.metric('chartwire_job_retries_total').get('type=telephone_encounter.create,kind=unavailable')).toBe(
    1,
  );
  expect(collector.metric('process_resident_memory_bytes').get('')).toBeGreaterThan(1e6);
});
