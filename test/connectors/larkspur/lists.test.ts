import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Operations } from '../../../src/emr/operations/operations.ts';
import { AppointmentSource } from '../../../src/model/records/appointments.ts';
import { ClaimSource } from '../../../src/model/records/claims.ts';
import { InsuranceProviderSource } from '../../../src/model/records/insuranceProviders.ts';
import { LocationSource } from '../../../src/model/records/locations.ts';
import { OrderSource } from '../../../src/model/records/orders.ts';
import { PatientSource } from '../../../src/model/records/patients.ts';
import { PharmacySource } from '../../../src/model/records/pharmacies.ts';
import { ProviderSource } from '../../../src/model/records/providers.ts';
import { ReferringProviderSource } from '../../../src/model/records/referringProviders.ts';
import { StaffMemberSource } from '../../../src/model/records/staff.ts';
import { CodeLists } from '../../../src/model/settings.ts';
import {
  collect,
  createEndpoint,
  createOperations,
  type LarkspurFixture,
  openFixture,
  signedInGrant,
} from './fixture.ts';

let fixture: LarkspurFixture;
let emr: Operations;
let calls: string[];
beforeAll(async () => {
  fixture = await openFixture();
  const endpoint = createEndpoint(fixture.emr.url);
  calls = endpoint.calls;
  emr = createOperations(endpoint, fixture.credentials, await signedInGrant(fixture)).emr;
});
afterAll(() => fixture.close());

describe('the lists of a practice', () => {
  test.each<[keyof Operations & `list${string}s`, TSchema, number]>([
    ['listProviders', ProviderSource, 8],
    ['listLocations', LocationSource, 3],
    ['listPharmacies', PharmacySource, 15],
    ['listPatients', PatientSource, 200],
    ['listInsuranceProviders', InsuranceProviderSource, 18],
    ['listReferringProviders', ReferringProviderSource, 12],
    ['listOrders', OrderSource, 240],
    ['listClaims', ClaimSource, 2000],
  ])('%s returns every record in the interface’s format', async (name, schema, count) => {
    const records = await collect((emr[name] as () => AsyncIterable<unknown[]>)());
    const shape = Compile(schema);
    expect(records.filter((record) => !shape.Check(record))).toEqual([]);
    expect(records).toHaveLength(count);
  });

  test('appointments are returned in the interface’s format and in local time', async () => {
    const appointments = await collect(emr.listAppointments());
    expect(appointments.length).toBeGreaterThan(1000);
    const shape = Compile(AppointmentSource);
    expect(appointments.filter((each) => !shape.Check(each))).toEqual([]);
    for (const { starts } of appointments) expect(starts).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:00$/);
    expect(new Set(appointments.map(({ cancelled }) => cancelled))).toEqual(new Set([true, false]));
    for (const block of await collect(emr.listScheduleBlocks())) {
      expect(block.starts).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:00$/);
      expect(block.minutes).toBeGreaterThan(0);
    }
  });

  test('codes are returned unchanged, and required fields by their interface names', async () => {
    expect(await collect(emr.listVisitTypes())).toContainEqual({
      ehr_id: 'NP',
      code: 'NP',
      description: 'New patient',
      minutes: expect.any(Number),
    });
    expect(await collect(emr.listVisitStatuses())).toContainEqual({
      ehr_id: 'CAN',
      code: 'CAN',
      description: 'Cancelled',
      minutes: null,
    });
    const value = ['homePhone', 'birthDate', 'email', 'noEmailReason', 'renderingProviderId'];
    await fixture.control('PATCH', '/settings/requiredPatientFields', { value });
    const lists = await emr.getCodeLists();
    expect(Compile(CodeLists).Check(lists)).toBe(true);
    expect(lists.languages).toContainEqual({ code: 'ENG', name: 'English' });
    expect(lists.required_patient_fields).toEqual([
      'phone',
      'dob',
      'email',
      'no_email_reason',
      'referred_to_provider_id',
    ]);
  });

  test('staff have a role and a status', async () => {
    const staff = await collect(emr.listStaff());
    expect(staff).toHaveLength(12);
    expect(staff.every((one) => Compile(StaffMemberSource).Check(one))).toBe(true);
    expect(staff[0]).toEqual({ ehr_id: '701', name: 'Avery Deskwell', role: 'frontdesk', status: 'active' });
    expect(staff.at(-1)).toMatchObject({ ehr_id: '712', status: 'inactive' });
  });

  test('are read over all pages', async () => {
    for (let n = 0; n < 3; n++) await fixture.control('POST', '/patients', { lastName: 'Later', firstName: String(n) });
    calls.length = 0;
    const sizes: number[] = [];
    for await (const page of emr.listPatients()) sizes.push(page.length);
    expect(sizes).toEqual([200, 3]);
    expect(calls).toHaveLength(2);
  });

  test('return null for values that Larkspur leaves empty', async () => {
    const added = (await fixture.control('POST', '/patients', {
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

  test('a patient is found only by the complete MRN', async () => {
    expect(await emr.findPatient('LK100001')).toMatchObject({ ehr_id: '10001', mrn: 'LK100001' });
    for (const mrn of ['LK10000', 'lk100001', 'LK100001 ', '%', '', 'LK1&mrn=LK100001']) {
      expect(await emr.findPatient(mrn)).toBeUndefined();
    }
  });

  test('hours have their dates, recurrence and visit rules', async () => {
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
    await fixture.control('PATCH', '/providers/501', {
      weeklyHours: [
        { dayName: 'Monday', shifts: [{ ...shift, ...open }] },
        { dayName: 'Tuesday', shifts: ['24:00', '00:00', '23:59'].map((endTime) => ({ ...shift, ...open, endTime })) },
        {
          dayName: 'Saturday',
          shifts: [
            { ...shift, effectiveTo: '12/31/2026', description: 'Clinic', recurrence, visitRules: [rule] },
            // An invalid date: a shift with an unknown end is not offered.
            { ...shift, ...open, effectiveTo: '02/30/2026' },
          ],
        },
      ],
    });
    const [provider] = await collect(emr.listProviders());
    expect(provider).toMatchObject({ ehr_id: '501', name: 'Harper Samplewell, MD', timezone: 'America/New_York' });
    const plain = {
      start: 'T09:00:00',
      end: 'T12:30:00',
      facility_id: '11',
      set_start_date: '2026-01-05T00:00:00',
    };
    expect(provider?.hours).toStrictEqual([
      { day: 'Monday', shifts: [plain] },
      { day: 'Tuesday', shifts: ['T24:00:00', 'T24:00:00', 'T23:59:00'].map((end) => ({ ...plain, end })) },
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
