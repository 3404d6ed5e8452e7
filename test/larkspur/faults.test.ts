import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Clinic, ENCOUNTERS, encounterBody, openClinic } from './fixture.ts';

let clinic: Clinic;
let token: string;
const post = (path: string, body: object) => clinic.api('POST', path, body, token);
const fault = (fields: object) => clinic.control('POST', '/control/faults', { operation: '*', times: 1, ...fields });
const entries = async (marker: string) =>
  (await clinic.control('GET', '/control/ledger')).body.entries.filter((one) => one.marker === marker);
const receipt = (marker: string) =>
  clinic.api('GET', `/api/receipts/create_telephone_encounter/${marker}`, undefined, token);

beforeAll(async () => {
  clinic = await openClinic();
});
afterAll(() => clinic.close());
beforeEach(async () => {
  await clinic.control('POST', '/control/reset');
  token = (await clinic.signIn()).sessionToken;
});

test('error_500, error_429, refuse, html and empty respond without applying the write, as many times as set', async () => {
  const kinds: [kind: string, status: number, body: unknown][] = [
    ['error_500', 500, { errorCode: 'INTERNAL_ERROR', errorText: 'custom reason' }],
    ['error_429', 429, { errorCode: 'TOO_MANY_REQUESTS', errorText: 'custom reason' }],
    ['refuse', 422, { errorCode: 'REFUSED', errorText: 'custom reason' }],
    ['html', 200, expect.stringContaining('<!doctype html>')],
    ['empty', 200, ''],
  ];
  for (const [kind, status, body] of kinds) {
    await fault({ kind, times: 2, reason: 'custom reason' });
    const send = () => post(ENCOUNTERS, encounterBody(kind));
    const [first, second, third] = [await send(), await send(), await send()];
    expect(first, kind).toMatchObject({ status, body });
    expect(second, kind).toMatchObject({ status, body });
    expect(third, kind).toMatchObject({ status: 201 });
    if (kind === 'error_429') expect(first.headers.get('retry-after')).toBe('1');
    expect((await entries(kind)).map((entry) => entry.applied)).toEqual([false, false, true]);
  }
});

test('reset closes the connection before the write is applied', async () => {
  await fault({ kind: 'reset' });
  await expect(post(ENCOUNTERS, encounterBody('cut'))).rejects.toThrow('fetch failed');
  expect((await receipt('cut')).status).toBe(404);
  expect(await entries('cut')).toMatchObject([{ applied: false, patient_mrn: 'LK100001' }]);
});

test('lose_answer closes the connection after the record and its receipt are committed', async () => {
  await fault({ kind: 'lose_answer', operation: 'create_telephone_encounter' });
  await expect(post(ENCOUNTERS, encounterBody('lost'))).rejects.toThrow('fetch failed');
  const { recordId } = (await receipt('lost')).body;
  const encounter = await clinic.api('GET', `/api/telephone-encounters/${recordId}`, undefined, token);
  expect(encounter.body).toMatchObject({ encounterId: recordId, patientId: '10001' });
  expect(await entries('lost')).toMatchObject([{ applied: true }]);
  expect(await post(ENCOUNTERS, encounterBody('lost'))).toMatchObject({ status: 409, body: { recordId } });
});

test('truncate applies the write and sends half of the response', async () => {
  await fault({ kind: 'truncate' });
  await expect(post(ENCOUNTERS, encounterBody('half'))).rejects.toThrow('terminated');
  expect((await receipt('half')).status).toBe(200);
  await fault({ kind: 'truncate', operation: 'list_providers' });
  await expect(clinic.api('GET', '/api/providers', undefined, token)).rejects.toThrow('terminated');
});

test('delay waits, then continues normally', async () => {
  await fault({ kind: 'delay', delay_ms: 300, operation: 'list_staff' });
  const started = performance.now();
  const list = await clinic.api('GET', '/api/staff', undefined, token);
  expect(list.status).toBe(200);
  expect(performance.now() - started).toBeGreaterThan(290);
});

