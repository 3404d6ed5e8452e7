import { beforeAll, beforeEach, expect, test } from 'vitest';
import { dereference } from '../../../src/http/openapi/describeSchema.ts';
import type { ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { endPauses, until } from '../../journeys/support.ts';
import { type Charted, type Charts, createCharts, type Fields, type Row } from './charts.ts';
import { completePatient } from './completePatient.ts';

let fixture: TestSandbox;
let charts: Charts;
beforeAll(async () => {
  fixture = await sharedSandbox();
  charts = createCharts(fixture);
});
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

const states = ['pending', 'failed'] as const;
type Amended = Charted & { response: ApiResponse };

/** Updates a patient that has no chart yet, and returns the chart that its creation makes. */
async function amend(state: (typeof states)[number], changes: Fields, before: Fields = {}): Promise<Amended> {
  const { id, job_id } = await charts[state](before);
  expect((await charts.listed(id)).status).toBe(state);
  const response = await charts.patch(id, changes);
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  await endPauses(fixture.owner);
  const event = await fixture.api.untilEvent(response.body.job_id ?? job_id);
  expect(event, JSON.stringify(event)).toMatchObject({ event_type: 'patient.created', data: { patient_id: id } });
  const { mrn } = event.data;
  return { id, mrn, response, chart: await charts.chart(mrn) };
}
const amendBoth = (changes: Fields, before: Fields, check: (amended: Amended) => unknown) =>
  states.reduce(async (earlier, state) => {
    await earlier;
    await check(await amend(state, changes, before));
  }, Promise.resolve());

test(row('PAU-04'), async () => {
  const plain = { success: true, message: expect.any(String) };
  const pending = await charts.pending();
  expect((await charts.patch(pending.id, { phone: '518-555-0104' })).body).toStrictEqual(plain);
  await endPauses(fixture.owner);
  await fixture.api.untilEvent(pending.job_id);
  const failed = await charts.failed();
  const active = await charts.created();
  for (const { id } of [failed, active]) {
    const { status, body } = await charts.patch(id, { phone: '518-555-0104' });
    expect(status).toBe(200);
    expect(body).toStrictEqual({ ...plain, job_id: expect.any(Number) });
    await fixture.api.untilEvent(body.job_id);
  }
});

test(row('PAU-05'), async () => {
  const pending = await charts.pending();
  const failed = await charts.failed();
  const active = await charts.created();
  for (const { id } of [pending, failed, active]) {
    const { status, body } = await charts.patch(id, { phone: '518-555-0105' });
    expect(status).toBe(200);
    expect(body.message).toMatch(/update.*queued/);
    if (body.job_id !== undefined) await fixture.api.untilEvent(body.job_id);
  }
  await endPauses(fixture.owner);
  await fixture.api.untilEvent(pending.job_id);
});

test(row('PAU-06'), async () => {
  const address = { address_street: '6 Amended Street', address_line2: 'Unit 6', address_city: 'Amendton' };
  const before = { ...{ address_street: '5 First Street', address_line2: 'Unit 5', address_city: 'Firstton' } };
  await amendBoth(
    { ...address, address_state: 'VT', address_zip: '05001-0006' },
    { ...before, address_state: 'NY', address_zip: '12999' },
    ({ chart }) =>
      expect(chart.address).toStrictEqual({
        ...{ line1: '6 Amended Street', line2: 'Unit 6', city: 'Amendton', state: 'VT', zip: '05001-0006' },
      }),
  );
});

test(row('PAU-07'), async () => {
  for (const [n, [sex, sexCode]] of Object.entries({ male: 'M', female: 'F', unknown: 'U' }).entries()) {
    const changes = { first_name: 'Amended', last_name: 'Seventh', sex };
    for (const [m, state] of states.entries()) {
      const day = `2001-0${n + 1}-0${m + 1}`;
      const { chart } = await amend(state, { ...changes, dob: day }, { sex: sex === 'male' ? 'female' : 'male' });
      const [year, month, date] = day.split('-');
      expect(chart).toMatchObject({
        ...{ firstName: 'Amended', lastName: 'Seventh', birthDate: `${month}/${date}/${year}`, sexCode },
      });
    }
  }
});

test(row('PAU-08'), async () => {
  await amendBoth(
    { phone: '518-555-0181', cell_phone: '518-555-0182', email: 'new@example.test' },
    { phone: '518-555-0108', cell_phone: '518-555-0109', email: 'old@example.test' },
    ({ chart }) =>
      expect(chart).toMatchObject({
        ...{ homePhone: '518-555-0181', cellPhone: '518-555-0182', email: 'new@example.test' },
      }),
  );
});

test(row('PAU-09'), async () => {
  for (const [insurance_sequence, priority] of Object.entries({ primary: 1, secondary: 2, tertiary: 3 })) {
    await amendBoth(
      { insurance_name: 'Synthetic Blue', insurance_sequence, insurance_subscriber_number: 'NEW' },
      { insurance_name: 'Mock Mutual', insurance_subscriber_number: 'OLD' },
      async ({ chart }) =>
        expect(await charts.insurances(chart)).toMatchObject([
          { companyName: 'Synthetic Blue', subscriberNumber: 'NEW', priority },
        ]),
    );
  }
});

test(row('PAU-10'), async () => {
  const before = {
    referred_to_provider_id: '501',
    referring_provider_first_name: 'Some',
    referring_provider_last_name: 'Body',
  };
  const names = { referring_provider_first_name: 'Else', referring_provider_last_name: 'Where' };
  await amendBoth({ ...names, referred_to_provider_id: '503' }, before, ({ chart }) =>
    expect(chart).toMatchObject({ referringFirstName: 'Else', referringLastName: 'Where', renderingProviderId: '503' }),
  );
  const [doctor] = (await fixture.api.call('GET', '/v1/referring-providers?last_name=Outsidely')).body
    .referring_providers;
  await amendBoth({ referring_provider_id: doctor.id }, before, ({ chart }) =>
    expect(chart).toMatchObject({ referringId: doctor.ehr_id, renderingProviderId: '501' }),
  );
});

test(row('STA-05'), async () => {
  const waiting = await completePatient(fixture, charts);
  await waiting.expectCharted(await amend('pending', waiting.fields));
  const sent = await completePatient(fixture, charts);
  const { id, job_id } = await charts.inProgress({ phone: '518-555-0105', insurance_name: 'Mock Mutual' });
  expect((await charts.patch(id, sent.fields)).status).toBe(200);
  const { event_type, data } = await fixture.api.untilEvent(job_id);
  expect(event_type).toBe('patient.created');
  const events = await until('the update to finish', async () => {
    const { body } = await fixture.api.call('GET', '/v1/webhook-events?page_size=100');
    const matches = body.webhook_events.filter((each: Row) => each.data.patient_id === id);
    return matches.length > 1 && matches;
  });
  expect(events.map((each: Row) => each.event_type)).toContain('patient.updated');
  await sent.expectCharted({ id, mrn: data.mrn, chart: null });
});

test(row('STA-06'), async () => {
  const { fields, expectCharted } = await completePatient(fixture, charts);
  await expectCharted(await amend('failed', fields));
});

test(row('DEC-154'), async () => {
  const { paths } = dereference((await fixture.api.call('GET', '/openapi.json')).body);
  const schema = paths['/v1/patients']?.post?.requestBody?.content['application/json']?.schema;
  for (const state of states) {
    const { fields, expectCharted } = await completePatient(fixture, charts);
    const { reference: _, ...properties } = schema?.properties ?? {};
    expect(Object.keys(fields).sort()).toStrictEqual(Object.keys(properties).sort());
    await expectCharted(await amend(state, fields));
  }
});

test(row('DEC-156'), async () => {
  const jobs = async () => Number((await fixture.owner`SELECT count(*) FROM jobs`)[0]?.count);
  const pending = await charts.pending();
  const failed = await charts.failed();
  const active = await charts.created();
  const observed: boolean[] = [];
  // The last one is updated twice; the second time its status is pending_update.
  for (const { id } of [pending, failed, active, active]) {
    const before = await jobs();
    const { body } = await charts.patch(id, { phone: '518-555-0156' });
    const queued = (await jobs()) > before;
    observed.push(queued);
    expect(Object.keys(body)).toStrictEqual(queued ? ['success', 'message', 'job_id'] : ['success', 'message']);
    if (queued) expect(await fixture.api.job(body.job_id)).toMatchObject({ type: expect.stringMatching(/^patient\./) });
  }
  expect(observed).toStrictEqual([false, true, true, true]);
  await endPauses(fixture.owner);
  await fixture.api.untilEvent(pending.job_id);
});
