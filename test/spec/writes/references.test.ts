import { randomUUID } from 'node:crypto';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { newClient } from '../../api/support.ts';
import { rejectedCall } from '../../dashboard/finishedCalls.ts';
import { newOperator, signInOperator } from '../../harness/operator.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { endPauses, until } from '../../journeys/support.ts';
import { type Charts, createCharts } from '../patients/charts.ts';
import { countAcceptedWork, tablesContaining } from '../support/databaseState.ts';
import { sendWrite, write_endpoints } from '../support/writeRequests.ts';

let fixture: TestSandbox;
let charts: Charts;
beforeAll(async () => {
  fixture = await sharedSandbox();
  charts = createCharts(fixture);
});
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

const list = (query: string, api = fixture.api) =>
  api.call('GET', `/v1/jobs?${query}`, { headers: { access_token: null } });
const byReference = async (reference: string, api = fixture.api) =>
  (await list(`reference=${encodeURIComponent(reference)}`, api)).body.jobs as { job_id: number; reference: string }[];

test(row('RFN-01', 'RFN-05'), async () => {
  expect(write_endpoints.length).toBeGreaterThanOrEqual(9);
  for (const endpoint of write_endpoints) {
    const reference = `écho "${endpoint.id}" #1`;
    const { status, body } = await sendWrite(fixture, endpoint, { fields: { reference } });
    expect([200, 202], `${endpoint.id}: ${JSON.stringify(body)}`).toContain(status);
    expect(body.reference, endpoint.id).toBe(reference);
    const [job] = await byReference(reference);
    expect(job, endpoint.id).toMatchObject({ reference });
    const event = await until(`the event of ${endpoint.id}`, async () => {
      const [stored] = await fixture.owner<
        { body: string }[]
      >`SELECT body FROM events WHERE job_id = ${job?.job_id ?? 0}`;
      return stored && JSON.parse(stored.body);
    });
    expect(event.reference, endpoint.id).toBe(reference);
    expect(event.data, endpoint.id).not.toHaveProperty('reference');
    const without = await sendWrite(fixture, endpoint);
    expect(without.body, endpoint.id).not.toHaveProperty('reference');
  }
  const { body } = await fixture.api.callIn();
  expect(await fixture.api.untilEvent(body.job_id)).not.toHaveProperty('reference');
});

test(row('RFN-02'), async () => {
  const before = await countAcceptedWork(fixture);
  for (const endpoint of write_endpoints) {
    const long = await sendWrite(fixture, endpoint, { fields: { reference: 'x'.repeat(101) } });
    expect([long.status, long.body.field], endpoint.id).toStrictEqual([400, 'reference']);
    if (endpoint.file_field !== undefined) continue;
    for (const reference of [5, true, ['a'], { a: 1 }]) {
      const { status, body } = await sendWrite(fixture, endpoint, { fields: { reference } });
      expect([status, body.field], `${endpoint.id} ${reference}`).toStrictEqual([400, 'reference']);
    }
    if (endpoint.method !== 'PATCH') continue;
    for (const reference of ['', '  ', null]) {
      const { status, body } = await sendWrite(fixture, endpoint, { fields: { reference } });
      expect([status, body.field], endpoint.id).toStrictEqual([400, 'reference']);
    }
  }
  expect(await countAcceptedWork(fixture)).toStrictEqual(before);
  expect((await fixture.api.callIn({ reference: 'x'.repeat(100) })).body.reference).toBe('x'.repeat(100));
  expect((await fixture.api.callIn({ reference: ' \t trimmed \u200b' })).body.reference).toBe('trimmed');
  for (const reference of ['', '   ', null]) {
    const { status, body } = await fixture.api.callIn({ reference });
    expect([status, body.reference]).toStrictEqual([200, undefined]);
  }
  for (const query of ['reference=', `reference=${'x'.repeat(101)}`, 'reference=a&reference=b']) {
    expect((await list(query)).status, query).toBe(400);
  }
});

test(row('RFN-03'), async () => {
  const { id, mrn } = await charts.created();
  const added = await charts.added(mrn);
  const before = await countAcceptedWork(fixture);
  const alone = { reference: 'alone' };
  for (const response of [
    await charts.patch(id, alone),
    await charts.change(mrn, added.data.emr_insurance_id, alone),
  ]) {
    expect([response.status, response.body.code]).toStrictEqual([400, 'no_field']);
  }
  expect(await countAcceptedWork(fixture)).toStrictEqual(before);
});

test(row('RFN-04'), async () => {
  const reference = `twice ${randomUUID()}`;
  const [first, second] = [await fixture.api.callIn({ reference }), await fixture.api.callIn({ reference })];
  const ids = [second, first].map(({ body }) => body.job_id);
  expect((await byReference(reference)).map(({ job_id }) => job_id)).toStrictEqual(ids);
  expect((await byReference(reference.toUpperCase())).length).toBe(0);
  expect(await byReference(reference, (await newClient(fixture)).api)).toStrictEqual([]);
  expect((await fixture.api.job(ids[0])).reference).toBe(reference);
  const paged = await list(`reference=${encodeURIComponent(reference)}&page_size=1`);
  expect([paged.body.jobs.length, paged.body.next]).toStrictEqual([1, String(ids[0])]);
  const { body } = await fixture.api.callIn();
  expect((await fixture.api.job(body.job_id)).reference).toBeNull();
  const newest = await list('page_size=1');
  expect(newest.body.jobs).toMatchObject([{ job_id: body.job_id, reference: null }]);
});

