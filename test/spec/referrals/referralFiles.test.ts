import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { erase } from '../../../src/product/erasure/erase.ts';
import { findPatientScope } from '../../../src/product/erasure/scopes.ts';
import { documents } from '../../harness/documents.ts';
import { linkFhir } from '../../harness/fhir/linkFhir.ts';
import { type FhirServer, startFhirServer } from '../../harness/fhir/startFhirServer.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { until } from '../../journeys/support.ts';
import { complete } from '../support/completedJobs.ts';
import { withJobsPaused } from '../support/pauseJobs.ts';
import { attach, mrn, referralBody } from './referralRequests.ts';

let fixture: TestSandbox;
let server: FhirServer;
beforeAll(async () => {
  fixture = await startSandbox();
});
afterAll(async () => {
  await server?.close();
  await fixture.close();
});

const path = '/v1/referrals';
const countFiles = async (operation_id: string) => {
  const [row] = await fixture.owner<{ n: number }[]>`
    SELECT count(*)::int AS n FROM uploads WHERE operation_id = ${operation_id}`;
  return row?.n;
};

/** Requests whose bodies do not arrive. */
function openRequests(count: number): { abort: () => void } {
  const { client_id, client_secret, access_token, base_url } = fixture.sandbox;
  const sent_requests = Array.from({ length: count }, () => {
    const headers = { client_id, client_secret, access_token, 'content-type': 'application/json' };
    const sent = httpRequest(`${base_url}${path}`, { method: 'POST', headers: { ...headers, 'content-length': 1000 } });
    sent.on('error', () => {});
    sent.write('{"patient_mrn":');
    return sent;
  });
  return {
    abort: () => {
      for (const each of sent_requests) each.destroy();
    },
  };
}

test(row('RFL-16'), async () => {
  const open = openRequests(4);
  const refused = await until('a request beyond the quota', async () => {
    const response = await fixture.api.call('POST', path, { body: {} });
    return response.status === 429 && response;
  });
  expect(refused.body).toMatchObject({ code: 'quota_exceeded' });
  expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  open.abort();
  await until('a free place', async () => (await fixture.api.call('POST', path, { body: {} })).status === 400);
});

test(row('RFL-17'), async () => {
  const files = [attach('letter.pdf'), attach('scan.png', documents.png)];
  const { accepted } = await complete(fixture, path, referralBody({ documents: files }));
  expect(await countFiles(accepted.referral_id)).toBe(0);
  const [{ id, client_id, organization_id }] = (await fixture.owner`
    SELECT id, client_id, organization_id FROM patients WHERE mrn = ${mrn}`) as [
    { id: string; client_id: string; organization_id: string },
  ];
  const waiting = await withJobsPaused(fixture, async () => {
    const { body } = await fixture.api.call('POST', path, { body: referralBody({ documents: files }) });
    expect(await countFiles(body.referral_id)).toBe(2);
    return body;
  });
  await fixture.api.untilEvent(waiting.job_id);
  // As of a job whose outcome is unknown.
  await fixture.owner`INSERT INTO uploads (operation_id, client_id, position, content)
    VALUES (${waiting.referral_id}, ${client_id}, 1, ${documents.png})`;
  const scope = await findPatientScope(fixture.ctx, { client_id, organization_id }, id);
  await erase(fixture.ctx, scope, async () => {});
  const left = await fixture.owner`SELECT FROM referrals WHERE patient_mrn = ${mrn}
    UNION ALL SELECT FROM operations WHERE id = ANY (${[accepted.referral_id, waiting.referral_id]}::uuid[])`;
  expect(left).toHaveLength(0);
  expect(await countFiles(waiting.referral_id)).toBe(0);
  await fixture.api.sync();
  expect(await fixture.owner`SELECT FROM referrals WHERE patient_mrn = ${mrn}`).toHaveLength(0);
});

test(row('RFL-19'), async () => {
  server = await startFhirServer({ data: 'small' });
  const api = await linkFhir(fixture, server, { user_id: 'fhir-referrals', org_id: 'fhir-referrals' });
  await api.sync();
  const patients = (await api.call('GET', '/v1/patients')).body.patients;
  const [{ mrn: patient_mrn, ehr_id }] = patients;
  const [practitioner] = (await api.call('GET', '/v1/providers')).body.providers;
  const body = referralBody({
    ...{ patient_mrn, referring_from_provider_ehr_id: practitioner.ehr_id, referring_to_provider_ehr_id: '0' },
    documents: [attach('letter.pdf'), attach('scan.png', documents.png)],
  });
  const { status, body: accepted } = await api.call('POST', path, { body });
  expect(status, JSON.stringify(accepted)).toBe(200);
  const event = await api.untilEvent(accepted.job_id);
  expect(event.event_type, JSON.stringify(event.data)).toBe('referral.created');
  const stored = (await server.resources('ServiceRequest')).find(({ id }) => id === event.data.emr_referral_id);
  expect(stored).toMatchObject({
    ...{ status: 'active', intent: 'order', priority: 'urgent', subject: { reference: `Patient/${ehr_id}` } },
    category: [{ coding: [{ code: '3457005' }], text: 'Incoming referral' }],
    requester: { reference: `Practitioner/${practitioner.ehr_id}` },
    reasonCode: [{ text: 'Evaluation of recurring headaches' }, { coding: [{ code: 'G44.209' }] }],
  });
  expect(stored).not.toHaveProperty('performer');
  const files = (await server.resources('DocumentReference')).filter(({ id }) => event.data.document_ids.includes(id));
  expect(files).toHaveLength(2);
  for (const file of files) {
    expect(file).toMatchObject({
      context: { related: [{ reference: `ServiceRequest/${event.data.emr_referral_id}` }] },
    });
  }
  const query = `${path}?start_date=2020-01-01&end_date=2099-12-31&direction=incoming`;
  for (const refresh of [async () => {}, () => api.sync()]) {
    await refresh();
    const { referrals } = (await api.call('GET', query)).body;
    expect(referrals).toMatchObject([
      {
        ...{ id: accepted.referral_id, ehr_id: event.data.emr_referral_id, patient_mrn, patient_ehr_id: ehr_id },
        ...{
          from_provider_ehr_id: practitioner.ehr_id,
          to_provider_ehr_id: null,
          priority: 'urgent',
          status: 'active',
        },
        ...{ reason: 'Evaluation of recurring headaches', diagnosis_codes: ['G44.209'] },
      },
    ]);
    expect(referrals[0].document_ids.toSorted()).toStrictEqual(event.data.document_ids.toSorted());
  }
  const orders = (await api.call('GET', `/v1/orders?patient_mrn=${patient_mrn}`)).body.orders;
  expect(orders.map(({ order_id }: { order_id: string }) => order_id)).not.toContain(event.data.emr_referral_id);
});
