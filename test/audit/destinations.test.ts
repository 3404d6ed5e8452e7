import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { formatDestination } from '../../src/platform/security/outbound.ts';
import { signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { respondWith, startReceiver } from '../harness/servers/receiver.ts';
import { until } from '../journeys/support.ts';

let fixture: TestSandbox;
let operator: TestOperator;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  operator = await signInOperator(fixture);
});
afterAll(() => fixture.close());

type Recorded = { action: string; outcome: string; subject: string | null; detail: Record<string, unknown> | null };

/** The audit record of a request. */
async function readRecord(response: {
  status: number;
  headers: Headers;
  body: unknown;
}): Promise<Recorded | undefined> {
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  const [record] = await fixture.owner<Recorded[]>`SELECT action, outcome, subject, detail FROM audit_records
    WHERE request_id = ${response.headers.get('x-request-id')}`;
  return record;
}

const as_client = { access_token: null };
const register = (body: object) => fixture.api.call('POST', '/v1/webhook', { body, headers: as_client });

describe('a URL in the audit log', () => {
  test.each([
    ['https://hooks.example.org/in', 'https://hooks.example.org/in'],
    ['https://user:password@hooks.example.org/in', 'https://hooks.example.org/in'],
    ['https://hooks.example.org/in?token=abc&b=1#part', 'https://hooks.example.org/in'],
    [
      'https://hooks.example.org/services/T024BE7LD/kQ3vX9wZr7Yb2LmN0pAs',
      'https://hooks.example.org/services/T024BE7LD/***',
    ],
    ['https://example.org/0f1e2d3c4b5a69788796a5b4c3d2e1f0/in', 'https://example.org/***/in'],
    ['https://example.org/chartwire-notifications/patients', 'https://example.org/chartwire-notifications/patients'],
    ['https://app.example.org', 'https://app.example.org'],
    ['*.example.org', '*.example.org'],
  ])('%s is shown as %s', (url, shown) => {
    expect(formatDestination(url)).toBe(shown);
  });
});

describe('the record of a change says where data went before and goes now', () => {
  test('the record of a change of a webhook endpoint says where data went before and goes now', async () => {
    const created = await register({ webhook_url: 'https://one.example.org/in?key=5', event_types: ['sync.failed'] });
    const { webhook_id } = created.body;
    const url = 'https://one.example.org/in';
    expect(await readRecord(created)).toMatchObject({
      subject: webhook_id,
      detail: {
        destinations: [{ kind: 'webhook', old: null, new: url }],
        event_types: { old: null, new: ['sync.failed'] },
      },
    });
    expect((await readRecord(await register({ webhook_url: 'https://one.example.org/in?key=5' })))?.detail).toEqual({
      url,
    });

    const at = `clients/{client}/webhooks/${webhook_id}`;
    const moved = await operator.patch(at, { webhook_url: 'https://two.example.org/in' });
    expect((await readRecord(moved))?.detail).toEqual({
      url: 'https://two.example.org/in',
      destinations: [{ kind: 'webhook', old: url, new: 'https://two.example.org/in' }],
    });
    const filtered = await operator.patch(at, { event_types: ['sync.completed'] });
    expect((await readRecord(filtered))?.detail).toEqual({
      url: 'https://two.example.org/in',
      event_types: { old: ['sync.failed'], new: ['sync.completed'] },
    });
    const status = { old: 'enabled', new: 'disabled' };
    expect((await readRecord(await operator.post(`${at}/disable`)))?.detail).toMatchObject({ status });
    expect((await readRecord(await operator.post(`${at}/enable`)))?.detail).toMatchObject({
      status: { old: 'disabled', new: 'enabled' },
    });
    expect((await readRecord(await operator.post(`${at}/rotate-secret`, { immediately: true })))?.detail).toEqual({
      url: 'https://two.example.org/in',
      secret: 'rotated',
      immediately: true,
    });
    const path = `/v1/webhook/${webhook_id}`;
    const rotated = await fixture.api.call('POST', `${path}/rotate-secret`, { body: {}, headers: as_client });
    expect(await readRecord(rotated)).toMatchObject({
      subject: webhook_id,
      detail: { url: 'https://two.example.org/in', secret: 'rotated', immediately: false },
    });
    const deleted = await fixture.api.call('DELETE', path, { headers: as_client });
    expect(await readRecord(deleted)).toMatchObject({
      subject: webhook_id,
      detail: { destinations: [{ kind: 'webhook', old: 'https://two.example.org/in', new: null }] },
    });
  });

  test('the record of a change of callback URLs or frame origins says where data went before and goes now', async () => {
    const { client } = (await operator.get('clients/{client}')).body;
    onTestFinished(
      async () => void (await operator.patch('clients/{client}', { callback_urls: client.callback_urls })),
    );
    const added = { callback_urls: [...client.callback_urls, 'https://new.example.org/done'] };
    const response = await operator.patch('clients/{client}', { ...added, frame_origins: ['https://app.example.org'] });
    expect((await readRecord(response))?.detail).toEqual({
      changed: ['callback_urls', 'frame_origins'],
      destinations: [
        { kind: 'callback_url', old: null, new: 'https://new.example.org/done' },
        { kind: 'frame_origin', old: null, new: 'https://app.example.org' },
      ],
    });
    const removed = await operator.patch('clients/{client}', { frame_origins: [] });
    expect((await readRecord(removed))?.detail).toMatchObject({
      destinations: [{ kind: 'frame_origin', old: 'https://app.example.org', new: null }],
    });
  });

  test('the records of a link to a new EMR and of the linked organization say where data went before and goes now', async () => {
    const { larkspur, org_id } = fixture.sandbox;
    const emr = new URL(larkspur.url).origin;
    const link = (org: string) =>
      fixture.api.call('POST', '/link/token/create', {
        body: { user_id: 'someone', org_id: org, emr_name: 'larkspur', emr_instance_domain: larkspur.url },
        headers: as_client,
      });
    const destinations = [{ kind: 'emr', old: null, new: emr }];
    expect((await readRecord(await link('new-practice')))?.detail).toEqual({
      ...{ org_id: 'new-practice', emr_address: emr, destinations },
    });
    expect((await readRecord(await link(org_id)))?.detail).toEqual({ org_id, emr_address: emr });

    await fixture.api.link({ user_id: 'someone', org_id: 'new-practice', staff: 7 });
    const [linked] = await fixture.owner`SELECT detail FROM audit_records
      WHERE action = 'account.link' ORDER BY id DESC LIMIT 1`;
    expect(linked?.detail).toMatchObject({ org_id: 'new-practice', emr_address: emr, destinations });
  });
});

