import { beforeAll, beforeEach, expect, test } from 'vitest';
import { createStamp } from '../../../src/product/audit/auditRecords.ts';
import { apiAs, expectApiError, expectSchema, newClient } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { endPauses } from '../../journeys/support.ts';
import { type Charts, createCharts } from './charts.ts';

let fixture: TestSandbox;
let charts: Charts;
beforeAll(async () => {
  fixture = await sharedSandbox();
  charts = createCharts(fixture);
});
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

const get = (id: string, api = fixture.api) => api.call('GET', `/v1/patients/${id}`);

test(row('BYI-01'), async () => {
  const { id, job_id } = await charts.pending({ phone: '518-555-0107' });
  const waiting = await get(id);
  expectSchema('patients.get', waiting);
  expect(waiting.body.patient).toMatchObject({ id, status: 'pending', ehr_id: null, mrn: null, phone: '518-555-0107' });
  await endPauses(fixture.owner);
  const event = await fixture.api.untilEvent(job_id);
  const created = await get(id);
  expectSchema('patients.get', created);
  const { patient } = created.body;
  expect(patient).toMatchObject({ id, status: 'active', mrn: event.data.mrn, failure_reason: null });
  const chart = await charts.chart(patient.mrn);
  expect(patient.ehr_id).toBe(chart.patientId);
  const { failure_reason: _reason, ...fields } = patient;
  expect(fields).toStrictEqual(await charts.listed(id));
});

test(row('BYI-02'), async () => {
  const { id } = await charts.failed();
  const failed = await get(id);
  expectSchema('patients.get', failed);
  expect(failed.body.patient).toMatchObject({ status: 'failed', failure_reason: 'The desk is closed.', mrn: null });
  const again = await charts.patch(id, { phone: '518-555-0108' });
  await fixture.api.untilEvent(again.body.job_id);
  expect((await get(id)).body.patient).toMatchObject({ status: 'active', failure_reason: null, phone: '518-555-0108' });
});

test(row('BYI-03'), async () => {
  const { id, mrn } = await charts.created();
  for (const unknown of ['0'.repeat(32), mrn, 'x', `${id}0`]) {
    expectApiError(await get(unknown), 404, `Patient with ID '${unknown}' not found.`, 'id');
  }
  const client = await newClient(fixture);
  const foreign = apiAs(fixture, {
    ...client,
    access_token: await client.api.link({ user_id: 'by-id', org_id: 'by-id', staff: 1 }),
  });
  const second = apiAs(fixture, {
    access_token: await fixture.api.link({ user_id: 'by-id', org_id: 'by-id', staff: 2 }),
  });
  for (const api of [foreign, second]) {
    expectApiError(await get(id, api), 404, `Patient with ID '${id}' not found.`, 'id');
  }
  const response = await get(id);
  const request_id = response.headers.get('x-request-id');
  const [record] = await fixture.owner<{ patients: string[] | null; client_id: string }[]>`
    SELECT patients::text[] AS patients, client_id FROM audit_records WHERE request_id = ${request_id ?? ''}`;
  expect(record?.patients).toStrictEqual([createStamp(fixture.ctx.system_keys).mark(record?.client_id ?? '', mrn)]);
});
