import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Clinic, call, ENCOUNTERS, openClinic } from './clinic.ts';

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

test('error_500, error_429, refuse, html and empty answer without applying anything, as often as asked', async () => {
  const kinds: [kind: string, status: number, body: unknown][] = [
    ['error_500', 500, { errorCode: 'INTERNAL_ERROR', errorText: 'as asked' }],
    ['error_429', 429, { errorCode: 'TOO_MANY_REQUESTS', errorText: 'as asked' }],
    ['refuse', 422, { errorCode: 'REFUSED', errorText: 'as asked' }],
    ['html', 200, expect.stringContaining('<!doctype html>')],
    ['empty', 200, ''],
  ];
  for (const [kind, status, body] of kinds) {
    await fault({ kind, times: 2, reason: 'as asked' });
    const answers = [1, 2, 3].map(() => () => post(ENCOUNTERS, call(kind)));
    const [first, second, third] = [await answers[0]?.(), await answers[1]?.(), await answers[2]?.()];
    expect(first, kind).toMatchObject({ status, body });
    expect(second, kind).toMatchObject({ status, body });
    expect(third, kind).toMatchObject({ status: 201 });
    if (kind === 'error_429') expect(first?.headers.get('retry-after')).toBe('1');
    expect((await entries(kind)).map((entry) => entry.applied)).toEqual([false, false, true]);
  }
});

test('reset cuts the line before anything is applied', async () => {
  await fault({ kind: 'reset' });
  await expect(post(ENCOUNTERS, call('cut'))).rejects.toThrow('fetch failed');
  expect((await receipt('cut')).status).toBe(404);
  expect(await entries('cut')).toMatchObject([{ applied: false, patient_mrn: 'LK100001' }]);
});

test('lose_answer cuts the line after the record and its receipt are there', async () => {
  await fault({ kind: 'lose_answer', operation: 'create_telephone_encounter' });
  await expect(post(ENCOUNTERS, call('lost'))).rejects.toThrow('fetch failed');
  const { recordId } = (await receipt('lost')).body;
  const encounter = await clinic.api('GET', `/api/telephone-encounters/${recordId}`, undefined, token);
  expect(encounter.body).toMatchObject({ encounterId: recordId, patientId: '10001' });
  expect(await entries('lost')).toMatchObject([{ applied: true }]);
  expect(await post(ENCOUNTERS, call('lost'))).toMatchObject({ status: 409, body: { recordId } });
});

test('truncate applies the write and breaks off in the middle of the answer', async () => {
  await fault({ kind: 'truncate' });
  await expect(post(ENCOUNTERS, call('half'))).rejects.toThrow('terminated');
  expect((await receipt('half')).status).toBe(200);
  await fault({ kind: 'truncate', operation: 'list_providers' });
  await expect(clinic.api('GET', '/api/providers', undefined, token)).rejects.toThrow('terminated');
});

test('delay waits, then goes on as usual', async () => {
  await fault({ kind: 'delay', delay_ms: 300, operation: 'list_staff' });
  const started = performance.now();
  const list = await clinic.api('GET', '/api/staff', undefined, token);
  expect(list.status).toBe(200);
  expect(performance.now() - started).toBeGreaterThan(290);
});

test('refill_fails is used up by a refill alone, and leaves the encounter as it is', async () => {
  await fault({ kind: 'refill_fails', reason: 'Prescriber must review.' });
  const { recordId } = (await post(ENCOUNTERS, call('refill'))).body;
  const refills = `/api/telephone-encounters/${recordId}/refills`;
  const refill = (externalRef: string) => post(refills, { externalRef, medicationId: '20001' });
  expect(await refill('r1')).toMatchObject({ status: 422, body: { errorText: 'Prescriber must review.' } });
  expect(await refill('r1')).toMatchObject({ status: 201 });
});

test('correct_value saves another value where the request carries the field, and says so', async () => {
  await fault({ kind: 'correct_value', field: 'caller', value: 'BETH', reason: 'Names are capitals here.' });
  expect((await post(ENCOUNTERS, call('without'))).body.corrections).toEqual([]);
  const { recordId, corrections } = (await post(ENCOUNTERS, call('with', { caller: 'Beth' }))).body;
  expect(corrections).toEqual([{ field: 'caller', sent: 'Beth', saved: 'BETH', note: 'Names are capitals here.' }]);
  const saved = await clinic.api('GET', `/api/telephone-encounters/${recordId}`, undefined, token);
  expect(saved.body.caller).toBe('BETH');
});

test('* strikes writes only; a named operation may be any, also a login', async () => {
  await fault({ kind: 'error_500' });
  expect((await clinic.api('GET', '/api/patients', undefined, token)).status).toBe(200);
  expect((await clinic.api('GET', '/api/practice')).status).toBe(200);
  expect((await post(ENCOUNTERS, call('starred'))).status).toBe(500);
  await fault({ kind: 'html', operation: 'login' });
  const page = await clinic.api('POST', '/api/login', { userName: 'avery', password: 'wrong' });
  expect(page.headers.get('content-type')).toContain('text/html');
});

test('faults are used up oldest first, one for each request, exactly as often as asked, also all at once', async () => {
  await fault({ kind: 'error_500', times: 5 });
  await fault({ kind: 'error_429', times: 4 });
  const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => post(ENCOUNTERS, call(`many${n}`))));
  const count = (status: number) => answers.filter((answer) => answer.status === status).length;
  expect([count(500), count(429), count(201)]).toEqual([5, 4, 3]);
});

test('neither a malformed request nor one without a session uses up a fault', async () => {
  await fault({ kind: 'error_500' });
  expect((await post(ENCOUNTERS, {})).status).toBe(400);
  expect((await clinic.api('POST', ENCOUNTERS, call('nobody'))).status).toBe(401);
  expect((await clinic.control('GET', '/control/faults')).body.faults).toMatchObject([{ kind: 'error_500', times: 1 }]);
  await clinic.control('DELETE', '/control/faults');
  expect((await clinic.control('GET', '/control/faults')).body.faults).toEqual([]);
  expect((await post(ENCOUNTERS, call('clear'))).status).toBe(201);
});

test('a fault that could never strike, or makes no sense, is refused in plain words', async () => {
  const wrong: [fields: object, text: RegExp][] = [
    [{ kind: 'nope' }, /kind 'nope' is not one of delay,/],
    [{ kind: 'delay', operation: 'nope' }, /operation 'nope' is neither \* nor one of get_practice,/],
    [{ kind: 'delay', times: 0 }, /times must be 1 to/],
    [{ kind: 'delay', delay_ms: -1 }, /delay_ms must be 0 to/],
    [{ kind: 'refill_fails', operation: 'create_telephone_encounter' }, /never applies to create_telephone_encounter/],
    [{ kind: 'lose_answer', operation: 'list_staff' }, /never applies to list_staff/],
    [{ kind: 'correct_value' }, /needs a field/],
    [{ kind: 'correct_value', field: 'externalRef', value: 'x' }, /field 'externalRef'/],
    [{ kind: 'correct_value', field: 'priority', value: 'X' }, /value is not valid/],
  ];
  for (const [fields, text] of wrong) {
    expect(await fault(fields)).toMatchObject({
      status: 400,
      body: { errorCode: 'BAD_REQUEST', errorText: expect.stringMatching(text) },
    });
  }
});
