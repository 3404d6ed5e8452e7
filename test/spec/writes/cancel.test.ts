import { randomUUID } from 'node:crypto';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { parkJobs } from '../../../src/product/jobs/park.ts';
import { apiAs, newClient } from '../../api/support.ts';
import { finishedCall } from '../../dashboard/finishedCalls.ts';
import type { Api } from '../../harness/api.ts';
import { newOperator, signInOperator } from '../../harness/operator.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { setFault, until } from '../../journeys/support.ts';
import { type Charts, createCharts } from '../patients/charts.ts';
import { withJobsPaused } from '../support/pauseJobs.ts';
import { sendWrite, write_endpoints } from '../support/writeRequests.ts';

let fixture: TestSandbox;
let charts: Charts;
beforeAll(async () => {
  fixture = await sharedSandbox();
  charts = createCharts(fixture);
});
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

const cancel = (job_id: number, api: Api = fixture.api, headers: Record<string, string | null> = {}) =>
  api.call('POST', `/v1/jobs/${job_id}/cancel`, { body: {}, headers });

test(row('CAN-01'), async () => {
  const before = (await fixture.api.ledger()).length;
  for (const endpoint of write_endpoints) {
    const reference = randomUUID();
    const job_id = await withJobsPaused(fixture, async () => {
      const { body } = await sendWrite(fixture, endpoint, { fields: { reference } });
      expect(body.success, `${endpoint.id}: ${JSON.stringify(body)}`).toBe(true);
      const [job] = await fixture.owner<{ id: number }[]>`SELECT id FROM jobs WHERE reference = ${reference}`;
      const response = await cancel(job?.id ?? 0);
      expect(response.body, endpoint.id).toStrictEqual({ success: true, job_id: job?.id, status: 'cancelled' });
      return job?.id ?? 0;
    });
    const job = await fixture.api.job(job_id);
    expect(job, endpoint.id).toMatchObject({ status: 'cancelled', error: { code: 'cancelled' }, attempts: 0 });
    expect(job.finished_at).not.toBeNull();
    const [stored] = await fixture.owner<{ body: string }[]>`SELECT body FROM events WHERE job_id = ${job_id}`;
    const event = JSON.parse(stored?.body ?? '{}');
    expect(endpoint.events, endpoint.id).toContain(event.type);
    expect(event.type, endpoint.id).toMatch(/failed$/);
    expect(event, endpoint.id).toMatchObject({ id: job.event_id, reference });
    expect(event.data.failure_reason ?? event.data.error, endpoint.id).toBe(job.error.message);
    if (event.data.reasons) expect(event.data.reasons).toMatchObject([{ code: 'cancelled' }]);
  }
  expect((await fixture.api.ledger()).length).toBe(before);
  expect((await fixture.owner`SELECT FROM uploads`).length).toBe(0);
});

test(row('CAN-02'), async () => {
  const [created, active] = [await charts.created(), await charts.created({ phone: '518-555-0120' })];
  await withJobsPaused(fixture, async () => {
    const { body } = await charts.create();
    await cancel(body.job_id);
    expect((await charts.listed(body.patient_id)).status).toBe('failed');
    const first = await charts.patch(active.id, { phone: '518-555-0121' });
    const second = await charts.patch(active.id, { phone: '518-555-0122' });
    await cancel(first.body.job_id);
    expect((await charts.listed(active.id)).status).toBe('pending_update');
    await cancel(second.body.job_id);
    expect(await charts.listed(active.id)).toMatchObject({ status: 'active', phone: '518-555-0120' });
  });
  expect((await charts.chart(created.mrn)).mrn).toBe(created.mrn);
});

test(row('CAN-03'), async () => {
  const { mrn } = await charts.created();
  const queued = await withJobsPaused(fixture, async () => {
    const [first, second] = [
      await fixture.api.callIn({ patient_mrn: mrn }),
      await fixture.api.callIn({ patient_mrn: mrn, reason: 'The next one' }),
    ];
    await cancel(first.body.job_id);
    return second.body.job_id;
  });
  expect((await fixture.api.untilEvent(queued)).type).toBe('telephone_encounter.created');
  // A first attempt that never reached the EMR, and now waits for an hour.
  await setFault(fixture.api, 'list_patients', 'error_500', { times: 1000 });
  const waiting = await fixture.api.callIn({ patient_mrn: mrn });
  await until('the pause', async () => {
    const rows = await fixture.owner`UPDATE lanes SET ready_at = now() + interval '1 hour'
      WHERE ready_at > now() AND key = (SELECT lane FROM jobs WHERE id = ${waiting.body.job_id}) RETURNING key`;
    return rows.length > 0;
  });
  await fixture.api.control('DELETE', '/control/faults');
  const next = await fixture.api.callIn({ patient_mrn: mrn });
  expect((await cancel(waiting.body.job_id)).status).toBe(200);
  expect((await fixture.api.untilEvent(next.body.job_id)).type).toBe('telephone_encounter.created');
});

