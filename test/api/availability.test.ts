import { Compile } from 'typebox/compile';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AvailabilityResponse } from '../../src/model/availability.ts';
import { addDays } from '../../src/platform/time/days.ts';
import type { TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});
// Other files use the same provider: restores the hours of the EMR.
afterAll(() => patch({ hours: null }));

/** A Monday too far ahead for seeded appointments. */
const monday = (() => {
  const day = new Date(Date.UTC(new Date().getUTCFullYear() + 2, 5, 1));
  day.setUTCDate(day.getUTCDate() + ((8 - day.getUTCDay()) % 7));
  return day.toISOString().slice(0, 10);
})();
const on = (date: string) => ({ start_date: date, end_date: date });

const getAvailability = (query: Record<string, string>) =>
  fixture.api.call('GET', `/v1/availability?${new URLSearchParams(query)}`);
const freeRanges = async (query: Record<string, string> = {}) => {
  const { status, body } = await getAvailability({ ...on(monday), provider_ids: '501', ...query });
  expect(status).toBe(200);
  return body.results.availability;
};
const patch = (body: unknown) => fixture.api.call('PATCH', '/v1/providers/ehr/501', { body });
const nine_to_twelve = {
  hours: [{ day: 'Monday', shifts: [{ start: 'T09:00:00', end: 'T12:00:00', facility_id: '11' }] }],
};

describe('availability', () => {
  test('follows the provider’s hours, in the time zone of the EMR instance', async () => {
    await patch(nine_to_twelve);
    const response = await getAvailability({ ...on(monday), provider_ids: '501' });
    expect([...Compile(AvailabilityResponse).Errors(response.body)]).toStrictEqual([]);
    expect(response.body.timezone).toBe('America/New_York');
    expect(response.body.results.availability).toMatchObject([
      {
        day_of_week: 1,
        date: monday,
        range_start: `${monday}T09:00:00-04:00`,
        range_end: `${monday}T12:00:00-04:00`,
        provider_id: '501',
        facility_id: '11',
        timezone_abbr: 'EDT',
      },
    ]);
  });

  test('includes a provider only if active and not hidden', async () => {
    for (const [status, hidden, shown] of [
      ['active', 'false', 1],
      ['active', 'true', 0],
      ['inactive', 'false', 0],
      ['inactive', 'true', 0],
    ] as const) {
      await patch({ status, hide_in_availability: hidden });
      expect(await freeRanges()).toHaveLength(shown);
    }
    await patch({ status: 'active', hide_in_availability: 'false' });
  });

  test('leaves out the time of a booked appointment, and explains it', async () => {
    const { patient_mrn: mrn } = fixture.sandbox.example;
    const body = {
      mrn,
      location: '11',
      provider: '501',
      type: 'FU',
      datetime: `${monday}T10:00:00-04:00`,
      duration: '30',
    };
    const booked = await fixture.api.call('POST', '/v1/appointments', { body });
    await fixture.api.untilEvent(booked.body.job_id);
    const sync = await fixture.api.call('POST', '/v1/sync', { body: {} });
    await fixture.api.untilEvent(sync.body.job_id);
    const hours = (each: { range_start: string; range_end: string }) => [
      each.range_start.slice(11, 16),
      each.range_end.slice(11, 16),
    ];
    expect((await freeRanges()).map(hours)).toStrictEqual([
      ['09:00', '10:00'],
      ['10:30', '12:00'],
    ]);
    expect((await freeRanges({ buffer: '15' })).map(hours)).toStrictEqual([
      ['09:00', '10:00'],
      ['10:45', '12:00'],
    ]);
    const equal = await freeRanges({ calculation_method: 'equal_slots', max_slot_duration: '60' });
    expect(equal.map(hours)).toStrictEqual([
      ['09:00', '10:00'],
      ['10:30', '11:30'],
    ]);
    expect(await freeRanges({ daily_appointment_limit: '1', daily_limit_type: 'all' })).toStrictEqual([]);
    const { body: explained } = await getAvailability({ ...on(monday), provider_ids: '501', explain: 'true' });
    expect(explained.results.explanations).toContainEqual(expect.objectContaining({ reason: 'appointment' }));
  });

  test('uses default hours for providers without hours, on request', async () => {
    await patch({ hours: [] });
    expect(await freeRanges()).toStrictEqual([]);
    const [range] = await freeRanges({ fallback_to_default_hours: 'true', facility_scoped_scheduling: 'true' });
    expect(range.range_start).toBe(`${monday}T09:00:00-04:00`);
  });

  test.each<[Record<string, string>, number, string]>([
    [{}, 400, 'Missing required field: start_date'],
    [{ start_date: monday }, 400, 'Missing required field: end_date'],
    [
      { start_date: '2027-02-30', end_date: '2027-03-01' },
      400,
      'start_date must be a date that exists, in the form YYYY-MM-DD',
    ],
    [{ start_date: '2027-03-02', end_date: '2027-03-01' }, 400, 'end_date must not be before start_date'],
    [{ start_date: '2027-01-01', end_date: '2027-04-04' }, 400, 'end_date must be at most 92 days after start_date'],
    [{ ...on(monday), buffer: '60' }, 400, 'buffer must be at most 59'],
    [{ ...on(monday), buffer: '-1' }, 400, 'buffer must be at least 0'],
    [
      { ...on(monday), calculation_method: 'magic' },
      400,
      'calculation_method must be one of: gaps, slots, equal_slots',
    ],
    [{ ...on(monday), calculation_method: 'equal_slots' }, 400, 'Missing required field: max_slot_duration'],
    [
      { ...on(monday), daily_appointment_limit: '3' },
      400,
      'daily_appointment_limit and daily_limit_type must be used together',
    ],
    [
      { ...on(monday), daily_limit_type: 'all' },
      400,
      'daily_appointment_limit and daily_limit_type must be used together',
    ],
    [{ ...on(monday), explain: 'yes' }, 400, 'explain must be a boolean'],
    [
      { start_date: monday, end_date: addDays(monday, 92), calculation_method: 'equal_slots', max_slot_duration: '1' },
      400,
      'The result has more than 100,000 times: request fewer days, or fewer provider_ids',
    ],
    [{ ...on(monday), provider_ids: '501,999' }, 404, "Provider with EMR ID '999' not found."],
    [{ ...on(monday), location_ids: 'x' }, 404, "Location with EMR ID 'x' not found."],
    [{ ...on(monday), when: 'soon' }, 400, 'Unexpected query parameters: when'],
  ])('rejects %o', async (query, status, message) => {
    const response = await getAvailability(query);
    expect(response.body.message).toBe(message);
    expect(response.status).toBe(status);
  });
});
