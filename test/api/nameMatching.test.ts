import { beforeAll, describe, expect, test } from 'vitest';
import { foldName } from '../../larkspur/records/foldName.ts';
import { fold } from '../../src/model/fold.ts';
import { namesOfAllCharacters } from '../harness/names.ts';
import type { TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';
import { fetchLive } from '../spec/support/fetchLive.ts';

test.each([
  ['Zoë', 'zoe'],
  ['Zoe\u0308', 'zoe'],
  ['  ANNA \t Marie\u00a0', 'anna marie'],
  ['Straße', 'strasse'],
  ['STRASSE', 'strasse'],
  ['ﬁnn', 'finn'],
  ['İbrahim', 'ibrahim'],
  ['ΝΙΚΟΣ', 'νικοσ'],
  ['Νίκος', 'νικοσ'],
  ['\u0308 ', ''],
  ["O'Neil", 'oneil'],
  ['O\u2019Neil', 'oneil'],
  ['O\u00b4Neil', 'oneil'],
  ['O\uff07NEIL', 'oneil'],
  ['\u02bbIolani', 'iolani'],
  ['Anne-Marie', 'anne marie'],
  ['Anne\u2011Marie', 'anne marie'],
  ['Anne \u2013 Marie', 'anne marie'],
  ['Anne\u00adMarie', 'anne marie'],
  ['An\u200bna', 'anna'],
  ["-'", ''],
])('%j is compared as %j, in the service and in Larkspur', (name, folded) => {
  expect(fold(name)).toBe(folded);
  expect(foldName(name)).toBe(folded);
});

test('every character is compared alike in the service and in Larkspur', () => {
  const names = namesOfAllCharacters();
  expect(names.filter((name) => fold(name) !== foldName(name))).toStrictEqual([]);
});

describe('a patient with accents and several words in the name', () => {
  const stored = { first_name: 'Zoë Renée', last_name: "O'Strauß-Ångström" };
  const variants = [
    stored,
    { first_name: 'Zoe\u0308 Rene\u0301e', last_name: 'O\u2019Strauß\u2010A\u030angstro\u0308m' },
    { first_name: '  zoe   renee ', last_name: ' O\u00b4STRAUSS ANGSTROM\t' },
    { first_name: 'Zoë-Renée', last_name: 'OStrauss\u2013Angstrom' },
  ];
  let fixture: TestSandbox;
  let patient_id: string;
  let mrn: string;
  beforeAll(async () => {
    fixture = await sharedSandbox();
    const response = await create(stored);
    patient_id = response.body.patient_id;
    mrn = (await fixture.api.untilEvent(response.body.job_id)).data.mrn;
  });
  const create = (names: object) =>
    fixture.api.call('POST', '/v1/patients', { body: { ...names, dob: '1988-08-18', sex: 'female' } });

  test.each(variants)('is found by a live fetch, with the service’s id: %j', async (names) => {
    const { data } = await fetchLive(fixture.api, { search_by: 'name', ...names });
    expect(data.patients.map((each: { mrn: string; id: string }) => [each.mrn, each.id])).toStrictEqual([
      [mrn, patient_id],
    ]);
    expect(data.id).toBe(patient_id);
  });

  test.each(variants)('is found in the synced list: %j', async (names) => {
    const { body } = await fixture.api.call('GET', `/v1/patients?${new URLSearchParams(names)}`);
    expect(body.patients.map((each: { mrn: string }) => each.mrn)).toStrictEqual([mrn]);
  });

  test.each(variants)('is a duplicate: %j', async (names) => {
    const response = await create(names);
    const { event_type, data } = await fixture.api.untilEvent(response.body.job_id);
    expect([event_type, data.duplicate_patient_mrn]).toStrictEqual(['patient.failed', mrn]);
  });

  test.each([
    { first_name: 'Zoë', last_name: stored.last_name },
    { first_name: stored.first_name, last_name: 'Ostrauss' },
    { first_name: 'Z', last_name: 'O' },
  ])('is not found by a live fetch for the beginning of a name: %j', async (names) => {
    const { data } = await fetchLive(fixture.api, { search_by: 'name', ...names });
    expect(data).toStrictEqual({ success: true, patient_count: 0, patients: [] });
  });

  test('is not found by a name without letters, which would match everyone', async () => {
    const { body } = await fixture.api.call('GET', `/v1/patients?${new URLSearchParams({ last_name: '\u0301' })}`);
    expect(body.patients).toStrictEqual([]);
    const { data } = await fetchLive(fixture.api, { search_by: 'name', first_name: '\u0301', last_name: '\u0301' });
    expect(data.patients).toStrictEqual([]);
  });
});

test('a live-fetched patient whom no sync has read has a null id', async () => {
  const fixture = await sharedSandbox();
  const person = { firstName: 'Unsynced', lastName: 'Newcomer' };
  const { mrn } = (await fixture.api.control('POST', '/control/patients', person)).body;
  const { data } = await fetchLive(fixture.api, { search_by: 'mrn', mrn });
  expect(data).toMatchObject({ id: null, patients: [{ id: null, mrn }] });
});
