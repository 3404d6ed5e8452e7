import { beforeAll, expect, test } from 'vitest';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { fetchLive } from '../support/fetchLive.ts';

type Names = { first_name: string; last_name: string };

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

/** Requests a chart and returns the event's data. */
const create = async (names: Names) => {
  const body = { ...names, dob: '1979-09-19', sex: 'female' };
  const { job_id } = (await fixture.api.call('POST', '/v1/patients', { body })).body;
  return (await fixture.api.untilEvent(job_id)).data;
};
const fetchedMrns = async (names: Names): Promise<string[]> => {
  const { data } = await fetchLive(fixture.api, { search_by: 'name', ...names });
  return data.patients.map(({ mrn }: { mrn: string }) => mrn);
};

test(row('VAL-01'), async () => {
  const { mrn } = await create({ first_name: 'Joanna', last_name: 'Leewood' });
  expect(await fetchedMrns({ first_name: 'Jo', last_name: 'Lee' })).toStrictEqual([]);
  expect(await fetchedMrns({ first_name: 'Joanna', last_name: 'Lee' })).toStrictEqual([]);
  expect(await fetchedMrns({ first_name: 'Jo', last_name: 'Leewood' })).toStrictEqual([]);
  const short = await create({ first_name: 'Jo', last_name: 'Lee' });
  expect(await fetchedMrns({ first_name: 'JO', last_name: 'lee' })).toStrictEqual([short.mrn]);
  expect(await fetchedMrns({ first_name: 'Joanna', last_name: 'Leewood' })).toStrictEqual([mrn]);
});

test(row('VAL-02'), async () => {
  const { mrn } = await create({ first_name: 'Anne-Marie', last_name: 'O\u2019Neil' });
  for (const names of [
    { first_name: 'Anne Marie', last_name: "O'Neil" },
    { first_name: 'ANNE\u2010MARIE', last_name: 'ONEIL' },
    { first_name: 'Anné\u2013Marie', last_name: 'O\u02bcNeil' },
  ]) {
    expect(await fetchedMrns(names)).toStrictEqual([mrn]);
    expect(await create(names)).toMatchObject({ duplicate_patient_mrn: mrn });
    const { body } = await fixture.api.call('GET', `/v1/patients?${new URLSearchParams(names)}`);
    expect(body.patients.filter((each: { mrn: string }) => each.mrn === mrn)).toHaveLength(1);
  }
});
