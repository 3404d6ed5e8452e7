import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { fetchLive } from '../support/fetchLive.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  // Its own: jobs left by other files would use up the faults that count EMR calls.
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());

const readProvider = async (ehr_id: string): Promise<ApiResponse['body']> => {
  const { providers } = (await fixture.api.call('GET', '/v1/providers')).body;
  return providers.find((each: ApiResponse['body']) => each.ehr_id === ehr_id);
};

test(row('GEN-15'), async () => {
  const { patient_mrn } = fixture.sandbox.example;
  const reads = ['list_patients', 'get_patient', 'list_patient_insurances', 'list_encounters'];
  for (const operation of reads) {
    await fixture.api.control('POST', '/control/faults', { operation, kind: 'delay', delay_ms: 1, times: 1 });
  }
  await fixture.api.control('PATCH', '/control/patients/10001', { email: 'later@example.org' });
  const faults = async () => (await fixture.api.control('GET', '/control/faults')).body.faults.length;
  expect(await faults()).toBe(reads.length);
  for (const query of ['', `?mrn=${patient_mrn}`, '?last_name=a&page_size=1000']) {
    expect((await fixture.api.call('GET', `/v1/patients${query}`)).status).toBe(200);
  }
  const [patient] = (await fixture.api.call('GET', `/v1/patients?mrn=${patient_mrn}`)).body.patients;
  expect(patient.email).not.toBe('later@example.org');
  // The next call of the operation uses up a fault; none was called.
  expect(await faults()).toBe(reads.length);
  await fixture.api.control('DELETE', '/control/faults');
});

test(row('GEN-16'), async () => {
  const mrn = 'LK100007';
  await fixture.api.control('PATCH', '/control/patients/10007', { email: 'fresh@example.org' });
  expect((await fetchLive(fixture.api, { search_by: 'mrn', mrn })).data.email).toBe('fresh@example.org');
  const [cached] = (await fixture.api.call('GET', `/v1/patients?mrn=${mrn}`)).body.patients;
  expect(cached.email).not.toBe('fresh@example.org');
});

test(row('GEN-21'), async () => {
  const hours = [{ day: 'Sunday', shifts: [{ start: 'T08:00:00', end: 'T10:00:00' }] }];
  const body = { status: 'inactive', hide_in_availability: 'true', hours };
  expect((await fixture.api.call('PATCH', '/v1/providers/ehr/505', { body })).status).toBe(200);
  const set = { status: 'inactive', hide_in_availability: true, hours };
  expect(await readProvider('505')).toMatchObject(set);
  // Changes the provider in the EMR, so that the sync has a new record.
  await fixture.api.control('PATCH', '/control/providers/505', { displayName: 'Renamed, MD', activeFlag: 'Y' });
  await fixture.api.sync();
  expect(await readProvider('505')).toMatchObject({ name: 'Renamed, MD', ...set });
});
