import type { TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/catalog/ids.ts';
import { records_endpoints } from '../../src/surfaces/dashboard/records/endpoints.ts';
import { newOperator, signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { createTenant } from '../harness/tenant.ts';
import { daysAfter, monday, patchProvider, readAvailability, shift, spans } from '../spec/providers/schedules.ts';

let fixture: TestSandbox;
let operator: TestOperator;
let reader: TestOperator;
/** Prefixes a path with the sandbox's organization. */
let of: (path: string) => string;

beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  operator = await signInOperator(fixture);
  reader = await newOperator(fixture, 'read_only');
  const { body } = await operator.get('clients/{client}/organizations');
  of = (path) => `clients/{client}/organizations/${body.organizations[0].id}/${path}`;
});
afterAll(() => fixture?.close());

const search = async (kind: string, body: object = {}) =>
  (await operator.post(of(`records/${kind}/search`), body)).body;
const listed = async (kind: string) => (await operator.get(of(`records/${kind}`))).body[kind];

describe('records in the dashboard', () => {
  test('lists the organizations of the client', async () => {
    const { body } = await operator.get('clients/{client}/organizations');
    const { id, ...organization } = body.organizations[0];
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    const { org_id } = fixture.sandbox;
    expect(organization).toStrictEqual({ org_id, emr_name: 'Larkspur', timezone: 'America/New_York' });
  });

  test('finds patients of the client by name, date of birth, phone and MRN, and records who was shown', async () => {
    const { patient_mrn } = fixture.sandbox.example;
    const find = async (text: string) => (await reader.post('clients/{client}/patients/find', { text })).body.patients;
    const [patient] = (await search('patients', { mrn: patient_mrn })).rows;
    const { id, first_name, last_name, dob, mrn } = patient;
    const [year, month, day] = dob.split('-');
    const phone: string = patient.phone ?? patient.cell_phone;
    for (const text of [
      mrn,
      ` ${last_name.toUpperCase()}, ${first_name}`,
      `${first_name} ${last_name.slice(0, 4)}`,
      dob,
      `${Number(month)}/${Number(day)}/${year}`,
      phone,
      `(${phone.slice(0, 3)}) ${phone.slice(4, 7)} ${phone.slice(8)}`,
    ]) {
      const patients = await find(text);
      const { org_id } = fixture.sandbox;
      const row = { id, organization_id: expect.any(String), org_id, first_name, last_name, dob, mrn };
      expect(patients, text).toContainEqual(row);
      for (const each of patients) expect(each.mrn === mrn || text !== mrn, text).toBe(true);
    }
    expect(await find('%%')).toStrictEqual([]);
    expect(await find('1/99/1980')).toStrictEqual([]);
    const { body } = await operator.post('audit/search', { patient_mrn: mrn });
    expect(body.rows.map((row: { action: string }) => row.action)).toContain('dashboard.patients.find');
    const { client_id } = await createTenant(fixture.owner);
    const [other] = await fixture.owner<{ public_id: string }[]>`SELECT public_id FROM clients WHERE id = ${client_id}`;
    const elsewhere = await operator.post(`clients/${other?.public_id}/patients/find`, { text: mrn });
    expect(elsewhere).toMatchObject({ status: 200, body: { patients: [] } });
  });

  test('every kind has a total, the time of its last sync, and what its list page needs', async () => {
    const { body } = await operator.get(of('records'));
    const declared = records_endpoints.find(({ id }) => id === 'dashboard.records.count');
    expect(Value.Check(declared?.response as TSchema, body), JSON.stringify(body)).toBe(true);
    for (const row of body.kinds) {
      const [{ n } = { n: -1 }] = await fixture.owner<
        { n: number }[]
      >`SELECT count(*) AS n FROM ${fixture.owner(row.kind)}`;
      expect(row.total, row.kind).toBe(n);
      expect(row.synced_at, row.kind).not.toBeNull();
    }
    expect(body.kinds).toHaveLength(12);
  });

  test('searches return pages of rows that match their schema', async () => {
    for (const { path, response } of records_endpoints.filter(({ id }) => id.endsWith('.search'))) {
      const kind = path.split('/').at(-2) ?? '';
      const first = await search(kind, { page_size: 2 });
      expect(Value.Check(response as TSchema, first), kind).toBe(true);
      expect(first.rows, kind).toHaveLength(2);
      expect(first.next, kind).toBe('2');
      const second = await search(kind, { page_size: 2, before: first.next });
      expect(second.rows[0], kind).not.toStrictEqual(first.rows[0]);
      const all = await search(kind, { page_size: 200 });
      expect(all.rows.slice(0, 3), kind).toStrictEqual([...first.rows, second.rows[0]]);
    }
  });

  test('finds a patient by part of the name, MRN, date of birth and phone', async () => {
    const mrn = fixture.sandbox.example.patient_mrn;
    const [patient] = (await search('patients', { mrn })).rows;
    expect(patient.mrn).toBe(mrn);
    const { first_name, last_name, dob, phone } = patient;
    for (const by of [
      { first_name: first_name.slice(1, 4).toUpperCase(), last_name: last_name.slice(0, 3) },
      { dob },
      { phone },
    ]) {
      const { rows } = await search('patients', by);
      expect(
        rows.map((row: { id: string }) => row.id),
        JSON.stringify(Object.keys(by)),
      ).toContain(patient.id);
    }
    expect((await search('patients', { mrn: 'nobody' })).rows).toStrictEqual([]);
  });

  test('returns a patient, and only the jobs of that patient', async () => {
    const mrn = fixture.sandbox.example.patient_mrn;
    const [patient] = (await search('patients', { mrn })).rows;
    const { body } = await fixture.api.callIn();
    await fixture.api.untilEvent(body.job_id);
    const shown = await operator.get(of(`records/patients/${patient.id}`));
    expect(shown.body.record).toStrictEqual(patient);
    const { jobs } = (await operator.get(of(`patients/${patient.id}/jobs`))).body;
    expect(jobs[0]).toMatchObject({ job_id: body.job_id, type: 'telephone_encounter.create', state: 'succeeded' });
    const other = (await search('patients', { page_size: 200 })).rows.find((row: { mrn: string }) => row.mrn !== mrn);
    expect((await operator.get(of(`patients/${other.id}/jobs`))).body.jobs).toStrictEqual([]);
  });

  test('finds appointments, orders and claims by patient and by day', async () => {
    for (const [kind, date_of] of [
      ['appointments', (row: { datetime: string }) => row.datetime.slice(0, 10)],
      ['orders', (row: { order_date: string }) => row.order_date],
      ['claims', (row: { service_date: string }) => row.service_date],
    ] as const) {
      const { rows, total } = await search(kind, { page_size: 200 });
      const day = date_of(rows[0]);
      const on_day = rows.filter((row: never) => date_of(row) === day);
      const result = await search(kind, { start_date: day, end_date: day, page_size: 200 });
      expect(result.rows, kind).toStrictEqual(on_day);
      const columns = await fixture.owner<{ patient_mrn: string; n: number }[]>`
        SELECT patient_mrn, count(*) AS n FROM ${fixture.owner(kind)} GROUP BY patient_mrn ORDER BY patient_mrn LIMIT 1`;
      const { patient_mrn, n } = columns[0] ?? { patient_mrn: '', n: 0 };
      expect((await search(kind, { patient_mrn })).total, kind).toBe(n);
      expect(n, kind).toBeLessThan(total);
    }
    const { status, body } = await operator.post(of('records/claims/search'), {
      start_date: '2026-02-01',
      end_date: '2026-01-01',
    });
    expect([status, body.field]).toStrictEqual([400, 'end_date']);
  });

  test('returns a claim and an appointment with all fields', async () => {
    for (const kind of ['claims', 'appointments']) {
      const [row] = (await search(kind, { page_size: 1 })).rows;
      expect((await operator.get(of(`records/${kind}/${row.id}`))).body.record, kind).toStrictEqual(row);
    }
  });

  test('unknown records and those of another client are 404', async () => {
    const other = await createTenant(fixture.owner);
    for (const path of [
      of(`records/patients/${newId()}`),
      of(`records/organizations/${newId()}`),
      of('records/accounts'),
      of(`providers/${newId()}`),
      of(`patients/${newId()}/jobs`),
      `clients/{client}/organizations/${other.organization_id}/records`,
      `clients/{client}/organizations/${other.organization_id}/default-hours`,
      'clients/{client}/organizations/nothing/records',
    ]) {
      expect((await operator.get(path)).status, path).toBe(404);
    }
    for (const path of [of(`providers/${newId()}`), of(`locations/${newId()}`)]) {
      expect((await operator.patch(path, { status: 'inactive' })).status, path).toBe(404);
    }
  });

  test('sets a location’s status, as the API does', async () => {
    const [location] = await listed('locations');
    expect((await operator.patch(of(`locations/${location.id}`), { status: 'inactive' })).status).toBe(200);
    const { body } = await fixture.api.call('GET', '/v1/locations');
    expect(body.locations[0]).toStrictEqual({ ...location, status: 'inactive' });
    await operator.patch(of(`locations/${location.id}`), { status: 'active' });
  });

  test('sets a provider’s hours, which availability follows, and restores the EMR’s', async () => {
    const provider = (await listed('providers')).find((each: { ehr_id: string }) => each.ehr_id === '504');
    const path = of(`providers/${provider.id}`);
    const before = (await operator.get(path)).body;
    expect(before).toMatchObject({ provider, set: { status: null, hours: false }, emr: { status: 'active' } });
    expect(before.emr.hours).toHaveLength(provider.hours.length);
    const hours = [{ day: 'Sunday', shifts: [shift('10:00', '12:00')] }];
    expect((await operator.patch(path, { hours, hide_in_availability: false })).status).toBe(200);
    const after = (await operator.get(path)).body;
    expect(after).toMatchObject({ set: { hours: true }, provider: { hours }, emr: before.emr });
    const sunday = daysAfter(monday, 6);
    expect(spans(await readAvailability(fixture, '504', sunday))).toStrictEqual(['10:00–12:00']);
    const query = `start_date=${sunday}&end_date=${sunday}&provider_ids=504`;
    const { body: preview } = await operator.get(of(`availability?${query}`));
    expect(preview).toStrictEqual((await fixture.api.call('GET', `/v1/availability?${query}`)).body);
    expect((await operator.patch(path, { hours: null })).status).toBe(200);
    expect((await operator.get(path)).body).toStrictEqual(before);
  });

  test('errors in hours name the field', async () => {
    const [provider] = await listed('providers');
    const hours = [
      { day: 'Monday', shifts: [] },
      { day: 'Friday', shifts: [shift('09:00', '10:00'), shift('12:00', '11:00')] },
    ];
    for (const path of [`providers/${provider.id}`, 'default-hours']) {
      const { status, body } = await operator.patch(of(path), { hours });
      expect([status, body.field]).toStrictEqual([400, 'hours']);
      expect(body.message).toContain('hours[1].shifts[1].end must be after start. ');
    }
    expect((await operator.patch(of('default-hours'), {})).body.code).toBe('no_field');
  });

  test('sets the organization’s default hours, which availability follows, and resets them', async () => {
    const set = async (hours: unknown) => (await operator.patch(of('default-hours'), { hours })).status;
    await patchProvider(fixture, '505', { hours: [] });
    const fallback = { fallback_to_default_hours: 'true' };
    const standard = (await operator.get(of('default-hours'))).body;
    expect(standard.set).toBe(false);
    expect(standard.hours.map(({ day }: { day: string }) => day)).toHaveLength(5);
    expect(await set([{ day: 'Saturday', shifts: [shift('08:00', '10:30', { facility_id: '11' })] }])).toBe(200);
    expect((await operator.get(of('default-hours'))).body.set).toBe(true);
    expect(spans(await readAvailability(fixture, '505', daysAfter(monday, 5), fallback))).toStrictEqual([
      '08:00–10:30',
    ]);
    expect(await readAvailability(fixture, '505', monday, fallback)).toStrictEqual([]);
    expect(await set(null)).toBe(200);
    expect((await operator.get(of('default-hours'))).body).toStrictEqual(standard);
    expect(spans(await readAvailability(fixture, '505', monday, fallback))).toStrictEqual(['09:00–17:00']);
    await patchProvider(fixture, '505', { hours: null });
  });

  test('a read-only operator can read everything and change nothing', async () => {
    const [provider] = await listed('providers');
    const [location] = await listed('locations');
    for (const path of ['records', 'records/providers', `providers/${provider.id}`, 'default-hours']) {
      expect((await reader.get(of(path))).status, path).toBe(200);
    }
    expect((await reader.post(of('records/patients/search'), {})).status).toBe(200);
    for (const [path, body] of [
      [`providers/${provider.id}`, { status: 'inactive' }],
      [`locations/${location.id}`, { status: 'inactive' }],
      ['default-hours', { hours: null }],
    ] as const) {
      const response = await reader.patch(of(path), body);
      expect([response.status, response.body.code], path).toStrictEqual([403, 'operator_role_lacking']);
    }
  });

  test('the audit trail records who viewed a patient and who changed a provider', async () => {
    const trail = () =>
      fixture.owner<{ action: string; subject: string | null; patients: string[]; actor: string }[]>`
        SELECT action, subject, patients, actor FROM audit_records WHERE actor_kind = 'operator' ORDER BY id DESC LIMIT 1`;
    const mrn = fixture.sandbox.example.patient_mrn;
    const [patient] = (await search('patients', { mrn })).rows;
    const [searched] = await trail();
    expect(searched).toMatchObject({ action: 'dashboard.patients.search', actor: fixture.sandbox.dashboard.email });
    expect(searched?.patients).toHaveLength(1);
    await operator.get(of(`records/patients/${patient.id}`));
    expect((await trail())[0]).toMatchObject({ subject: patient.id, patients: searched?.patients });
    const [provider] = await listed('providers');
    await operator.patch(of(`providers/${provider.id}`), { hide_in_availability: false });
    expect((await trail())[0]).toMatchObject({ action: 'dashboard.providers.update', subject: provider.id });
  });
});
