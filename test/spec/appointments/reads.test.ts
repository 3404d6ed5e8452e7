import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Appointment } from '../../../src/model/records/appointments.ts';
import { apiAs, expectApiError, expectSchema } from '../../api/support.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());

const get = (id: string) => fixture.api.call('GET', `/v1/appointments/${id}`);

async function readId(ehr_id: string): Promise<string> {
  const [row] = await fixture.owner<{ id: string }[]>`SELECT id FROM appointments WHERE ehr_id = ${ehr_id}`;
  return row?.id ?? '';
}

test('schedule blocks are stored with their time, for availability', async () => {
  const blocks = await fixture.owner<{ minutes: number; provider_ehr_id: string }[]>`
    SELECT starts_at, minutes, provider_ehr_id, facility_ehr_id FROM schedule_blocks`;
  expect(blocks.length).toBeGreaterThan(0);
  const added = await fixture.api.control('POST', '/control/blocks', {
    providerId: '501',
    startsAt: '07/15/2030 12:00',
    minutes: 60,
    reason: 'Lunch',
  });
  await fixture.api.sync();
  const [block] = await fixture.owner`SELECT starts_at, minutes, provider_ehr_id, facility_ehr_id FROM schedule_blocks
    WHERE ehr_id = ${added.body.blockId}`;
  expect(block).toStrictEqual({
    starts_at: new Date('2030-07-15T16:00:00Z'),
    minutes: 60,
    provider_ehr_id: '501',
    facility_ehr_id: null,
  });
});

describe('GET /v1/appointments/{id}', () => {
  test('returns every field of every appointment', async () => {
    const rows = await fixture.owner<{ id: string; ehr_id: string }[]>`
      SELECT id, ehr_id FROM appointments LIMIT 60`;
    expect(rows).toHaveLength(60);
    for (const { id, ehr_id } of rows) {
      const response = await get(id);
      expectSchema('appointments.get', response);
      expect(Object.keys(response.body)).toStrictEqual(['success', 'appointment']);
      const { appointment } = response.body;
      expect(Object.keys(appointment).sort()).toStrictEqual([...Appointment.required].sort());
      expect(appointment).toMatchObject({ id, ehr_appointment_id: ehr_id });
      expect(appointment.datetime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:00-0[45]:00$/);
    }
  });

  test('returns the fields of the EMR, and the offset of its time zone', async () => {
    const { example } = fixture.sandbox;
    const [patient] = (await fixture.api.call('GET', `/v1/patients?mrn=${example.patient_mrn}`)).body.patients;
    const providers = (await fixture.api.call('GET', '/v1/providers')).body.providers;
    const provider = providers.find(({ ehr_id }: { ehr_id: string }) => ehr_id === example.provider_id);
    const place = { patientId: patient.ehr_id, providerId: example.provider_id, facilityId: example.location_id };
    const add = async (startsAt: string, more: object = {}) => {
      const added = await fixture.api.control('POST', '/control/appointments', { ...place, startsAt, ...more });
      expect(added.status, JSON.stringify(added.body)).toBe(201);
      return added.body.appointmentId as string;
    };
    const winter = await add('01/15/2030 09:30', {
      minutes: 45,
      statusCode: 'CON',
      visitTypeCode: 'NP',
      mode: 'VIDEO',
      reason: 'Knee',
      note: 'Bring the films',
      secondaryProviderId: '502',
      diagnoses: [{ code: 'M25.561', description: 'Pain in right knee' }],
      medications: [{ name: 'Ibuprofen', strength: '400 mg', frequency: 'twice a day' }],
    });
    const summer = await add('07/15/2030 09:30', { statusCode: 'CAN' });
    await fixture.api.sync();
    const { appointment } = (await get(await readId(winter))).body;
    expect(appointment).toMatchObject({
      ehr_appointment_id: winter,
      datetime: '2030-01-15T09:30:00-05:00',
      duration: 45,
      status: 'CON',
      appointment_mode: 'VIDEO',
      appointment_type: 'NP',
      location: example.location_id,
      reason: 'Knee',
      complaint_type: null,
      patient_first_name: patient.first_name,
      patient_last_name: patient.last_name,
      patient_name: `${patient.first_name} ${patient.last_name}`,
      patient_mrn: example.patient_mrn,
      patient_ehr_id: patient.ehr_id,
      patient_dob: patient.dob,
      patient_gender: patient.sex,
      provider_ehr_id: example.provider_id,
      provider_name: provider.name,
      provider_npi: provider.npi,
      secondary_provider_ehr_id: '502',
      diagnoses: [{ code: 'M25.561', description: 'Pain in right knee' }],
      medications: [{ name: 'Ibuprofen', strength: '400 mg', frequency: 'twice a day' }],
      note: 'Bring the films',
      progress_note: null,
      object_metadata: { created_at: expect.stringMatching(/Z$/) },
    });
    expect((await get(await readId(summer))).body.appointment).toMatchObject({
      datetime: '2030-07-15T09:30:00-04:00',
      reason: null,
      note: null,
      secondary_provider_ehr_id: null,
      diagnoses: [],
      medications: [],
    });
    const stored = await fixture.owner`SELECT ehr_id, starts_at, minutes, provider_ehr_id, secondary_provider_ehr_id,
      facility_ehr_id, visit_type, cancelled FROM appointments WHERE ehr_id IN (${winter}, ${summer}) ORDER BY starts_at`;
    expect(stored[0]).toStrictEqual({
      ehr_id: winter,
      starts_at: new Date('2030-01-15T14:30:00Z'),
      minutes: 45,
      provider_ehr_id: example.provider_id,
      secondary_provider_ehr_id: '502',
      facility_ehr_id: example.location_id,
      visit_type: 'NP',
      cancelled: false,
    });
    expect(stored[1]).toMatchObject({ starts_at: new Date('2030-07-15T13:30:00Z'), cancelled: true });
  });

  test('returns the same id and created_at after a sync', async () => {
    const [row] = await fixture.owner<{ id: string; ehr_id: string }[]>`SELECT id, ehr_id FROM appointments LIMIT 1`;
    const { id = '', ehr_id = '' } = row ?? {};
    const before = (await get(id)).body.appointment;
    await fixture.api.control('PATCH', `/control/appointments/${ehr_id}`, { reason: 'Moved' });
    await fixture.api.sync();
    const after = (await get(id)).body.appointment;
    expect(after).toStrictEqual({ ...before, reason: 'Moved' });
  });

  test.each(['unknown', '0'.repeat(32), '1', '%27'])('returns 404 for the id %s', async (id) => {
    const message = `Appointment with ID '${decodeURIComponent(id)}' not found.`;
    expectApiError(await get(id), 404, message, 'id');
  });

  test('returns 404 for an EMR id, and for another organization', async () => {
    const [row] = await fixture.owner<{ id: string; ehr_id: string }[]>`SELECT id, ehr_id FROM appointments LIMIT 1`;
    const { id = '', ehr_id = '' } = row ?? {};
    expect((await get(ehr_id)).status).toBe(404);
    const access_token = await fixture.api.link({ user_id: 'elsewhere', org_id: 'elsewhere', staff: 1 });
    const other_api = apiAs(fixture, { ...fixture.sandbox, access_token });
    const response = await other_api.call('GET', `/v1/appointments/${id}`);
    expectApiError(response, 404, `Appointment with ID '${id}' not found.`, 'id');
    expect((await get(id)).status).toBe(200);
  });

  test('rejects query parameters', async () => {
    const response = await fixture.api.call('GET', '/v1/appointments/unknown?include=all');
    expectApiError(response, 400, 'Unexpected query parameters: include', 'include');
  });
});
