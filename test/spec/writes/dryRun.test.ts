import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type FhirAccount, fhirAccount } from '../../harness/fhirAccount.ts';
import { row } from '../../harness/row.ts';
import { postponeSyncs, startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { setFault, until } from '../../journeys/support.ts';
import { type Charts, createCharts } from '../patients/charts.ts';
import { completeBooking, free_day } from '../support/completedJobs.ts';
import { withJobsPaused } from '../support/pauseJobs.ts';
import { sendWrite, write_endpoints } from '../support/writeRequests.ts';

let fixture: TestSandbox;
let charts: Charts;
beforeAll(async () => {
  // Its own: everything in the database is compared.
  fixture = await startSandbox({ small: true });
  charts = createCharts(fixture);
  await postponeSyncs(fixture.owner);
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

const query = '?dry_run=true';
const dry = (method: string, path: string, body: object, headers: Record<string, string | null> = {}) =>
  fixture.api.call(method, path + query, { body, headers });

/** Not compared: what a dry run may store, and what every process or request changes by itself. */
const changing = new Set([
  'audit_records',
  // Made from the audit log a moment later.
  'disclosure_progress',
  'disclosures',
  'patient_reads',
  'audit_chain',
  'audit_anchors',
  'requests',
  'processes',
  'client_secrets',
  'key_unwraps',
]);

/** The contents of all tables as one hash each. */
async function snapshot(): Promise<Record<string, string>> {
  const tables = await fixture.owner<{ name: string }[]>`SELECT table_name AS name FROM information_schema.tables
    WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY table_name`;
  const hashes: Record<string, string> = {};
  for (const { name } of tables) {
    if (changing.has(name) || /^(audit|requests)_/.test(name)) continue;
    const [content] = await fixture.owner<
      { hash: string }[]
    >`SELECT coalesce(md5(string_agg(each, chr(10))), '') AS hash
      FROM (SELECT record::text AS each FROM ${fixture.owner(name)} AS record ORDER BY 1) AS rows`;
    hashes[name] = content?.hash ?? '';
  }
  return hashes;
}

const untilIdle = () =>
  until('all jobs to finish', async () => {
    const open = await fixture.owner`SELECT FROM jobs WHERE finished_at IS NULL
      UNION ALL SELECT FROM deliveries WHERE ready_at IS NOT NULL`;
    return open.length === 0;
  });

test(row('DRY-01', 'DRY-02'), async () => {
  await untilIdle();
  const headers = { 'idempotency-key': randomUUID() };
  const ledger = (await fixture.api.ledger()).length;
  for (const endpoint of write_endpoints) {
    const before = await snapshot();
    const { status, body } = await sendWrite(fixture, endpoint, { query, headers, fields: { reference: 'dry' } });
    expect(status, `${endpoint.id}: ${JSON.stringify(body)}`).toBe(200);
    expect(body, endpoint.id).toStrictEqual({
      ...{ success: true, dry_run: true, emr_checked: true },
      would: expect.any(Array),
    });
    expect(body.would.length, endpoint.id).toBeGreaterThan(0);
    for (const each of body.would) {
      const fields = { action: expect.stringMatching(/^(create|update|read|fail)$/), resource: expect.any(String) };
      expect(each, endpoint.id).toMatchObject({ ...fields, reasons: expect.any(Array) });
      expect(each.action, `${endpoint.id}: ${JSON.stringify(each)}`).not.toBe('fail');
    }
    expect(await snapshot(), endpoint.id).toStrictEqual(before);
  }
  expect((await fixture.api.ledger()).length).toBe(ledger);
  const real = await fixture.api.callIn({}, headers);
  expect([real.status, real.headers.get('idempotency-replayed')]).toStrictEqual([200, null]);
  await fixture.api.untilEvent(real.body.job_id);
});

test(row('DRY-03'), async () => {
  const { patient_mrn: mrn, location_id: location } = fixture.sandbox.example;
  const requests: [string, string, object][] = [
    ['POST', '/v1/patients', { first_name: 'Nova' }],
    ['POST', '/v1/patients', { nonsense: 1 }],
    ['POST', '/v1/appointments', { mrn, location, provider: 'NOBODY', type: 'FU', datetime: `${free_day}T10:00:00Z` }],
    ['POST', '/v1/telephone-encounters', { patient_mrn: mrn }],
    ['PATCH', `/v1/patients/${'0'.repeat(32)}`, { phone: '518-555-0101' }],
    ['PATCH', `/v1/patients/${mrn}/insurances/85001`, {}],
    ['POST', '/v1/patients/fetch', { search_by: 'dob' }],
  ];
  for (const [method, path, body] of requests) {
    const real = await fixture.api.call(method, path, { body });
    const checked = await dry(method, path, body);
    const { request_id: _real, ...expected } = real.body;
    const { request_id: _dry, ...shown } = checked.body;
    expect(real.status, path).toBeGreaterThanOrEqual(400);
    expect([checked.status, shown], path).toStrictEqual([real.status, expected]);
  }
  for (const value of ['yes', '1', '']) {
    const { status, body } = await fixture.api.call('POST', `/v1/patients?dry_run=${value}`, { body: {} });
    expect([status, body.field]).toStrictEqual([400, 'dry_run']);
  }
});

test(row('DRY-04'), async () => {
  const person = { first_name: 'Dora', last_name: 'Dryrun', dob: '1981-02-03', sex: 'female' };
  const created = await fixture.api.call('POST', '/v1/patients', { body: person });
  await fixture.api.untilEvent(created.body.job_id);
  const findReasons = async (path: string, body: object) => {
    const { status, body: shown } = await dry('POST', path, body);
    expect([status, shown.emr_checked], JSON.stringify(shown)).toStrictEqual([200, true]);
    const failed = shown.would.at(-1);
    expect(failed.action, JSON.stringify(shown)).toBe('fail');
    return failed.reasons.map(({ code }: { code: string }) => code);
  };
  expect(await findReasons('/v1/patients', person)).toStrictEqual(['duplicate_patient']);
  await completeBooking(fixture, { datetime: `${free_day}T13:00:00Z` });
  const { patient_mrn, location_id, provider_id, assigned_to_id } = fixture.sandbox.example;
  expect(
    await findReasons('/v1/appointments', {
      ...{ mrn: patient_mrn, location: location_id, provider: provider_id, type: 'FU', prevent_double_booking: 'true' },
      datetime: `${free_day}T13:00:00Z`,
    }),
  ).toStrictEqual(['slot_taken']);
  // The time of a booking that is accepted and not yet in the EMR is taken as well.
  await withJobsPaused(fixture, async () => {
    const visit = {
      ...{ mrn: patient_mrn, location: location_id, provider: provider_id, type: 'FU', prevent_double_booking: 'true' },
      datetime: `${free_day}T14:00:00Z`,
    };
    expect((await fixture.api.call('POST', '/v1/appointments', { body: visit })).status).toBe(200);
    expect(await findReasons('/v1/appointments', visit)).toStrictEqual(['slot_taken']);
  });
  const call = { patient_mrn, provider_id, location_id, assigned_to_id };
  const refill = { ...call, refill_medication_name: 'Unobtainium' };
  expect(await findReasons('/v1/telephone-encounters', refill)).toStrictEqual(['medication_not_found']);
  const nobody = { ...call, patient_mrn: 'NOBODY' };
  expect(await findReasons('/v1/telephone-encounters', nobody)).toStrictEqual(['patient_not_found']);
  const several = await dry('POST', '/v1/telephone-encounters', { ...call, refill_medication_name: 'Lisinopril' });
  expect(several.body.would).toMatchObject([
    { action: 'create', resource: 'telephone_encounter' },
    { action: 'create', resource: 'refill' },
  ]);
});

test(row('DRY-05'), async () => {
  await setFault(fixture.api, '*', 'error_500', { times: 50 });
  const { status, body } = await dry('POST', '/v1/telephone-encounters', {
    ...(({ patient_mrn, provider_id, location_id, assigned_to_id }) => ({
      ...{ patient_mrn, provider_id, location_id, assigned_to_id },
    }))(fixture.sandbox.example),
  });
  expect([status, body.emr_checked], JSON.stringify(body)).toStrictEqual([200, false]);
});

test(row('DRY-06'), async () => {
  const { id } = await charts.created({ phone: '518-555-0140' });
  const { body } = await dry('PATCH', `/v1/patients/${id}`, { phone: '518-555-0141' });
  expect(body.would).toStrictEqual([
    {
      ...{ action: 'update', resource: 'patient', field: 'phone', reasons: [] },
      ...{ before: '518-555-0140', after: '518-555-0141' },
    },
  ]);
  expect(await charts.listed(id)).toMatchObject({ status: 'active', phone: '518-555-0140' });
  const pending = await charts.pending();
  const merged = await dry('PATCH', `/v1/patients/${pending.id}`, { phone: '518-555-0142' });
  expect(merged.body).toMatchObject({ emr_checked: false, would: [{ action: 'update', resource: 'patient' }] });
});

test(row('DRY-07'), async () => {
  const { api, server, mrn }: FhirAccount = await fhirAccount(fixture);
  const sent = () => server.writes().length;
  const before = sent();
  const call = (method: string, path: string, body: object) => api.call(method, path + query, { body });
  const patient = { first_name: 'Fay', last_name: 'Dryrun', dob: '1981-02-03', sex: 'female' };
  const created = await call('POST', '/v1/patients', patient);
  expect(created.body, JSON.stringify(created.body)).toMatchObject({
    ...{ dry_run: true, emr_checked: true, would: [{ action: 'create', resource: 'patient' }] },
  });
  const [stored] = (await api.call('GET', `/v1/patients?mrn=${mrn}`)).body.patients;
  const updated = await call('PATCH', `/v1/patients/${stored.id}`, { phone: '518-555-0150' });
  expect(updated.body.would).toMatchObject([{ action: 'update', resource: 'patient' }]);
  expect(sent()).toBe(before);
  const listed = await api.call('GET', '/v1/patients?last_name=Dryrun&first_name=Fay');
  expect(listed.body.patients).toStrictEqual([]);
});

test(row('DRY-08', 'DRY-09', 'DRY-10'), async () => {
  const { api, server, mrn }: FhirAccount = await fhirAccount(fixture);
  const call = (method: string, path: string, body: object) => api.call(method, path + query, { body });
  const validations = () => server.ledger.filter(({ path }) => path.includes('$validate')).length;
  const [stored] = (await api.call('GET', `/v1/patients?mrn=${mrn}`)).body.patients;
  const change = { phone: '518-555-0151', email: 'dry@example.test' };
  const stored_writes = () => server.writes().filter(({ path }) => !path.includes('$validate')).length;
  const before_writes = stored_writes();
  const updated = await call('PATCH', `/v1/patients/${stored.id}`, change);
  expect(updated.body).toMatchObject({ emr_checked: true });
  expect(updated.body.would).toStrictEqual(
    Object.entries(change).map(([field, after]) => ({
      ...{ action: 'update', resource: 'patient', field, before: stored[field], after, reasons: [] },
    })),
  );
  expect(validations()).toBe(0);

  // The capabilities are read again by a sync.
  server.faults.validates = ['Patient'];
  await api.sync();
  const person = { first_name: 'Val', last_name: 'Idated', dob: '1981-02-03', sex: 'female' };
  const accepted = await call('POST', '/v1/patients', person);
  expect(accepted.body).toMatchObject({ emr_checked: true, would: [{ action: 'create', resource: 'patient' }] });
  expect(validations()).toBe(1);
  // A limit of this server, which its write would refuse too.
  server.fail({ kind: 'invalid', method: 'POST', path: '$validate' });
  const refused = await call('POST', '/v1/patients', person);
  expect(refused.body).toMatchObject({
    success: true,
    dry_run: true,
    would: [{ action: 'fail', resource: 'patient' }],
  });
  expect(refused.body.would[0].reasons[0].code).toBe('emr_validation');
  expect(stored_writes()).toBe(before_writes);
});