test(row('CAN-04'), async () => {
  const user_id = `cancel-${randomUUID()}`;
  const access_token = await fixture.api.link({ user_id, staff: 6 });
  const api = apiAs(fixture, { access_token });
  const job_id = await withJobsPaused(fixture, async () => {
    const { body } = await api.callIn();
    const [account] = await fixture.owner<{ id: string; client_id: string }[]>`
      UPDATE accounts SET status = 'login_required' WHERE user_id = ${user_id} RETURNING id, client_id`;
    await fixture.ctx.db.tenant(account?.client_id ?? '', (tx) => parkJobs(tx, account?.id ?? ''));
    await fixture.owner`UPDATE jobs SET parked_since = now() - interval '1 minute' WHERE parked`;
    return body.job_id;
  });
  expect((await cancel(job_id, api, { access_token: null })).status).toBe(200);
  await fixture.api.link({ user_id, staff: 6, access_token });
  expect((await api.job(job_id)).status).toBe('cancelled');
  const [stored] = await fixture.owner`SELECT parked, parked_ms > 59000 AS waited FROM jobs WHERE id = ${job_id}`;
  expect(stored).toMatchObject({ parked: false, waited: true });
});

test(row('CAN-05'), async () => {
  const finished = await finishedCall(fixture);
  const running = await charts.inProgress();
  const retried = await charts.pending();
  for (const job_id of [finished.job_id, running.job_id, retried.job_id]) {
    const before = await fixture.owner`SELECT state, finished_at FROM jobs WHERE id = ${job_id}`;
    const { status, body } = await cancel(job_id);
    expect([status, body.code]).toStrictEqual([409, 'job_started']);
    if (job_id !== running.job_id) {
      expect(await fixture.owner`SELECT state, finished_at FROM jobs WHERE id = ${job_id}`).toStrictEqual(before);
    }
  }
  expect((await charts.listed(retried.id)).status).toBe('pending');
  expect((await fixture.api.untilEvent(running.job_id)).type).toBe('patient.created');
  await withJobsPaused(fixture, async () => {
    const { body } = await fixture.api.callIn();
    expect((await cancel(body.job_id)).status).toBe(200);
    expect((await cancel(body.job_id)).body.code).toBe('job_started');
  });
  await fixture.owner`UPDATE lanes SET ready_at = now()`;
  expect((await fixture.api.untilEvent(retried.job_id)).type).toBe('patient.created');
});

test(row('CAN-06'), async () => {
  const other = await newClient(fixture);
  const access_token = await fixture.api.link({ user_id: `cancel-${randomUUID()}`, staff: 5 });
  await withJobsPaused(fixture, async () => {
    const { job_id } = (await fixture.api.callIn()).body;
    for (const response of [
      await cancel(job_id, other.api, { access_token: null }),
      await cancel(job_id, apiAs(fixture, { access_token })),
      await cancel(999_999_999),
      await fixture.api.call('POST', '/v1/jobs/x/cancel', { body: {} }),
    ]) {
      expect([response.status, response.body.code]).toStrictEqual([404, 'record_not_found']);
    }
    expect((await cancel(job_id, fixture.api, { access_token: null })).status).toBe(200);
  });
});

test(row('CAN-07'), async () => {
  const { id } = await charts.created();
  const again = (job_id: number) => fixture.api.call('POST', `/v1/jobs/${job_id}/run-again`, { body: {} });
  const [first, second] = await withJobsPaused(fixture, async () => {
    const jobs = [
      (await charts.patch(id, { phone: '518-555-0131' })).body.job_id,
      (await charts.patch(id, { phone: '518-555-0132' })).body.job_id,
    ];
    for (const job_id of jobs) await cancel(job_id);
    return jobs;
  });
  const rerun = await again(first);
  expect((await fixture.api.untilEvent(rerun.body.job_id)).type).toBe('patient.updated');
  expect((await charts.listed(id)).phone).toBe('518-555-0131');
  expect((await again(first)).status).toBe(409);
  expect((await fixture.api.untilEvent((await again(second)).body.job_id)).type).toBe('patient.updated');
});

