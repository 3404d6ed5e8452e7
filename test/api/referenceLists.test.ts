import { beforeAll, describe, expect, test } from 'vitest';
import type { TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';
import { setFault } from '../journeys/support.ts';
import { createCharts, newPerson, type Row } from '../spec/patients/charts.ts';
import { sendDocument } from '../spec/support/sendDocument.ts';
import { expectApiError, expectSchema } from './support.ts';

let fixture: TestSandbox;
let charts: ReturnType<typeof createCharts>;
beforeAll(async () => {
  fixture = await sharedSandbox();
  charts = createCharts(fixture);
});

const list = async (path: string, query = ''): Promise<Row[]> => {
  const response = await fixture.api.call('GET', `/v1/${path}?${query}`);
  expectSchema(`${path}.list`, response);
  return response.body[path.replaceAll('-', '_')];
};
/** The record that the seeded practice no longer uses. */
const inactive = async (path: string): Promise<Row> => {
  const [first] = await list(path, 'status=inactive');
  expect(first).toBeDefined();
  return first;
};

test.each(['staff', 'pharmacies', 'insurance-providers', 'referring-providers'])(
  'GET /v1/%s has a status and filters by it',
  async (path) => {
    const ids = (rows: Row[]) => rows.map(({ ehr_id }) => ehr_id).sort();
    const all = await list(path);
    for (const status of ['active', 'inactive']) {
      const expected = all.filter((each) => each.status === status);
      expect(expected.length).toBeGreaterThan(0);
      expect(ids(await list(path, `status=${status}`))).toStrictEqual(ids(expected));
    }
    expect(ids(await list(path, 'status=all'))).toStrictEqual(ids(all));
    const wrong = await fixture.api.call('GET', `/v1/${path}?status=retired`);
    expectApiError(wrong, 400, 'status must be one of: active, inactive, all', 'status');
  },
);

describe('an inactive record in a write is rejected like an unknown one', () => {
  test('staff', async () => {
    const { ehr_id } = await inactive('staff');
    const message = `Staff member with ID '${ehr_id}' not found.`;
    expectApiError(await fixture.api.callIn({ assigned_to_id: ehr_id }), 404, message, 'assigned_to_id');
    const document = await sendDocument(fixture, { emr_assigned_to_id: ehr_id });
    expectApiError(document, 404, message, 'emr_assigned_to_id');
  });

  test('a pharmacy', async () => {
    const { id, ehr_id } = await inactive('pharmacies');
    const message = (ehr_id_sent: string) => `Pharmacy with EMR ID '${ehr_id_sent}' not found.`;
    expectApiError(await fixture.api.callIn({ pharmacy_ehr_id: ehr_id }), 404, message(ehr_id), 'pharmacy_ehr_id');
    for (const pharmacy_id of [id, ehr_id]) {
      expectApiError(await charts.create({ pharmacy_id }), 404, message(pharmacy_id), 'pharmacy_id');
    }
  });

  test('an insurance provider', async () => {
    const { id, name } = await inactive('insurance-providers');
    const mrn = fixture.sandbox.example.patient_mrn;
    const [insurance] = await charts.rows('patient-insurances', { patientId: '10001' });
    const not_found = `Insurance provider with ID '${id}' not found.`;
    for (const send of [
      (body: object) => charts.add(mrn, { member_id: 'M-1', ...body }),
      (body: object) => charts.change(mrn, insurance.insuranceId, { ...body }),
    ]) {
      expectApiError(await send({ insurance_provider_id: id }), 404, not_found, 'insurance_provider_id');
      expectApiError(
        await send({ insurance_name: name }),
        404,
        /^No insurance provider is named 'Formerly/,
        'insurance_name',
      );
    }
    expectApiError(await charts.create({ insurance_provider_id: id }), 404, not_found, 'insurance_provider_id');
  });

  test('a referring provider', async () => {
    const { id } = await inactive('referring-providers');
    const own = await charts.created();
    for (const [field, noun] of [
      ['referring_provider_id', 'Referring provider'],
      ['pcp_id', 'Primary care provider'],
    ] as const) {
      const message = `${noun} with ID '${id}' not found.`;
      expectApiError(await charts.create({ [field]: id }), 404, message, field);
      expectApiError(await charts.patch(own.id, { [field]: id }), 404, message, field);
    }
  });
});

describe('a doctor’s name', () => {
  const names = (role: string, first: string, last: string) => ({
    [`${role}_first_name`]: first,
    [`${role}_last_name`]: last,
  });

  test('resolves in the EMR in POST and PATCH, also if no sync has read the doctor', async () => {
    const doctor = { firstName: 'Ève', lastName: `Justarrived${Date.now()}` };
    const { referringId } = (await fixture.api.control('POST', '/control/referring-providers', doctor)).body;
    const sent = ['  e\u0300ve ', doctor.lastName.toUpperCase()] as const;
    const created = await charts.created(names('referring_provider', ...sent));
    expect(created.chart.referringId).toBe(referringId);
    const updated = await charts.updated(created, names('pcp', ...sent));
    expect(updated.pcpId).toBe(referringId);
  });

  test('the name of an inactive doctor is not resolved by PATCH', async () => {
    const { first_name, last_name } = await inactive('referring-providers');
    const own = await charts.created();
    const response = await charts.patch(own.id, { phone: '518-555-0126', ...names('pcp', first_name, last_name) });
    expectApiError(response, 404, /^No referring provider is named/, 'pcp_last_name');
    expect((await charts.listed(own.id)).phone).toBeNull();
  });

  test('is resolved by the job if the EMR cannot be reached; an unknown name then fails the whole update', async () => {
    const [known, unknown] = [await charts.created(), await charts.created()];
    await setFault(fixture.api, 'list_referring_providers', 'error_500', { times: 2 });
    const accepted = await charts.patch(known.id, names('pcp', 'Umber', 'Consultson'));
    const rejected = await charts.patch(unknown.id, { phone: '518-555-0127', ...names('pcp', 'Nobody', 'Known') });
    expect((await charts.outcome(accepted)).event_type).toBe('patient.updated');
    expect((await charts.chart(known.mrn)).pcpId).toBe('8003');
    expect((await charts.outcome(rejected)).event_type).toBe('patient.update_failed');
    expect(await charts.chart(unknown.mrn)).toStrictEqual(unknown.chart);
  });
});

describe('lists follow the service’s own writes without a sync', () => {
  const insurance = async (mrn: string) => {
    const { body } = await fixture.api.call('GET', `/v1/patients?mrn=${mrn}`);
    const { insurance_name, insurance_subscriber_number, status } = body.patients[0];
    return { insurance_name, insurance_subscriber_number, status };
  };

  test('a new and a changed primary insurance are in the patient list when their event is sent', async () => {
    const { mrn } = await charts.created(newPerson());
    expect(await insurance(mrn)).toMatchObject({ insurance_name: null });
    const { data } = await charts.added(mrn, { member_id: 'OWN-1', insurance_name: 'Mock Mutual', priority: '2' });
    const shown = { insurance_name: 'Mock Mutual', insurance_subscriber_number: 'OWN-1', status: 'active' };
    expect(await insurance(mrn)).toStrictEqual(shown);
    await charts.outcome(await charts.change(mrn, data.emr_insurance_id, { member_id: 'OWN-2' }));
    expect(await insurance(mrn)).toStrictEqual({ ...shown, insurance_subscriber_number: 'OWN-2' });
    await charts.added(mrn, { member_id: 'OWN-3', insurance_name: 'Prototype PPO', priority: '1' });
    expect(await insurance(mrn)).toMatchObject({ insurance_name: 'Prototype PPO' });
  });

  test('a changed provider is in the provider list at once', async () => {
    const set = (body: object) => fixture.api.call('PATCH', '/v1/providers/ehr/504', { body });
    const read = async () => (await list('providers')).find(({ ehr_id }) => ehr_id === '504');
    const { hide_in_availability, hours } = await read();
    const one_day = [{ day: 'Sunday', shifts: [{ start: 'T08:00:00', end: 'T09:00:00', facility_id: '11' }] }];
    expect((await set({ hide_in_availability: 'true', hours: one_day })).status).toBe(200);
    expect(await read()).toMatchObject({ hide_in_availability: true, hours: one_day });
    expect((await set({ hide_in_availability: String(hide_in_availability), hours: null })).status).toBe(200);
    expect((await read()).hours).toStrictEqual(hours);
  });
});
