import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectApiError, newClient } from '../../api/support.ts';
import type { Api } from '../../harness/api.ts';
import { linkOpenEmr, newPatient, visit_types } from '../../harness/openemr/linkOpenEmr.ts';
import { type OpenEmrServer, startOpenEmr } from '../../harness/openemr/startOpenEmr.ts';
import { signInOperator, type TestOperator } from '../../harness/operator.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';

let fixture: TestSandbox;
let server: OpenEmrServer;
let operator: TestOperator;
let api: Api & { access_token: string };
beforeAll(async () => {
  [fixture, server] = await Promise.all([startSandbox({ small: true }), startOpenEmr()]);
  operator = await signInOperator(fixture);
  api = await linkOpenEmr(fixture, server, { user_id: 'quill', org_id: 'thistle' });
});
afterAll(async () => {
  await fixture.close();
  await server.close();
});

async function organization() {
  const { body } = await operator.get('clients/{client}/accounts');
  return body.organizations.find((each: { org_id: string }) => each.org_id === 'thistle');
}

const book = (type: string) =>
  api.call('POST', '/v1/appointments', {
    body: {
      mrn: 'OE-1001',
      location: String(server.practice.facilities[0]?.uuid),
      provider: String(server.practice.users[1]?.uuid),
      type,
      datetime: '2031-03-03T09:00:00-05:00',
    },
  });

test(row('OEM-01'), async () => {
  const create = (emr_instance_domain: string) =>
    fixture.api.call('POST', '/link/token/create', {
      body: { user_id: 'addressed', org_id: 'addressed', emr_name: 'openemr', emr_instance_domain },
      headers: { access_token: null },
    });
  for (const address of [server.url, `${server.url}/openemr`, `${server.url}/apis/east`]) {
    expect((await create(address)).status, address).toBe(200);
  }
  for (const address of [`${server.url}?site=east`, `${server.url}/apis/default`, `${server.url}/apis/default/fhir`]) {
    expectApiError(await create(address), 400, /must be the address of OpenEMR/, 'emr_instance_domain');
  }
});

test(row('OEM-02'), async () => {
  const { capabilities } = (await api.call('GET', '/v1/settings')).body.data;
  expect(capabilities).toEqual(expect.arrayContaining(['createPatient', 'createAppointment', 'uploadDocument']));
  const registered = server.client.scopes;
  server.client.scopes = registered.filter((scope) => !scope.startsWith('user/document.'));
  const less = await linkOpenEmr(fixture, server, { user_id: 'fern', org_id: 'thistle-less' });
  server.client.scopes = registered;
  const offered = (await less.call('GET', '/v1/settings')).body.data.capabilities;
  expect(offered).toContain('createPatient');
  expect(offered).not.toContain('uploadDocument');
});

test(row('OEM-03'), async () => {
  await api.sync();
  expect((await api.call('GET', '/v1/visit-types')).body.visit_types).toStrictEqual([]);
  const { id } = await organization();
  const saved = await operator.patch(`clients/{client}/organizations/${id}/emr-settings`, { visit_types });
  expect(saved.status, JSON.stringify(saved.body)).toBe(200);
  const listed = async () => (await api.call('GET', '/v1/visit-types')).body.visit_types;
  await expect
    .poll(listed, { timeout: 60_000 })
    .toStrictEqual(visit_types.map(({ code, description }) => ({ code, description })));
  expectApiError(await book('99'), 400, 'type must be one of: 5, 12', 'type');
  const booked = await book('5');
  expect(booked.status, JSON.stringify(booked.body)).toBe(200);
  expect((await api.untilEvent(booked.body.job_id)).event_type).toBe('appointment.created');
  expect(server.practice.appointments.at(-1)).toMatchObject({ pc_catid: '5', pc_duration: '900' });
});

test(row('OEM-04'), async () => {
  const { body } = await api.call('GET', '/v1/appointments?start_date=2026-03-01&end_date=2026-03-31');
  const moved = await api.call('PATCH', `/v1/appointments/${body.appointments[0].id}`, { body: { note: 'Later' } });
  expect(moved.status, JSON.stringify(moved.body)).toBe(400);
  const insured = await api.call('POST', '/v1/patients/OE-1001/insurances', {
    body: { insurance_name: 'Thistle Health', insurance_subscriber_number: '1', insurance_sequence: '1' },
  });
  expect(insured.status, JSON.stringify(insured.body)).toBe(400);
  const [account] = (await organization()).accounts;
  const refused = account.evidence.filter(({ state }: { state: string }) => state === 'refused');
  expect(refused.map(({ capability }: { capability: string }) => capability)).toEqual(
    expect.arrayContaining(['updateAppointment', 'addPatientInsurance']),
  );
  for (const { detail } of refused) expect(detail).toContain('OpenEMR');
});

test(row('OEM-05'), async () => {
  const other = await newClient(fixture);
  const theirs = await linkOpenEmr(
    { api: other.api, sandbox: { ...fixture.sandbox, ...other } },
    server,
    { user_id: 'fern', org_id: 'their-thistle' },
    { username: 'fern', password: 'pass-fern' },
  );
  server.writing.most = 0;
  const sent = await Promise.all(
    Array.from({ length: 6 }, async (_, n) => {
      const as = n % 2 === 0 ? api : theirs;
      const body = newPatient(`Turn${'abcdef'[n]}`, 'Taker');
      return { as, job_id: (await as.call('POST', '/v1/patients', { body })).body.job_id };
    }),
  );
  for (const { as, job_id } of sent) expect((await as.untilEvent(job_id)).event_type).toBe('patient.created');
  expect(server.writing.most).toBe(1);
  expect(server.practice.patients.filter(({ lname }) => lname === 'Taker')).toHaveLength(6);
  expect(server.ledger.filter(({ status }) => status >= 500)).toStrictEqual([]);
  expect(await fixture.owner`SELECT FROM write_turns`).toHaveLength(0);
});
