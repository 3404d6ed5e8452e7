import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Operations } from '../../src/connectors/connector.ts';
import { LocationSource } from '../../src/model/location.ts';
import { PatientSource } from '../../src/model/patient.ts';
import { PharmacySource } from '../../src/model/pharmacy.ts';
import { ProviderSource } from '../../src/model/provider.ts';
import { StaffMemberSource } from '../../src/model/staff.ts';
import { failureOf, gather, lie, openDoor, openOperations, openPlace, type Place, signedInGrant } from './place.ts';

let place: Place;
let emr: Operations;
let calls: string[];
beforeAll(async () => {
  place = await openPlace();
  const door = openDoor(place.emr.url);
  calls = door.calls;
  emr = openOperations(door, place.credentials, await signedInGrant(place)).emr;
});
afterAll(() => place.close());

describe('the lists of a practice', () => {
  test.each<[keyof Operations & `list${string}s`, TSchema, number]>([
    ['listProviders', ProviderSource, 8],
    ['listLocations', LocationSource, 3],
    ['listPharmacies', PharmacySource, 15],
    ['listPatients', PatientSource, 200],
  ])('%s gives every record in our own shape', async (name, schema, count) => {
    const records = await gather((emr[name] as () => AsyncIterable<unknown[]>)());
    const shape = Compile(schema);
    expect(records.filter((record) => !shape.Check(record))).toEqual([]);
    expect(records).toHaveLength(count);
  });

  test('staff have their role and whether they still work there', async () => {
    const staff = await gather(emr.listStaff());
    expect(staff).toHaveLength(12);
    expect(staff.every((one) => Compile(StaffMemberSource).Check(one))).toBe(true);
    expect(staff[0]).toEqual({ ehr_id: '701', name: 'Avery Deskwell', role: 'frontdesk', status: 'active' });
    expect(staff.at(-1)).toMatchObject({ ehr_id: '712', status: 'inactive' });
  });

  test('go on over as many pages as there are', async () => {
    for (let n = 0; n < 3; n++) await place.control('POST', '/patients', { lastName: 'Later', firstName: String(n) });
    calls.length = 0;
    const sizes: number[] = [];
    for await (const page of emr.listPatients()) sizes.push(page.length);
    expect(sizes).toEqual([200, 3]);
    expect(calls).toHaveLength(2);
  });

  test('say null where Larkspur says nothing', async () => {
    const added = (await place.control('POST', '/patients', {
      lastName: 'Blank',
      firstName: 'Ann',
      middleName: '',
      email: ' ',
      birthDate: '02/29/2024',
      sexCode: 'F',
    })) as { mrn: string; patientId: string };
    expect(await emr.findPatient(added.mrn)).toEqual({
      ehr_id: added.patientId,
      mrn: added.mrn,
      first_name: 'Ann',
      middle_name: null,
      last_name: 'Blank',
      dob: '2024-02-29',
      sex: 'female',
      phone: null,
      cell_phone: null,
      email: null,
      address_street: null,
      address_line2: null,
      address_city: null,
      address_state: null,
      address_zip: null,
      insurance_name: null,
      insurance_subscriber_number: null,
    });
  });

  test('a patient is found by the whole MRN alone', async () => {
    expect(await emr.findPatient('LK100001')).toMatchObject({ ehr_id: '10001', mrn: 'LK100001' });
    for (const mrn of ['LK10000', 'lk100001', 'LK100001 ', '%', '', 'LK1&mrn=LK100001']) {
      expect(await emr.findPatient(mrn)).toBeUndefined();
    }
  });

  test('hours come with their dates, recurrence and visit rules', async () => {
    const shift = {
      startTime: '09:00',
      endTime: '12:30',
      facilityId: '11',
      effectiveFrom: '01/05/2026',
      description: null,
    };
    const open = { effectiveTo: null, recurrence: null, visitRules: [] };
    const recurrence = { startDate: '01/10/2026', intervalType: 'weeks', intervalAmount: 2, description: null };
    const rule = { startTime: '09:00', endTime: '10:00', visits: 2, visitTypeCode: 'NP', visitTypeName: 'New patient' };
    await place.control('PATCH', '/providers/501', {
      weeklyHours: [
        { dayName: 'Monday', shifts: [{ ...shift, ...open }] },
        {
          dayName: 'Saturday',
          shifts: [
            { ...shift, effectiveTo: '12/31/2026', description: 'Clinic', recurrence, visitRules: [rule] },
            // No such day: a shift whose end is unknown is not offered.
            { ...shift, ...open, effectiveTo: '02/30/2026' },
          ],
        },
      ],
    });
    const [provider] = await gather(emr.listProviders());
    expect(provider).toMatchObject({ ehr_id: '501', name: 'Harper Samplewell, MD', timezone: 'America/New_York' });
    const plain = {
      start: 'T09:00:00',
      end: 'T12:30:00',
      facility_id: '11',
      set_start_date: '2026-01-05T00:00:00',
    };
    expect(provider?.hours).toStrictEqual([
      { day: 'Monday', shifts: [plain] },
      {
        day: 'Saturday',
        shifts: [
          {
            ...plain,
            set_end_date: '2026-12-31T00:00:00',
            set_description: 'Clinic',
            recurrence: {
              rec_start_date: '2026-01-10T00:00:00',
              recur_interval_type: 'weeks',
              recur_interval_amount: 2,
              recur_interval_description: 'Every 2 weeks',
            },
            visit_type_rules: [
              {
                start_time: '09:00:00',
                end_time: '10:00:00',
                total_visits: 2,
                visit_type_id: 'NP',
                visit_type_desc: 'New patient',
              },
            ],
          },
        ],
      },
    ]);
  });
});

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
    const liar = await lie(({ url }) => {
      const page = Number(new URL(url ?? '', 'http://liar').searchParams.get('page'));
      return { json: answers[page - 1] ?? { total: 0, rows: [] } };
    });
    closers.push(liar.close);
    return gather(openOperations(openDoor(liar.url), {}, {}).emr.listStaff());
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
    ['a missing page', [{ total: 201, rows: people(1, 200) }]],
    ['the same page twice', [1, 2].map(() => ({ total: 400, rows: people(1, 200) }))],
    ['a repeated id', [{ total: 2, rows: [...people(1, 1), ...people(1, 1)] }]],
    [
      'a record removed while it was read',
      [
        { total: 400, rows: people(1, 200) },
        { total: 399, rows: people(202, 400) },
      ],
    ],
  ])('%s: unavailable', async (_, answers) => {
    const failure = await failureOf(listFrom(answers));
    expect(failure).toMatchObject({ kind: 'unavailable', message: 'Larkspur gave an incomplete list.' });
  });

  test.each<[string, unknown]>([
    ['no total', { rows: people(1, 1) }],
    ['no rows', { total: 0 }],
    ['a row without an id', { total: 1, rows: [{ displayName: 'A', role: '', activeFlag: 'Y' }] }],
    ['an empty id', { total: 1, rows: [{ ...people(1, 1)[0], staffId: '' }] }],
    ['null', null],
    ['a list', []],
  ])('an answer with %s cannot be read', async (_, answer) => {
    const failure = await failureOf(listFrom([answer ?? 'null']));
    expect(failure).toMatchObject({ kind: 'unavailable', message: 'Larkspur gave an answer that could not be read.' });
  });

  test('a search that gives somebody else finds nobody', async () => {
    const patient = { patientId: '1', mrn: 'LK2', firstName: '', middleName: null, lastName: '', birthDate: null };
    const contact = { sexCode: 'U', homePhone: null, cellPhone: null, email: null };
    const address = { line1: '', line2: null, city: '', state: '', zip: '' };
    const row = { ...patient, ...contact, address, primaryInsuranceName: null, primarySubscriberNumber: null };
    const rows = [row, { ...row, patientId: '2' }];
    const liar = await lie(({ url }) => ({
      json: url?.includes('LK1') ? { total: 1, rows: [row] } : { total: 2, rows },
    }));
    closers.push(liar.close);
    const { emr: lying } = openOperations(openDoor(liar.url), {}, {});
    expect(await failureOf(lying.findPatient('LK1'))).toMatchObject({ kind: 'unavailable' });
    expect(await failureOf(lying.findPatient('LK2'))).toMatchObject({
      kind: 'refused',
      message: 'Larkspur has several patients with this MRN.',
    });
  });
});
