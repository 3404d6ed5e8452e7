import { afterEach, describe, expect, test } from 'vitest';
import { collect, failureOf, openEndpoint, openOperations, startFakeServer } from './fixture.ts';

describe('a list that is not whole', () => {
  const closers: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    await Promise.all(closers.splice(0).map((close) => close()));
  });

  /** Staff from the first to the last number. */
  const people = (first: number, last: number) =>
    Array.from({ length: last - first + 1 }, (_, n) => ({
      staffId: String(first + n),
      displayName: 'A',
      role: '',
      activeFlag: 'Y',
    }));

  async function listFrom(answers: unknown[]) {
    const fake = await startFakeServer(({ url }) => {
      const page = Number(new URL(url ?? '', 'http://liar').searchParams.get('page'));
      // The last one again and again, as a cache would: a list must not go on for ever.
      return { json: answers[page - 1] ?? answers.at(-1) };
    });
    closers.push(fake.close);
    return collect(openOperations(openEndpoint(fake.url), {}, {}).emr.listStaff());
  }

  test('is told from one that is, and from one that is empty', async () => {
    const whole = [
      { total: 201, rows: people(1, 200) },
      { total: 201, rows: people(201, 201) },
    ];
    expect(await listFrom(whole)).toHaveLength(201);
    expect(await listFrom([{ total: 0, rows: [] }])).toEqual([]);
  });

  test.each<[string, unknown[]]>([
    ['a short first page', [{ total: 3, rows: people(1, 2) }]],
    ['no rows but a total', [{ total: 3, rows: [] }]],
    ['more rows than the total', [{ total: 1, rows: people(1, 2) }]],
    ['a short page in the middle', [{ total: 500, rows: people(1, 199) }]],
    [
      'a missing page',
      [
        { total: 201, rows: people(1, 200) },
        { total: 201, rows: [] },
      ],
    ],
    ['the same page for ever', [{ total: 400, rows: people(1, 200) }]],
    ['a repeated id in a whole list', [{ total: 2, rows: [...people(1, 1), ...people(1, 2)] }]],
    ['a repeated id', [{ total: 2, rows: [...people(1, 1), ...people(1, 1)] }]],
    [
      'a record removed while it was read',
      [
        { total: 400, rows: people(1, 200) },
        { total: 399, rows: people(202, 400) },
      ],
    ],
    [
      'a record removed and two added while it was read',
      [
        { total: 400, rows: people(1, 200) },
        { total: 401, rows: people(202, 401) },
      ],
    ],
  ])('%s: unavailable', async (_, answers) => {
    const failure = await failureOf(listFrom(answers));
    expect(failure).toMatchObject({ kind: 'unavailable', message: 'Larkspur returned an incomplete list.' });
  });

  test.each<[string, unknown]>([
    ['no total', { rows: people(1, 1) }],
    ['no rows', { total: 0 }],
    ['a row without an id', { total: 1, rows: [{ displayName: 'A', role: '', activeFlag: 'Y' }] }],
    ['an empty id', { total: 1, rows: [{ ...people(1, 1)[0], staffId: '' }] }],
    ['a text', 'null'],
    ['a list', []],
  ])('an answer with %s cannot be read', async (_, answer) => {
    const failure = await failureOf(listFrom([answer]));
    expect(failure).toMatchObject({ kind: 'unavailable', message: 'Larkspur sent an unreadable response.' });
  });

  test('a search that gives somebody else finds nobody', async () => {
    const patient = { patientId: '1', mrn: 'LK2', firstName: '', middleName: null, lastName: '', birthDate: null };
    const contact = { sexCode: 'U', homePhone: null, cellPhone: null, email: null };
    const address = { line1: '', line2: null, city: '', state: '', zip: '' };
    const row = { ...patient, ...contact, address, primaryInsuranceName: null, primarySubscriberNumber: null };
    const rows = [row, { ...row, patientId: '2' }];
    const fake = await startFakeServer(({ url }) => ({
      json: url?.includes('LK1') ? { total: 1, rows: [row] } : { total: 2, rows },
    }));
    closers.push(fake.close);
    const { emr: lying } = openOperations(openEndpoint(fake.url), {}, {});
    expect(await failureOf(lying.findPatient('LK1'))).toMatchObject({ kind: 'unavailable' });
    expect(await failureOf(lying.findPatient('LK2'))).toMatchObject({
      kind: 'refused',
      message: 'Larkspur has several patients with this MRN.',
    });
  });
});
