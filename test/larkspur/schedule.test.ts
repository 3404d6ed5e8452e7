import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Clinic, openClinic, type Row } from './fixture.ts';

let clinic: Clinic;
let token: string;
const get = async (path: string) => (await clinic.api('GET', path, undefined, token)).body;
const post = (body: object) => clinic.api('POST', '/api/appointments', body, token);
const booking = (externalRef: string, fields: object = {}) => ({
  externalRef,
  patientId: '10001',
  providerId: '501',
  facilityId: '11',
  startsAt: '03/15/2026 10:00', // a Sunday, when no provider works
  visitTypeCode: 'FU',
  ...fields,
});

beforeAll(async () => {
  clinic = await openClinic();
  token = (await clinic.signIn()).sessionToken;
});
afterAll(() => clinic.close());

test('lists visit types and statuses', async () => {
  expect((await get('/api/visit-types')).rows).toContainEqual({
    code: 'NP',
    description: 'New patient',
    defaultMinutes: 30,
  });
  expect((await get('/api/visit-statuses')).rows).toContainEqual({ code: 'CAN', description: 'Cancelled' });
});

test('the seed covers 18 months back and three ahead without overlapping appointments', async () => {
  const all: Row[] = [];
  for (let page = 1; ; page++) {
    const { rows } = await get(`/api/appointments?pageSize=500&page=${page}`);
    if (rows.length === 0) break;
    all.push(...rows);
  }
  expect(all.length).toBeGreaterThan(2000);
  const days = all.map((row) => iso(row.startsAt));
  expect(days.some((day) => day < '2024-10-01')).toBe(true);
  expect(days.some((day) => day > '2026-06-01')).toBe(true);
  const blocks = (await get('/api/blocks?pageSize=500')).rows;
  expect(blocks.length).toBeGreaterThan(50);
  const byProvider = new Map<string, [number, number][]>();
  for (const { providerId, startsAt, minutes } of [...all, ...blocks]) {
    const start = Date.parse(`${iso(startsAt).replace(' ', 'T')}Z`) / 60_000;
    byProvider.set(providerId, [...(byProvider.get(providerId) ?? []), [start, start + minutes]]);
  }
  for (const intervals of byProvider.values()) {
    intervals.sort(([a], [b]) => a - b);
    expect(intervals.every(([start], index) => index === 0 || start >= (intervals[index - 1]?.[1] ?? 0))).toBe(true);
  }
});

test('from and to are inclusive', async () => {
  const { rows, total } = await get('/api/appointments?from=03/11/2026&to=03/12/2026&pageSize=500');
  expect(total).toBe(rows.length);
  expect(new Set(rows.map((row) => row.startsAt.slice(0, 10)))).toEqual(new Set(['03/11/2026', '03/12/2026']));
  const blocks = (await get('/api/blocks?from=03/11/2026&to=03/11/2026')).rows;
  expect(blocks).toContainEqual(expect.objectContaining({ startsAt: '03/11/2026 13:00', reason: 'Staff meeting' }));
  expect((await clinic.api('GET', '/api/blocks?from=2026-03-11', undefined, token)).status).toBe(400);
});

test('books an appointment with the default minutes of its visit type and reads it back', async () => {
  const { status, body } = await post(booking('b1', { reason: 'Check', note: 'Call first', newPatientFlag: 'N' }));
  expect(status).toBe(201);
  const ada = await get('/api/patients/10001');
  const read = await get(`/api/appointments/${body.recordId}`);
  expect(read).toMatchObject({
    practiceId: 'LARK01',
    mrn: 'LK100001',
    patient: {
      lastName: 'Testpatient',
      firstName: 'Ada',
      birthDate: ada.birthDate,
      sexCode: 'F',
      phone: ada.cellPhone,
    },
    startsAt: '03/15/2026 10:00',
    minutes: 20,
    statusCode: 'PEN',
    mode: 'OFFICE',
    secondaryProviderId: null,
    insurances: [{ name: 'Examplecare Gold', subscriberNumber: 'TST100001', priority: 1 }, { priority: 2 }],
    createdAt: clinic.clock.at.toISOString(),
  });
  expect((await get('/api/appointments?from=03/15/2026&to=03/15/2026')).rows).toEqual([read]);
  const { entries } = (await clinic.control('GET', '/control/ledger')).body;
  expect(entries.at(-1)).toMatchObject({ marker: 'b1', patient_mrn: 'LK100001', applied: true });
});

