import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());

const patch = (body: unknown, ehr_id = '501') => fixture.api.call('PATCH', `/v1/providers/ehr/${ehr_id}`, { body });
const provider = async (ehr_id = '501') => {
  const { body } = await fixture.api.call('GET', '/v1/providers');
  return body.providers.find((each: { ehr_id: string }) => each.ehr_id === ehr_id);
};
const synced = async () => {
  const { body } = await fixture.api.call('POST', '/v1/sync', { body: {} });
  expect((await fixture.api.untilEvent(body.job_id)).event_type).toBe('sync.completed');
};
const week = (shift: Record<string, unknown>) => ({
  hours: [{ day: 'Monday', shifts: [{ start: 'T09:00:00', end: 'T12:00:00', ...shift }] }],
});

describe('a provider’s settings', () => {
  test('can be set by EMR id and by service id, and survive a sync', async () => {
    const before = await provider();
    const response = await patch({ status: 'INACTIVE', hide_in_availability: 'true' });
    expect(response.body).toStrictEqual({ success: true, message: expect.any(String), provider_id: before.id });
    expect(await provider()).toMatchObject({ status: 'inactive', hide_in_availability: true, hours: before.hours });
    await synced();
    expect(await provider()).toMatchObject({ status: 'inactive', hide_in_availability: true });
    const by_id = { body: { status: 'active', hide_in_availability: false } };
    expect((await fixture.api.call('PATCH', `/v1/providers/${before.id}`, by_id)).status).toBe(200);
    expect(await provider()).toStrictEqual(before);
  });

  test('hours can be written back as they were read', async () => {
    const { body } = await fixture.api.call('GET', '/v1/providers');
    for (const { ehr_id, hours } of body.providers) {
      expect((await patch({ hours }, ehr_id)).body).toMatchObject({ success: true });
      expect((await provider(ehr_id)).hours).toStrictEqual(hours);
    }
  });

  test('hours replace the whole week and survive a sync; null restores the EMR’s', async () => {
    await patch({ hours: null });
    const emrs = (await provider()).hours;
    const recur = {
      rec_start_date: '2026-01-05',
      recur_interval_amount: 2,
      recur_interval_description: 'Every 2 weeks',
    };
    await patch(week({ facility_id: '11', facility_name: 'Wrong', set_start_date: '2026-01-01', set_recur: recur }));
    const mine = [
      {
        day: 'Monday',
        shifts: [
          {
            start: 'T09:00:00',
            end: 'T12:00:00',
            facility_id: '11',
            set_start_date: '2026-01-01',
            recurrence: { ...recur, recur_interval_type: 'weeks' },
            facility_name: 'Larkspur Main Street',
          },
        ],
      },
    ];
    expect((await provider()).hours).toStrictEqual(mine);
    await synced();
    expect((await provider()).hours).toStrictEqual(mine);
    await patch({ hours: null });
    expect((await provider()).hours).toStrictEqual(emrs);
  });

  test.each([
    [{}, 400, 'At least one field must be provided.'],
    [{ status: 'away' }, 400, 'status must be one of: active, inactive'],
    [{ hide_in_availability: 'yes' }, 400, 'hide_in_availability must be one of: true, false'],
    [{ hide_in_availability: 1 }, 400, 'hide_in_availability must be one of: true, false'],
    [{ hours: 'all' }, 400, 'hours must be an array'],
    [
      { hours: [{ day: 'monday', shifts: [] }] },
      400,
      'hours[0].day must be one of: Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday',
    ],
    [
      {
        hours: [
          { day: 'Monday', shifts: [] },
          { day: 'Monday', shifts: [] },
        ],
      },
      400,
      'hours[1].day must name each day once',
    ],
    [{ hours: [{ day: 'Monday' }] }, 400, 'Missing required field: hours[0].shifts'],
    [week({ start: '09:00' }), 400, 'hours[0].shifts[0].start must be a time in the form THH:MM:SS'],
    [week({ end: 'T24:00:01' }), 400, 'hours[0].shifts[0].end must be a time in the form THH:MM:SS'],
    [
      week({ end: 'T09:00:00' }),
      400,
      'hours[0].shifts[0].end must be after start. Send a shift over midnight as two: until T24:00:00, and from T00:00:00 on the next day',
    ],
    [
      week({ set_start_date: '01/02/2026' }),
      400,
      'hours[0].shifts[0].set_start_date must be a date in ISO 8601, such as 2026-01-31 or 2026-01-31T00:00:00',
    ],
    [week({ set_start_date: '2026-02-31' }), 400, 'hours[0].shifts[0].set_start_date is not a date that exists'],
    [
      week({ set_start_date: '2026-02-02', set_end_date: '2026-02-01' }),
      400,
      'hours[0].shifts[0].set_end_date must not be before set_start_date',
    ],
    [week({ facility_id: 'nowhere' }), 404, "Location with EMR ID 'nowhere' not found."],
    [week({ extra: 1 }), 400, 'Unexpected fields in request body: hours[0].shifts[0].extra'],
    [
      week({ recurrence: { rec_start_date: '2026-01-01', recur_interval_amount: 0 } }),
      400,
      'hours[0].shifts[0].recurrence.recur_interval_amount must be at least 1',
    ],
  ])('rejects %j and changes nothing', async (body, status, message) => {
    const before = await provider();
    const response = await patch(body);
    expect(response.body.message).toBe(message);
    expect(response.status).toBe(status);
    expect(await provider()).toStrictEqual(before);
  });

  test('rejects a shift with both recurrence and set_recur', async () => {
    const recur = { rec_start_date: '2026-01-05', recur_interval_amount: 1 };
    const { body } = await patch(week({ recurrence: recur, set_recur: recur }));
    expect(body.message).toBe('hours[0].shifts[0] must not have both recurrence and set_recur');
  });

  test('the settings of an unknown provider are 404, by either id', async () => {
    expect((await patch({ status: 'active' }, '999')).body.message).toBe("Provider with EMR ID '999' not found.");
    const id = 'f'.repeat(32);
    const response = await fixture.api.call('PATCH', `/v1/providers/${id}`, { body: { status: 'active' } });
    expect(response.status).toBe(404);
    expect(response.body.message).toBe(`Provider with ID '${id}' not found.`);
  });
});

describe('a location’s status', () => {
  test('can be set in any letter case, and survives a sync', async () => {
    const list = async () => (await fixture.api.call('GET', '/v1/locations')).body.locations;
    const [first] = await list();
    const response = await fixture.api.call('PATCH', `/v1/locations/${first.id}`, { body: { status: 'Inactive' } });
    expect(response.body).toStrictEqual({ success: true, message: expect.any(String), location_id: first.id });
    await synced();
    expect((await list())[0]).toMatchObject({ ...first, status: 'inactive' });
  });

  test('rejects an invalid status; an unknown location is 404', async () => {
    const path = `/v1/locations/${'e'.repeat(32)}`;
    expect((await fixture.api.call('PATCH', path, { body: {} })).body.message).toBe('Missing required field: status');
    expect((await fixture.api.call('PATCH', path, { body: { status: 'shut' } })).status).toBe(400);
    expect((await fixture.api.call('PATCH', path, { body: { status: 'active' } })).status).toBe(404);
  });
});