test(row('CAN-08'), async () => {
  const sent = await Promise.all(
    Array.from({ length: 24 }, async (_, n) => {
      const { body } = await fixture.api.callIn({ patient_mrn: `LK10000${(n % 4) + 1}` });
      const { status } = await cancel(body.job_id);
      return { job_id: body.job_id, id: body.telephone_encounter_id, status };
    }),
  );
  for (const { job_id, id, status } of sent) {
    const event = await fixture.api.untilEvent(job_id);
    const written = (await fixture.api.ledger()).filter(({ marker, applied }) => applied && marker?.startsWith(id));
    if (status === 200) expect([event.type, written.length]).toStrictEqual(['telephone_encounter.failed', 0]);
    else expect([status, event.type, written.length]).toStrictEqual([409, 'telephone_encounter.created', 1]);
  }
});

test(row('CAN-09'), async () => {
  const { job_id } = await withJobsPaused(fixture, async () => {
    const { body } = await fixture.api.call('POST', '/v1/sync', { body: {} });
    expect((await cancel(body.job_id)).status).toBe(200);
    return body;
  });
  const event = await fixture.api.untilEvent(job_id);
  expect(event).toMatchObject({ type: 'sync.failed', data: { reasons: [{ code: 'cancelled' }] } });
  await fixture.api.sync();
});

test(row('CAN-10'), async () => {
  const support = await newOperator(fixture, 'support');
  const owner = await signInOperator(fixture);
  await withJobsPaused(fixture, async () => {
    const { job_id } = (await fixture.api.callIn()).body;
    const path = `clients/{client}/jobs/${job_id}/cancel`;
    expect((await support.post(path)).status).toBe(403);
    expect((await owner.post(path)).status).toBe(200);
    expect((await owner.post(path)).body.code).toBe('job_started');
    expect((await owner.get(`clients/{client}/jobs/${job_id}`)).body.job.state).toBe('cancelled');
    for (const filter of ['state=cancelled', 'code=cancelled']) {
      const { rows } = (await owner.get(`clients/{client}/jobs?${filter}`)).body;
      expect(rows[0], filter).toMatchObject({ job_id, state: 'cancelled', error_code: 'cancelled' });
    }
    const listed = await fixture.api.call('GET', '/v1/jobs?status=cancelled', { headers: { access_token: null } });
    expect(listed.body.jobs[0]).toMatchObject({ job_id, status: 'cancelled' });
  });
});

test(row('CAN-11'), async () => {
  const target = await charts.created();
  const start = new Date(Date.now() + 400 * 86_400_000).toISOString().slice(0, 10);
  const body = { mrn: 'LK100002', location: '11', provider: '501', type: 'OV', datetime: `${start}T15:00:00Z` };
  await withJobsPaused(fixture, async () => {
    const booked = (await fixture.api.call('POST', '/v1/appointments', { body })).body;
    const { changed, cancelled } = await fixture.owner.begin(async (tx) => {
      await tx`SELECT FROM appointments WHERE id = ${booked.appointment_id} FOR UPDATE`;
      const untilWaiting = (count: number) =>
        until(`${count} requests to wait for the appointment`, async () => {
          const waiting = await tx`SELECT FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event IN ('transactionid', 'tuple')`;
          return waiting.length === count;
        });
      const changed = fixture.api.call('PATCH', `/v1/appointments/${booked.appointment_id}`, {
        body: { mrn: target.mrn },
      });
      await untilWaiting(1);
      const cancelled = cancel(booked.job_id);
      await untilWaiting(2);
      // Not awaited here: both wait for the end of this transaction.
      return { changed: [changed], cancelled: [cancelled] };
    });
    expect((await changed[0])?.status).toBe(200);
    expect((await cancelled[0])?.status).toBe(200);
    const [stored] = await fixture.owner<{ body: string }[]>`SELECT body FROM events WHERE job_id = ${booked.job_id}`;
    expect(JSON.parse(stored?.body ?? '{}')).toMatchObject({
      type: 'appointment.failed',
      data: { mrn: target.mrn, reasons: [{ code: 'cancelled' }] },
    });
  });
});
