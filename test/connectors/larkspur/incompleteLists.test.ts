import { afterEach, describe, expect, test } from 'vitest';
import { awaitFailure, collect, createEndpoint, createOperations, startFakeServer } from './fixture.ts';

describe('an incomplete list', () => {
  const closers: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    await Promise.all(closers.splice(0).map((close) => close()));
  });

  /** Staff numbered from first to last. */
  const people = (first: number, last: number) =>
    Array.from({ length: last - first + 1 }, (_, n) => ({
      staffId: String(first + n),
      displayName: 'A',
      role: '',
      activeFlag: 'Y',
    }));

  async function listFrom(responses: unknown[]) {
    const fake = await startFakeServer(({ url }) => {
      const page = Number(new URL(url ?? '', 'http://liar').searchParams.get('page'));
      // Repeats the last page, as a cache would. The list must end nevertheless.
      return { json: responses[page - 1] ?? responses.at(-1) };
    });
    closers.push(fake.close);
    return collect(createOperations(createEndpoint(fake.url), {}, {}).emr.listStaff());
  }

  test('differs from a complete one and from an empty one', async () => {
    const complete = [
      { total: 201, rows: people(1, 200) },
      { total: 201, rows: people(201, 201) },
    ];
    expect(await listFrom(complete)).toHaveLength(201);
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
    ['the same page forever', [{ total: 400, rows: people(1, 200) }]],
    ['a repeated id in a complete list', [{ total: 2, rows: [...people(1, 1), ...people(1, 2)] }]],
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
  ])('%s: unavailable', async (_, responses) => {
    const failure = await awaitFailure(listFrom(responses));
    expect(failure).toMatchObject({ kind: 'unavailable', message: 'Larkspur returned an incomplete list.' });
  });

  test.each<[string, unknown]>([
    ['no total', { rows: people(1, 1) }],
    ['no rows', { total: 0 }],
    ['a row without an id', { total: 1, rows: [{ displayName: 'A', role: '', activeFlag: 'Y' }] }],
    ['an empty id', { total: 1, rows: [{ ...people(1, 1)[0], staffId: '' }] }],
    ['a text', 'null'],
    ['a list', []],
  ])('a response with %s is unreadable', async (_, response) => {
    const failure = await awaitFailure(listFrom([response]));
    expect(failure).toMatchObject({ kind: 'unavailable', message: 'Larkspur sent an unreadable response.' });
  });

  test('a search that returns another patient finds nobody', async () => {
    const patient = { patientId: '1', mrn: 'LK2', firstName: '', middleName: null, lastName: '', birthDate: null };
    const contact = { sexCode: 'U', homePhone: null, cellPhone: null, email: null };
    const address = { line1: '', line2: null, city: '', state: '', zip: '' };
    const row = {
      ...patient,
      ...contact,
      address,
      primaryInsuranceName: null,
      primarySubscriberNumber: null,
      mergedInto: null,
    };
    const rows = [row, { ...row, patientId: '2' }];
    const fake = await startFakeServer(({ url }) => ({
      json: url?.includes('LK1') ? { total: 1, rows: [row] } : { total: 2, rows },
    }));
    closers.push(fake.close);
    const { emr: faulty } = createOperations(createEndpoint(fake.url), {}, {});
    expect(await awaitFailure(faulty.findPatient('LK1'))).toMatchObject({ kind: 'unavailable' });
    expect(await awaitFailure(faulty.findPatient('LK2'))).toMatchObject({
      kind: 'refused',
      code: 'patient_ambiguous',
      message: 'Larkspur has several patients with this MRN.',
    });
  });
});
