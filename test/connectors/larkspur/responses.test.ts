import { afterEach, describe, expect, test } from 'vitest';
import {
  awaitFailure,
  collect,
  createEndpoint,
  createOperations,
  type FakeResponse,
  required,
  startFakeServer,
} from './fixture.ts';

/** Responses that Larkspur itself never sends, but a proxy may. */

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

/** `receipt`: a different response to the lookup of a receipt. */
async function againstResponse(response: FakeResponse, receipt: FakeResponse = response) {
  const fake = await startFakeServer(({ url }) => (url?.startsWith('/api/receipts/') ? receipt : response));
  closers.push(fake.close);
  const { emr } = createOperations(createEndpoint(fake.url), {}, {});
  const input = { patient_ehr_id: '1', pharmacy_ehr_id: '2' };
  return {
    read: () => collect(emr.listStaff()),
    write: () => emr.addPatientPharmacy.send(input, 'm'),
    find: () => required(emr.addPatientPharmacy.find)('m', input),
  };
}

const rejection = (errorCode: string, errorText = 'In words.', more = {}) => ({
  json: { errorCode, errorText, ...more },
});

describe('a response', () => {
  test.each<[string, FakeResponse, read: string, write: string, find: string]>([
    ['400', { status: 400, ...rejection('BAD_REQUEST') }, 'refused', 'refused', 'unavailable'],
    ['403', { status: 403, ...rejection('FORBIDDEN') }, 'refused', 'refused', 'unavailable'],
    ['409 of another kind', { status: 409, ...rejection('ALREADY_EXISTS') }, 'refused', 'refused', 'unavailable'],
    ['422', { status: 422, ...rejection('REFUSED') }, 'refused', 'refused', 'unavailable'],
    ['a 404 page', { status: 404, raw: '<h1>404</h1>' }, 'unavailable', 'unknown_outcome', 'unavailable'],
    ['a 401 page', { status: 401, raw: '<h1>401</h1>' }, 'unavailable', 'unknown_outcome', 'unavailable'],
    ['a redirect', { status: 302, raw: '' }, 'unavailable', 'unknown_outcome', 'unavailable'],
    ['502', { status: 502, raw: 'Bad gateway' }, 'unavailable', 'unknown_outcome', 'unavailable'],
    ['503', { status: 503, raw: 'Busy' }, 'unavailable', 'unavailable', 'unavailable'],
    ['JSON of another shape', { json: { ok: true } }, 'unavailable', 'unknown_outcome', 'unavailable'],
    ['a record without an id', { json: { recordId: '' } }, 'unavailable', 'unknown_outcome', 'unavailable'],
    ['half of the JSON', { raw: '{"total":1,"rec' }, 'unavailable', 'unknown_outcome', 'unavailable'],
    [
      'bytes that are no text',
      { raw: Buffer.from('{"recordId":"\xff"}', 'latin1') },
      'unavailable',
      'unknown_outcome',
      'unavailable',
    ],
    [
      'more than 8 MB',
      { raw: `{"recordId":"1"}${' '.repeat(8_000_001)}` },
      'unavailable',
      'unknown_outcome',
      'unavailable',
    ],
    [
      'more than 100 levels',
      { raw: `{"recordId":"1","more":${'['.repeat(100)}${']'.repeat(100)}}` },
      'unavailable',
      'unknown_outcome',
      'unavailable',
    ],
    [
      'more than 100,000 values',
      { raw: `{"recordId":"1","more":[${'{},'.repeat(100_000)}{}]}` },
      'unavailable',
      'unknown_outcome',
      'unavailable',
    ],
  ])('%s is classified by kind', async (_, response, read, write, find) => {
    const calls = await againstResponse(response);
    const failures = [
      await awaitFailure(calls.read()),
      await awaitFailure(calls.write()),
      await awaitFailure(calls.find()),
    ];
    expect(failures.map((failure) => failure.kind)).toEqual([read, write, find]);
    for (const { message, cause } of failures) {
      expect(message).toMatch(/^(Larkspur .*\.|In words\.)$/);
      expect(cause).toBeUndefined();
    }
  });

  test.each<[errorCode: string, code: string, more?: object, status?: number]>([
    ['BAD_REQUEST', 'emr_validation', {}, 400],
    ['RULE_BROKEN', 'emr_validation'],
    ['UNKNOWN_VALUE', 'unknown_value'],
    ['INACTIVE_RECORD', 'record_inactive'],
    ['UNKNOWN_NAME', 'record_not_found'],
    ['AMBIGUOUS_NAME', 'record_ambiguous'],
    ['MEDICATION_NOT_FOUND', 'medication_not_found'],
    ['ALREADY_EXISTS', 'duplicate_record', {}, 409],
    ['DUPLICATE_PATIENT', 'duplicate_patient', { mrn: 'LK1' }, 409],
    ['CONFLICT', 'slot_taken', { conflictType: 'BLOCK' }, 409],
    ['NOT_FOUND', 'patient_not_found', { record: 'patient' }, 404],
    ['NOT_FOUND', 'unknown_value', { record: 'visit type' }, 404],
    ['NOT_FOUND', 'record_not_found', { record: 'pharmacy' }, 404],
    ['NOT_FOUND', 'record_not_found', {}, 404],
    ['REFUSED', 'emr_refused'],
    ['A_NEW_ONE', 'emr_refused'],
  ])('a response with the error code %s is a %s failure', async (errorCode, code, more = {}, status = 422) => {
    const { write } = await againstResponse({ status, ...rejection(errorCode, 'In words.', more) });
    expect((await awaitFailure(write())).code).toBe(code);
  });

  test('about fields that the practice requires names them as the interface does', async () => {
    const more = { missing: ['homePhone', 'sexCode', 'cellPhone'] };
    const text = 'This practice requires: homePhone, sexCode, cellPhone.';
    const { write } = await againstResponse({ status: 422, ...rejection('RULE_BROKEN', text, more) });
    expect((await awaitFailure(write())).message).toBe('This practice requires: phone, sex, cell_phone.');
  });

  test('a response that our marker was used before returns the earlier write', async () => {
    const json = { recordId: '77', corrections: [], changes: [] };
    const { write } = await againstResponse({ status: 409, ...rejection('DUPLICATE_REFERENCE', '') }, { json });
    expect(await write()).toEqual({ ehr_id: '77' });
  });

  test('a response that our marker was used before, without a receipt, leaves the outcome unknown', async () => {
    const used = { status: 409, ...rejection('DUPLICATE_REFERENCE', '') };
    for (const receipt of [used, { status: 404, ...rejection('NOT_FOUND') }, { status: 500, raw: '' }]) {
      const { write } = await againstResponse(used, receipt);
      expect(await awaitFailure(write())).toMatchObject({ kind: 'unknown_outcome' });
    }
  });

  test.each([429, 503])('%i sets the time of the next attempt, in seconds or as a date', async (status) => {
    const seconds = await againstResponse({ status, headers: { 'retry-after': '7' }, raw: '' });
    expect(await awaitFailure(seconds.write())).toMatchObject({ kind: 'unavailable', retry_after_ms: 7000 });
    const date = new Date(Date.now() + 60_000).toUTCString();
    const clock = await awaitFailure(
      (await againstResponse({ status, headers: { 'retry-after': date }, raw: '' })).read(),
    );
    expect(clock.retry_after_ms).toBeGreaterThan(50_000);
    expect(clock.retry_after_ms).toBeLessThanOrEqual(60_000);
    for (const headers of [{ 'retry-after': 'soon' }, {}]) {
      const failure = await awaitFailure((await againstResponse({ status, headers, raw: '' })).read());
      expect(failure.retry_after_ms).toBeUndefined();
    }
  });

  test('a response with Larkspur’s own text is cut at 1000 characters and stripped of control characters', async () => {
    const errorText = `No\u0000 such\r\nrecord\u001b[31m ${'😀'.repeat(1100)}`;
    const { write } = await againstResponse({ status: 422, ...rejection('REFUSED', errorText) });
    const { message } = await awaitFailure(write());
    expect(message).toMatch(/^No {2}such record \[31m 😀+$/u);
    expect([...message]).toHaveLength(1000);
    const silent = await againstResponse({ status: 422, ...rejection('REFUSED', ' \n') });
    expect((await awaitFailure(silent.write())).message).toBe('Larkspur did not accept the request (422).');
  });
});