test('preventDoubleBooking rejects overlaps and names the conflict; adjacent times do not overlap', async () => {
  const strict = (ref: string, fields: object) => post(booking(ref, { preventDoubleBooking: 'Y', ...fields }));
  expect(await strict('c1', { startsAt: '03/15/2026 10:19' })).toMatchObject({
    status: 409,
    body: { errorCode: 'CONFLICT', conflictType: 'APPOINTMENT', conflictDetails: expect.stringContaining('10:00') },
  });
  expect((await strict('c2', { startsAt: '03/15/2026 10:20' })).status).toBe(201);
  expect((await strict('c3', { startsAt: '03/15/2026 09:40' })).status).toBe(201);
  expect((await post(booking('c4'))).status).toBe(201);
  expect((await strict('c5', { providerId: '502', secondaryProviderId: '501' })).status).toBe(409);
  await clinic.control('POST', '/control/blocks', {
    providerId: '503',
    startsAt: '03/15/2026 10:10',
    reason: 'Fire drill',
  });
  expect(await strict('c6', { providerId: '503' })).toMatchObject({
    body: { conflictType: 'BLOCK', conflictDetails: expect.stringContaining('Fire drill') },
  });
  const { recordId } = (await post(booking('c7', { providerId: '504', statusCode: 'CAN' }))).body;
  expect((await strict('c8', { providerId: '504' })).status).toBe(201);
  await clinic.control('PATCH', `/control/appointments/${recordId}`, {
    statusCode: 'CON',
    startsAt: '03/15/2026 12:00',
  });
  expect((await strict('c9', { providerId: '504', startsAt: '03/15/2026 12:05' })).status).toBe(409);
});

test('exactly one of twelve concurrent bookings of one hour succeeds', async () => {
  const responses = await Promise.all(
    Array.from({ length: 12 }, (_, n) => {
      const providers = n % 2 === 0 ? { providerId: '505', secondaryProviderId: '506' } : { providerId: '506' };
      return post(booking(`r${n}`, { ...providers, preventDoubleBooking: 'Y', minutes: 60 }));
    }),
  );
  expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
  expect(responses.filter(({ body }) => body.errorCode === 'CONFLICT')).toHaveLength(11);
});

test('rejects appointments that refer to unknown records or have invalid values', async () => {
  const cases: [fields: object, status: number][] = [
    [{ patientId: 'x' }, 404],
    [{ providerId: 'x' }, 404],
    [{ secondaryProviderId: 'x' }, 404],
    [{ secondaryProviderId: '501' }, 422],
    [{ facilityId: 'x' }, 404],
    [{ visitTypeCode: 'XX' }, 404],
    [{ statusCode: 'XX' }, 404],
    [{ startsAt: '02/30/2026 10:00' }, 400],
    [{ startsAt: '03/15/2026 25:00' }, 400],
    [{ minutes: 0 }, 400],
  ];
  for (const [fields, status] of cases) {
    expect((await post(booking('w', fields))).status, JSON.stringify(fields)).toBe(status);
  }
  expect((await clinic.api('GET', '/api/appointments/x', undefined, token)).status).toBe(404);
});

function iso(startsAt: string): string {
  const [, month, day, year, time] = /^(\d\d)\/(\d\d)\/(\d{4}) (\d\d:\d\d)$/.exec(startsAt) ?? [];
  return `${year}-${month}-${day} ${time}`;
}