test('refill_fails is consumed only by a refill and leaves the encounter unchanged', async () => {
  await fault({ kind: 'refill_fails', reason: 'Prescriber must review.' });
  const { recordId } = (await post(ENCOUNTERS, encounterBody('refill'))).body;
  const refills = `/api/telephone-encounters/${recordId}/refills`;
  const refill = (externalRef: string) => post(refills, { externalRef, medicationId: '20001' });
  expect(await refill('r1')).toMatchObject({ status: 422, body: { errorText: 'Prescriber must review.' } });
  expect(await refill('r1')).toMatchObject({ status: 201 });
});

test('correct_value saves another value if the request has the field, and reports the correction', async () => {
  await fault({ kind: 'correct_value', field: 'caller', value: 'BETH', reason: 'Names are in capitals.' });
  expect((await post(ENCOUNTERS, encounterBody('without'))).body.corrections).toEqual([]);
  const { recordId, corrections } = (await post(ENCOUNTERS, encounterBody('with', { caller: 'Beth' }))).body;
  expect(corrections).toEqual([{ field: 'caller', sent: 'Beth', saved: 'BETH', note: 'Names are in capitals.' }]);
  const saved = await clinic.api('GET', `/api/telephone-encounters/${recordId}`, undefined, token);
  expect(saved.body.caller).toBe('BETH');
});

test('* applies to writes only; a named operation can be any, including a login', async () => {
  await fault({ kind: 'error_500' });
  expect((await clinic.api('GET', '/api/patients', undefined, token)).status).toBe(200);
  expect((await clinic.api('GET', '/api/practice')).status).toBe(200);
  expect((await post(ENCOUNTERS, encounterBody('starred'))).status).toBe(500);
  await fault({ kind: 'html', operation: 'login' });
  const page = await clinic.api('POST', '/api/login', { userName: 'avery', password: 'wrong' });
  expect(page.headers.get('content-type')).toContain('text/html');
});

test('concurrent requests consume faults oldest first, one per request, exactly as many times as set', async () => {
  await fault({ kind: 'error_500', times: 5 });
  await fault({ kind: 'error_429', times: 4 });
  const responses = await Promise.all(
    Array.from({ length: 12 }, (_, n) => post(ENCOUNTERS, encounterBody(`many${n}`))),
  );
  const count = (status: number) => responses.filter((response) => response.status === status).length;
  expect([count(500), count(429), count(201)]).toEqual([5, 4, 3]);
});

test('malformed requests and requests without a session do not consume a fault', async () => {
  await fault({ kind: 'error_500' });
  expect((await post(ENCOUNTERS, {})).status).toBe(400);
  expect((await clinic.api('POST', ENCOUNTERS, encounterBody('nobody'))).status).toBe(401);
  expect((await clinic.control('GET', '/control/faults')).body.faults).toMatchObject([{ kind: 'error_500', times: 1 }]);
  await clinic.control('DELETE', '/control/faults');
  expect((await clinic.control('GET', '/control/faults')).body.faults).toEqual([]);
  expect((await post(ENCOUNTERS, encounterBody('clear'))).status).toBe(201);
});

test('rejects invalid faults and faults that can never apply, with a clear error', async () => {
  const invalid: [fields: object, text: RegExp][] = [
    [{ kind: 'nope' }, /kind 'nope' is not one of delay,/],
    [{ kind: 'delay', operation: 'nope' }, /operation 'nope' is not \* and not one of login,/],
    [{ kind: 'delay', times: 0 }, /times must be 1 to/],
    [{ kind: 'delay', delay_ms: -1 }, /delay_ms must be 0 to/],
    [{ kind: 'refill_fails', operation: 'create_telephone_encounter' }, /does not apply to create_telephone_encounter/],
    [{ kind: 'lose_answer', operation: 'list_staff' }, /does not apply to list_staff/],
    [{ kind: 'correct_value' }, /needs a field/],
    [{ kind: 'correct_value', field: 'externalRef', value: 'x' }, /field 'externalRef'/],
    [{ kind: 'correct_value', field: 'priority', value: 'X' }, /value is not valid/],
  ];
  for (const [fields, text] of invalid) {
    expect(await fault(fields)).toMatchObject({
      status: 400,
      body: { errorCode: 'BAD_REQUEST', errorText: expect.stringMatching(text) },
    });
  }
});
