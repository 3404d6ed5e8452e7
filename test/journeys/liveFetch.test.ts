import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  LiveAlerts,
  LiveEncounter,
  LiveGuarantor,
  LiveInsurance,
  LiveMedication,
  LivePharmacy,
} from '../../src/model/liveChart.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

let world: TestSandbox;
beforeAll(async () => {
  world = await startSandbox();
});
afterAll(() => world.close());

const ask = (body: Record<string, unknown>) => world.api.call('POST', '/v1/patients/fetch', { body });
const fetched = async (body: Record<string, unknown>) => {
  const answer = await ask(body);
  expect(answer.body).toStrictEqual({ success: true, message: expect.any(String), job_id: expect.any(Number) });
  return world.api.untilEvent(answer.body.job_id);
};
const mrn = () => world.sandbox.example.patient_mrn;

describe('a live fetch', () => {
  test('gives the whole chart of the one patient that matches, also directly in data', async () => {
    const event = await fetched({ search_by: 'mrn', mrn: mrn(), include: 'insurances' });
    expect(event.event_type).toBe('patient.live_fetch_completed');
    const { success, patient_count, patients, ...direct } = event.data;
    expect({ success, patient_count }).toStrictEqual({ success: true, patient_count: 1 });
    expect(patients).toStrictEqual([direct]);
    expect(direct.mrn).toBe(mrn());
    const parts = { medications: LiveMedication, pharmacies: LivePharmacy, encounters: LiveEncounter };
    const more = { guarantors: LiveGuarantor, insurances: LiveInsurance };
    for (const [name, schema] of Object.entries({ ...parts, ...more })) {
      const check = Compile(Type.Array(schema));
      expect([...check.Errors(direct[name])], name).toStrictEqual([]);
      if (name !== 'guarantors') expect(direct[name].length, name).toBeGreaterThan(0);
    }
    expect([...Compile(LiveAlerts).Errors(direct.alerts)]).toStrictEqual([]);
    expect(direct.patient_balance).toEqual(expect.any(Number));
    expect(direct.account_balance).toEqual(expect.any(Number));
    const visits = direct.encounters.filter((each: { visit_type: string }) => each.visit_type !== 'TEL');
    const dates = visits.map((each: { date: string }) => each.date).sort();
    expect(dates).toContain(direct.last_appointment_date);
    expect(dates.at(-1) > direct.last_appointment_date).toBe(true);
    const calls = direct.encounters.filter((each: { visit_type: string }) => each.visit_type === 'TEL');
    expect(calls[0]).toMatchObject({ actions: expect.any(Array), caller: expect.anything() });
  });

  test('names the guarantors of those who have one', async () => {
    const mrns = Array.from({ length: 12 }, (_, n) => `LK1000${n + 10}`);
    const charts = await Promise.all(mrns.map((each) => fetched({ search_by: 'mrn', mrn: each })));
    const guarantors = charts.flatMap((event) => event.data.guarantors);
    expect(guarantors.length).toBeGreaterThan(0);
    expect([...Compile(Type.Array(LiveGuarantor)).Errors(guarantors)]).toStrictEqual([]);
  });

  test('shows what the cache does not know yet', async () => {
    await world.api.control('PATCH', '/control/patients/10001', { email: 'fresh@example.org' });
    expect((await fetched({ search_by: 'mrn', mrn: mrn() })).data.email).toBe('fresh@example.org');
    const { body } = await world.api.call('GET', `/v1/patients?mrn=${mrn()}`);
    expect(body.patients[0].email).not.toBe('fresh@example.org');
  });

  test('searches by name, date of birth and phone, and by all that is given', async () => {
    const { body } = await world.api.call('GET', `/v1/patients?mrn=${mrn()}`);
    const [{ first_name, last_name, dob, cell_phone, phone }] = body.patients;
    for (const search of [
      { search_by: 'name', first_name, last_name },
      { search_by: 'dob', dob },
      { search_by: 'phone', phone: phone ?? cell_phone },
    ]) {
      const { data } = await fetched(search);
      expect(data.patients.map((each: { mrn: string }) => each.mrn)).toContain(mrn());
    }
    expect((await fetched({ search_by: 'dob', dob, mrn: 'NOBODY' })).data.patient_count).toBe(0);
  });

  test('leaves insurances out unless they are asked for, in either form', async () => {
    expect((await fetched({ search_by: 'mrn', mrn: mrn() })).data).not.toHaveProperty('insurances');
    expect((await fetched({ search_by: 'mrn', mrn: mrn(), include: ['insurances'] })).data).toHaveProperty(
      'insurances',
    );
  });

  test('that finds nobody is a success with no patients', async () => {
    const { event_type, data } = await fetched({ search_by: 'mrn', mrn: 'NOBODY' });
    expect(event_type).toBe('patient.live_fetch_completed');
    expect(data).toStrictEqual({ success: true, patient_count: 0, patients: [] });
  });

  test('whose look-ups of guarantors, balances or alerts fail still succeeds, with empty or null in their place', async () => {
    for (const operation of ['list_guarantors', 'get_balances', 'get_alerts']) {
      await world.api.control('POST', '/control/faults', { operation, kind: 'error_500', times: 1 });
    }
    const { event_type, data } = await fetched({ search_by: 'mrn', mrn: mrn() });
    expect(event_type).toBe('patient.live_fetch_completed');
    expect(data).toMatchObject({ guarantors: [], patient_balance: null, account_balance: null, alerts: null });
  });

  test.each([
    [{}, 'Missing required field: search_by'],
    [{ search_by: 'shoe size' }, 'search_by must be one of: dob, name, phone, mrn'],
    [{ search_by: 'mrn' }, 'Missing required field: mrn'],
    [{ search_by: 'name', first_name: 'A' }, 'Missing required field: last_name'],
    [{ search_by: 'dob', dob: '1990-02-30' }, 'dob must be a date that exists, in the form YYYY-MM-DD'],
    [{ search_by: 'phone', phone: '5550100' }, 'phone must be a phone number in the form NNN-NNN-NNNN'],
    [{ search_by: 'mrn', mrn: 'x', include: 'claims' }, 'include takes only: insurances'],
    [{ search_by: 'mrn', mrn: 'x', include: 5 }, 'include must be a comma-separated string or an array of strings'],
  ])('is refused with %o', async (body, message) => {
    const answer = await ask(body);
    expect(answer.status).toBe(400);
    expect(answer.body.message).toBe(message);
  });
});
