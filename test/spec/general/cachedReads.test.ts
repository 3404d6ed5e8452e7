import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Answer } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { fetchLive } from '../support/fetchLive.ts';

let world: TestSandbox;
beforeAll(async () => {
  world = await startSandbox({ small: true });
});
afterAll(() => world.close());

const providerOf = async (ehr_id: string): Promise<Answer['body']> => {
  const { providers } = (await world.api.call('GET', '/v1/providers')).body;
  return providers.find((each: Answer['body']) => each.ehr_id === ehr_id);
};

test(row('GEN-15'), async () => {
  const { patient_mrn } = world.sandbox.example;
  const reads = ['list_patients', 'get_patient', 'list_patient_insurances', 'list_encounters'];
  for (const operation of reads) {
    await world.api.control('POST', '/control/faults', { operation, kind: 'delay', delay_ms: 1, times: 1 });
  }
  await world.api.control('PATCH', '/control/patients/10001', { email: 'later@example.org' });
  const faults = async () => (await world.api.control('GET', '/control/faults')).body.faults.length;
  expect(await faults()).toBe(reads.length);
  for (const query of ['', `?mrn=${patient_mrn}`, '?last_name=a&page_size=1000']) {
    expect((await world.api.call('GET', `/v1/patients${query}`)).status).toBe(200);
  }
  const [patient] = (await world.api.call('GET', `/v1/patients?mrn=${patient_mrn}`)).body.patients;
  expect(patient.email).not.toBe('later@example.org');
  // A fault is used up by the first call that meets it.
  expect(await faults()).toBe(reads.length);
  await world.api.control('DELETE', '/control/faults');
});

test(row('GEN-16'), async () => {
  const mrn = 'LK100007';
  await world.api.control('PATCH', '/control/patients/10007', { email: 'fresh@example.org' });
  expect((await fetchLive(world.api, { search_by: 'mrn', mrn })).data.email).toBe('fresh@example.org');
  const [cached] = (await world.api.call('GET', `/v1/patients?mrn=${mrn}`)).body.patients;
  expect(cached.email).not.toBe('fresh@example.org');
});

test(row('GEN-21'), async () => {
  const hours = [{ day: 'Sunday', shifts: [{ start: 'T08:00:00', end: 'T10:00:00' }] }];
  const body = { status: 'inactive', hide_in_availability: 'true', hours };
  expect((await world.api.call('PATCH', '/v1/providers/ehr/505', { body })).status).toBe(200);
  const set = { status: 'inactive', hide_in_availability: true, hours };
  expect(await providerOf('505')).toMatchObject(set);
  // The clinic changes something of the provider, so that the sync has a new record to bring.
  await world.api.control('PATCH', '/control/providers/505', { displayName: 'Renamed, MD', activeFlag: 'Y' });
  await world.api.sync();
  expect(await providerOf('505')).toMatchObject({ name: 'Renamed, MD', ...set });
});