test(row('RFN-06'), async () => {
  const headers = { 'idempotency-key': randomUUID() };
  const [reference, other] = ['first', 'second'];
  const first = await fixture.api.callIn({ reference }, headers);
  const again = await fixture.api.callIn({ reference }, headers);
  expect([again.status, again.headers.get('idempotency-replayed')]).toStrictEqual([200, 'true']);
  expect(again.body).toStrictEqual(first.body);
  for (const fields of [{ reference: other }, {}]) {
    expect((await fixture.api.callIn(fields, headers)).status).toBe(422);
  }
  const { id } = await charts.created();
  const patch = (fields: Record<string, unknown>) =>
    fixture.api.call('PATCH', `/v1/patients/${id}`, { body: { phone: '518-555-0160', ...fields }, headers });
  await fixture.owner`DELETE FROM idempotency_keys`;
  const changed = await patch({ reference });
  expect((await patch({ reference })).body).toStrictEqual(changed.body);
  expect((await patch({ reference: other })).status).toBe(422);
});

test(row('RFN-07'), async () => {
  const pending = await charts.pending({ reference: 'creation' });
  const merged = await charts.patch(pending.id, { phone: '518-555-0170', reference: 'merged' });
  expect(merged.body).toMatchObject({ reference: 'merged' });
  expect(merged.body).not.toHaveProperty('job_id');
  await endPauses(fixture.owner);
  expect(await fixture.api.untilEvent(pending.job_id)).toMatchObject({
    type: 'patient.created',
    reference: 'creation',
  });

  const running = await charts.inProgress({ reference: 'creation' });
  await charts.patch(running.id, { phone: '518-555-0171', reference: 'earlier' });
  const last = `last ${randomUUID()}`;
  await charts.patch(running.id, { email: 'last@example.org', reference: last });
  expect(await fixture.api.untilEvent(running.job_id)).toMatchObject({
    type: 'patient.created',
    reference: 'creation',
  });
  const [update] = await byReference(last);
  expect(await fixture.api.untilEvent(update?.job_id ?? 0)).toMatchObject({ type: 'patient.updated', reference: last });
});

test(row('RFN-08'), async () => {
  const failed = await charts.failed({ reference: 'creation' });
  expect(failed.event.reference).toBe('creation');
  const changed = await charts.patch(failed.id, { phone: '518-555-0180', reference: 'second run' });
  expect(await charts.outcome(changed)).toMatchObject({ type: 'patient.created', reference: 'second run' });
  expect((await fixture.api.job(failed.job_id)).reference).toBe('creation');
});

test(row('RFN-09'), async () => {
  const { job_id } = await rejectedCall(fixture, { reference: 'run twice' });
  const { body } = await fixture.api.call('POST', `/v1/jobs/${job_id}/run-again`, { body: {} });
  expect(await fixture.api.untilEvent(body.job_id)).toMatchObject({ reference: 'run twice' });
});

test(row('RFN-10'), async () => {
  // Erasure and logs: test/erasure (its patients have a reference), test/tenancy/secrets.test.ts.
  const reference = `only-${randomUUID()}`;
  const { body } = await fixture.api.callIn({ reference });
  await fixture.api.untilEvent(body.job_id);
  await byReference(reference);
  await fixture.api.job(body.job_id);
  expect(await tablesContaining(fixture, reference)).toStrictEqual(['events', 'jobs']);
});

test(row('RFN-11'), async () => {
  const reference = `shown ${randomUUID()}`;
  const { job_id } = (await fixture.api.callIn({ reference })).body;
  await fixture.api.untilEvent(job_id);
  const owner = await signInOperator(fixture);
  const search = await owner.post('clients/{client}/jobs/search', { reference });
  expect(search.body.rows.map((each: { job_id: number }) => each.job_id)).toStrictEqual([job_id]);
  const none = await owner.post('clients/{client}/jobs/search', { reference, mrn: 'NOBODY' });
  expect(none.body.rows).toStrictEqual([]);
  expect((await owner.post('clients/{client}/jobs/search', { reference: '' })).status).toBe(400);
  const listed = await owner.post('clients/{client}/jobs/patients', { job_ids: [job_id] });
  expect(listed.body.patients).toMatchObject([{ reference }]);
  expect((await owner.get(`clients/{client}/jobs/${job_id}`)).body.job.reference).toBe(reference);
  const support = await newOperator(fixture, 'support');
  expect(JSON.stringify((await support.get(`clients/{client}/jobs/${job_id}`)).body)).not.toContain(reference);
  const hidden = await support.post('clients/{client}/jobs/patients', { job_ids: [job_id] });
  expect(JSON.stringify(hidden.body)).not.toContain(reference);
  expect((await support.post('clients/{client}/jobs/search', { reference })).status).toBe(403);
});
