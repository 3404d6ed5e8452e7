import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Api } from '../harness/api.ts';
import { linkPlainEmr } from '../harness/plainEmr.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { countRows } from '../journeys/journey.ts';
import { expectRefusal } from './support.ts';

let world: TestSandbox;
let plain: Api;
beforeAll(async () => {
  world = await startSandbox({ small: true });
  plain = await linkPlainEmr(world);
});
afterAll(() => world.close());

const person = { first_name: 'Plain', last_name: 'Fieldless', dob: '1990-01-31', sex: 'unknown' };

describe('an EMR without what is restricted', () => {
  test('refuses each restricted field of a new patient by name, and stores nothing', async () => {
    const before = await countRows(world.owner);
    const fields: Record<string, unknown> = {
      insurance_provider_id: 'f'.repeat(32),
      referring_provider_id: 'f'.repeat(32),
      pcp_id: 'f'.repeat(32),
      responsible_party: 'spouse',
      responsible_party_first_name: 'A',
      responsible_party_last_name: 'B',
      responsible_party_sex: 'male',
      responsible_party_dob: '1990-01-31',
      responsible_party_phone: '518-555-0101',
      language: 'English',
      race: 'Asian',
      ethnicity: 'H',
      release_of_info: true,
      rx_history_consent: true,
      self_pay: true,
      default_facility_id: '11',
    };
    for (const [field, value] of Object.entries(fields)) {
      const answer = await plain.call('POST', '/v1/patients', { body: { ...person, [field]: value } });
      expectRefusal(answer, 400, `Field '${field}' is only supported for Larkspur EMR.`, field);
    }
    expect(await countRows(world.owner)).toStrictEqual(before);
  });

  test('takes a patient of the other fields', async () => {
    const body = {
      ...person,
      responsible_party: 'self',
      insurance_name: 'Mock Mutual',
      referring_provider_first_name: 'Some',
      referring_provider_last_name: 'Doctor',
      pcp_first_name: 'Other',
      pcp_last_name: 'Doctor',
    };
    const { status, body: accepted } = await plain.call('POST', '/v1/patients', { body });
    expect(status, JSON.stringify(accepted)).toBe(200);
    expect((await plain.untilEvent(accepted.job_id)).event_type).toBe('patient.created');
    const id = accepted.patient_id;
    for (const [field, value] of Object.entries({
      save_previous_address: false,
      referring_provider_id: 'f'.repeat(32),
      referring_provider_first_name: 'A',
      pcp_id: 'f'.repeat(32),
      pcp_last_name: 'B',
      referred_to_provider_id: '501',
    })) {
      const answer = await plain.call('PATCH', `/v1/patients/${id}`, {
        body: { email: 'x@example.test', [field]: value },
      });
      expectRefusal(answer, 400, `Field '${field}' is only supported for Larkspur EMR.`, field);
    }
    const patched = await plain.call('PATCH', `/v1/patients/${id}`, { body: { email: 'x@example.test' } });
    expect((await plain.untilEvent(patched.body.job_id)).event_type).toBe('patient.updated');
  });

  test('refuses restricted operations, and names the EMR that has them', async () => {
    expectRefusal(await plain.callIn(), 400, 'Telephone encounters are only supported for Larkspur EMR.');
    const path = `/v1/patients/${world.sandbox.example.patient_mrn}/insurances/1`;
    expectRefusal(
      await plain.call('PATCH', path, { body: { member_id: 'M' } }),
      400,
      'Insurance updates are only supported for Larkspur EMR.',
    );
    const fetch = { search_by: 'mrn', mrn: world.sandbox.example.patient_mrn };
    expectRefusal(
      await plain.call('POST', '/v1/patients/fetch', { body: { ...fetch, include: 'insurances' } }),
      400,
      "Field 'include' is only supported for Larkspur EMR.",
      'include',
    );
    const { body } = await plain.call('POST', '/v1/patients/fetch', { body: fetch });
    const { data } = await plain.untilEvent(body.job_id);
    expect(data).toMatchObject({ guarantors: [], alerts: null, patient_balance: null, account_balance: null });
  });
});
