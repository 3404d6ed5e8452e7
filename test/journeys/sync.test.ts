import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { endPauses, endRetries, setFault, until, untilFailedAttempt } from './support.ts';

const lists = ['providers', 'locations', 'staff', 'pharmacies', 'patients'] as const;
type List = (typeof lists)[number];
type Listed = Record<string, unknown> & { id: string; ehr_id: string };

async function read(fixture: TestSandbox, list: List): Promise<Listed[]> {
  const query = list === 'patients' ? '?page_size=1000' : '';
  const { status, body } = await fixture.api.call('GET', `/v1/${list}${query}`);
  expect(status).toBe(200);
  return body[list];
}

async function find(fixture: TestSandbox, list: List, ehr_id: string): Promise<Listed | undefined> {
  return (await read(fixture, list)).find((record) => record.ehr_id === ehr_id);
}

async function sync(fixture: TestSandbox) {
  const accepted = await fixture.api.call('POST', '/v1/sync');
  expect(accepted.status).toBe(200);
  expect(accepted.body).toStrictEqual({ success: true, message: expect.any(String), job_id: expect.any(Number) });
  return fixture.api.untilEvent(accepted.body.job_id);
}

describe('a sync', () => {
  let fixture: TestSandbox;
  beforeAll(async () => {
    fixture = await startSandbox({ small: true });
  });
  afterAll(() => fixture.close());

  test('ends in sync.completed with the number of records of each kind', async () => {
    const event = await sync(fixture);
    expect(event.event_type).toBe('sync.completed');
    expect(event.data).toStrictEqual({
      org_id: fixture.sandbox.org_id,
      records: {
        locations: 3,
        providers: 8,
        staff: 12,
        pharmacies: 15,
        visit_types: 8,
        visit_statuses: 7,
        insurance_providers: 18,
        referring_providers: 12,
        patients: 200,
        patient_insurances: expect.any(Number),
        eligibility_checks: expect.any(Number),
        referrals: expect.any(Number),
        appointments: 60,
        schedule_blocks: expect.any(Number),
        orders: 240,
        claims: 60,
      },
    });
  });

  test('applies changes made in the EMR and keeps the ids of the records', async () => {
    const before = await Promise.all(lists.map((list) => read(fixture, list)));
    await fixture.api.control('PATCH', '/control/providers/502', {
      displayName: 'Renamed Provider, DO',
      activeFlag: 'N',
    });
    await fixture.api.control('PATCH', '/control/patients/10007', {
      lastName: 'Renamed',
      address: { city: 'Springfield' },
    });
    await fixture.api.control('PATCH', '/control/staff/704', { displayName: 'Renamed Nurse' });
    await fixture.api.control('PATCH', '/control/pharmacies/9003', { name: 'Renamed Pharmacy' });
    await sync(fixture);
    expect(await find(fixture, 'providers', '502')).toMatchObject({ name: 'Renamed Provider, DO', status: 'inactive' });
    expect(await find(fixture, 'patients', '10007')).toMatchObject({
      last_name: 'Renamed',
      address_city: 'Springfield',
    });
    expect(await find(fixture, 'staff', '704')).toMatchObject({ name: 'Renamed Nurse' });
    expect(await find(fixture, 'pharmacies', '9003')).toMatchObject({ name: 'Renamed Pharmacy' });
    const response = await fixture.api.call('GET', '/v1/patients?last_name=renamed');
    expect(response.body.patients.map(({ ehr_id }: Listed) => ehr_id)).toStrictEqual(['10007']);
    const after = await Promise.all(lists.map((list) => read(fixture, list)));
    const ids = (records: Listed[][]) => records.map((list) => list.map(({ id, ehr_id }) => `${ehr_id} ${id}`).sort());
    expect(ids(after)).toStrictEqual(ids(before));
  });

  test('adds new records and removes deleted ones', async () => {
    const added = await fixture.api.control('POST', '/control/patients', { firstName: 'Nova', lastName: 'Newcomer' });
    const facility = await fixture.api.control('POST', '/control/facilities', { name: 'North Branch' });
    for (const path of ['patients/10150', 'providers/508', 'staff/711', 'pharmacies/9012']) {
      expect((await fixture.api.control('DELETE', `/control/${path}`)).status, path).toBeLessThan(300);
    }
    const event = await sync(fixture);
    expect(event.data.records).toMatchObject({ locations: 4, providers: 7, staff: 11, pharmacies: 14, patients: 200 });
    expect(await find(fixture, 'patients', added.body.patientId)).toMatchObject({
      first_name: 'Nova',
      last_name: 'Newcomer',
      mrn: added.body.mrn,
      status: 'active',
    });
    expect(await find(fixture, 'locations', facility.body.facilityId)).toMatchObject({ name: 'North Branch' });
    expect(await find(fixture, 'patients', '10150')).toBeUndefined();
    expect(await find(fixture, 'providers', '508')).toBeUndefined();
    expect(await find(fixture, 'staff', '711')).toBeUndefined();
    expect(await find(fixture, 'pharmacies', '9012')).toBeUndefined();
    const { body } = await fixture.api.call('GET', '/v1/patients');
    expect(body.pagination.total_count).toBe(200);
  });

  test('updates facility names in provider hours', async () => {
    const names = async () => {
      const hours = (await find(fixture, 'providers', '501'))?.hours as { shifts: Record<string, string>[] }[];
      const shifts = hours.flatMap((day) => day.shifts).filter((shift) => shift.facility_id === '11');
      return new Set(shifts.map((shift) => shift.facility_name));
    };
    const before = await names();
    expect(before.size).toBe(1);
    await fixture.api.control('PATCH', '/control/facilities/11', { name: 'Renamed Clinic' });
    await sync(fixture);
    expect(await names()).toStrictEqual(new Set(['Renamed Clinic']));
    expect(before).not.toContain('Renamed Clinic');
  });

  test('keeps settings that were made in the service', async () => {
    const { owner } = fixture;
    const hours = [{ day: 'Sunday', shifts: [{ start: 'T08:00:00', end: 'T10:00:00', facility_id: '12' }] }];
    await owner`UPDATE providers SET status_set = 'inactive', hide_in_availability = true,
      hours_set = ${JSON.stringify(hours)}::text::json WHERE ehr_id = '503'`;
    for (const displayName of ['Once Renamed, MD', 'Twice Renamed, MD']) {
      await fixture.api.control('PATCH', '/control/providers/503', { displayName, activeFlag: 'Y' });
      await sync(fixture);
      const facility_name = (await find(fixture, 'locations', '12'))?.name;
      expect(await find(fixture, 'providers', '503')).toMatchObject({
        name: displayName,
        status: 'inactive',
        hide_in_availability: true,
        hours: [{ day: 'Sunday', shifts: [{ ...hours[0]?.shifts[0], facility_name }] }],
      });
    }
    const [stored] =
      await owner`SELECT status_set, hide_in_availability, hours_set FROM providers WHERE ehr_id = '503'`;
    expect(stored).toStrictEqual({ status_set: 'inactive', hide_in_availability: true, hours_set: hours });
  });

  test.each(
    (['truncate', 'html', 'empty', 'reset', 'error_500'] as const).flatMap((kind) =>
      ['providers', 'patients'].map((list) => [kind, list as List] as const),
    ),
  )('a sync that gets %s instead of the list of %s deletes nothing and completes on a retry', async (kind, list) => {
    const before = await read(fixture, list);
    await setFault(fixture.api, `list_${list}`, kind);
    const accepted = await fixture.api.call('POST', '/v1/sync');
    const { job_id } = accepted.body;
    await untilFailedAttempt(fixture.api, job_id);
    expect(await read(fixture, list)).toStrictEqual(before);
    await endPauses(fixture.owner);
    expect((await fixture.api.untilEvent(job_id)).event_type).toBe('sync.completed');
    expect(await read(fixture, list)).toStrictEqual(before);
  });

  test('a sync that fails for an hour ends in sync.failed with a readable reason', async () => {
    await setFault(fixture.api, 'list_patients', 'html', { times: 50 });
    const { job_id } = (await fixture.api.call('POST', '/v1/sync')).body;
    await untilFailedAttempt(fixture.api, job_id);
    await endRetries(fixture.owner, job_id);
    await endPauses(fixture.owner);
    const event = await fixture.api.untilEvent(job_id);
    await fixture.api.control('DELETE', '/control/faults');
    expect(event.event_type).toBe('sync.failed');
    const reason = 'Larkspur sent an unreadable response.';
    expect(event.data).toStrictEqual({
      org_id: fixture.sandbox.org_id,
      failure_reason: reason,
      reasons: [{ code: 'unavailable', description: reason }],
    });
  });

  test('scheduled by the clock runs when due, applies changes and sends no event', async () => {
    const { owner, api } = fixture;
    const count = async () => (await api.call('GET', '/v1/webhook-events')).body.pagination.total_count;
    const before = await count();
    await api.control('PATCH', '/control/providers/502', { displayName: 'Renamed Overnight, MD' });
    const due = await owner`UPDATE organizations SET next_sync_at = now() - interval '1 second' RETURNING id`;
    expect(due).toHaveLength(1);
    await until(
      'the scheduled sync',
      async () => (await find(fixture, 'providers', '502'))?.name === 'Renamed Overnight, MD',
    );
    await until('the sync to finish', async () => {
      const [row] = await owner<
        { finished: boolean }[]
      >`SELECT bool_and(finished_at IS NOT NULL) AS finished FROM jobs`;
      return row?.finished;
    });
    expect(await count()).toBe(before);
    const [next] = await owner<{ minutes: number }[]>`
      SELECT extract(epoch FROM next_sync_at - (SELECT max(created_at) FROM jobs WHERE type = 'sync'))::float8 / 60
        AS minutes FROM organizations`;
    expect(next?.minutes).toBeGreaterThan(14);
    expect(next?.minutes).toBeLessThanOrEqual(15);
  });
});