describe('a delivered event', () => {
  const deliveriesTo = (webhook_id: string) =>
    fixture.owner<Recorded[]>`SELECT action, outcome, subject, detail, cardinality(patients) AS patients, job_id
      FROM audit_records WHERE action = 'webhook.deliver' AND subject = ${webhook_id} ORDER BY id`;

  test('leaves one record with its patients, endpoint, host and outcome, which outlives the endpoint', async () => {
    const receiver = await startReceiver();
    onTestFinished(receiver.close);
    const { webhook_id } = (await register({ webhook_url: `${receiver.url}?key=secret` })).body;
    const { job_id } = (await fixture.api.callIn()).body;
    const { event_id } = await fixture.api.untilEvent(job_id);
    await until('the delivery', async () => (await deliveriesTo(webhook_id)).length > 0);
    await fixture.api.call('DELETE', `/v1/webhook/${webhook_id}`, { headers: as_client });
    expect(await deliveriesTo(webhook_id)).toMatchObject([
      {
        ...{ outcome: '200', patients: 1, job_id },
        detail: {
          ...{ event_id, event_type: 'telephone_encounter.created', attempt: 1 },
          host: new URL(receiver.url).host,
        },
      },
    ]);
  });

  test('is found by the patient’s MRN', async () => {
    const mrn = fixture.sandbox.example.patient_mrn;
    const { rows } = (await operator.post('audit/search', { patient_mrn: mrn, action: 'webhook.deliver' })).body;
    expect(rows).toHaveLength(1);
  });

  test('leaves one record of the failed attempts by which the host received it, and one of the success', async () => {
    const receiver = await startReceiver(respondWith(500));
    onTestFinished(receiver.close);
    const { webhook_id } = (await register({ webhook_url: receiver.url })).body;
    const { job_id } = (await fixture.api.callIn()).body;
    const attempts = async () => {
      const [row] = await fixture.owner<{ attempts: number }[]>`SELECT attempts FROM deliveries
        JOIN events ON events.id = event_id WHERE job_id = ${job_id} AND endpoint_id = ${webhook_id}`;
      return row?.attempts ?? 0;
    };
    for (const number of [1, 2]) {
      await until(`attempt ${number}`, async () => (await attempts()) === number);
      if (number === 2) receiver.respond = respondWith(204);
      await operator.post(`clients/{client}/webhooks/${webhook_id}/send-waiting`);
    }
    await until('the success', async () => (await deliveriesTo(webhook_id)).length === 2);
    expect(await deliveriesTo(webhook_id)).toMatchObject([
      { outcome: '500', detail: { attempt: 1 } },
      { outcome: '204', detail: { attempt: 3 } },
    ]);
    await fixture.api.call('DELETE', `/v1/webhook/${webhook_id}`, { headers: as_client });
  });

  test('leaves no record if nothing can have been sent', async () => {
    const { webhook_id } = (await register({ webhook_url: 'http://127.0.0.1:9/hook' })).body;
    const { job_id } = (await fixture.api.callIn()).body;
    await until('a failed attempt', async () => {
      const [row] = await fixture.owner`SELECT FROM delivery_attempts JOIN deliveries ON deliveries.id = delivery_id
        JOIN events ON events.id = event_id WHERE job_id = ${job_id} AND endpoint_id = ${webhook_id}`;
      return row !== undefined;
    });
    expect(await deliveriesTo(webhook_id)).toHaveLength(0);
    await fixture.api.call('DELETE', `/v1/webhook/${webhook_id}`, { headers: as_client });
  });
});
