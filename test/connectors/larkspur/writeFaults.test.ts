import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Grant } from '../../../src/emr/connector.ts';
import type { Operations } from '../../../src/emr/operations/operations.ts';
import {
  awaitFailure,
  collect,
  createEndpoint,
  createOperations,
  type Expected,
  expectNoSecret,
  type LarkspurFixture,
  openFixture,
  read_failures,
  required,
  signedInGrant,
} from './fixture.ts';

let fixture: LarkspurFixture;
let grant: Grant;
let emr: Operations;
let marker: string;
beforeAll(async () => {
  fixture = await openFixture();
  grant = await signedInGrant(fixture);
  emr = createOperations(createEndpoint(fixture.emr.url), fixture.credentials, grant).emr;
});
afterEach(() => fixture.control('DELETE', '/faults'));
afterAll(() => fixture.close());

const unknown = (expected: Expected): Expected => ({ ...expected, kind: 'unknown_outcome' });

describe('a write', () => {
  test.each<[string, Expected, 'applied' | 'not applied']>([
    ['error_500', unknown(read_failures.error_500), 'not applied'],
    ['error_429', read_failures.error_429, 'not applied'],
    ['reset', unknown(read_failures.broke_off), 'not applied'],
    ['html', unknown(read_failures.unreadable), 'not applied'],
    ['empty', unknown(read_failures.unreadable), 'not applied'],
    ['truncate', unknown(read_failures.broke_off), 'applied'],
    ['lose_answer', unknown(read_failures.broke_off), 'applied'],
    ['refuse', { kind: 'refused', message: 'Larkspur refused this write.' }, 'not applied'],
  ])('a write with the fault %s reports what is known, and `find` is correct', async (kind, expected, truth) => {
    await fixture.fault('create_telephone_encounter', kind);
    const failure = await awaitFailure(send());
    expect(failure).toMatchObject(expected);
    expectNoSecret(failure, fixture.credentials, grant);

    const existing = await find();
    expect(existing !== undefined).toBe(truth === 'applied');
    expect(await appliedTimes()).toBe(truth === 'applied' ? 1 : 0);
    // Sent again with its marker it exists once, whatever happened to the first.
    const again = await resend();
    if (existing) expect(again).toEqual(existing);
    expect(await find()).toEqual(again);
    expect(await appliedTimes()).toBe(1);
  });

  test.each(['delay', 'correct_value'])('a write with the fault %s succeeds', async (kind) => {
    const details = kind === 'delay' ? { delay_ms: 300 } : { field: 'reason', value: 'Corrected' };
    await fixture.fault('create_telephone_encounter', kind, details);
    const written = await send();
    expect(await find()).toEqual(written);
  });

  test('a refill that fails is refused with Larkspur’s message, and `find` returns nothing', async () => {
    const encounter = await send();
    await fixture.fault('add_refill', 'refill_fails');
    const input = { encounter_ehr_id: encounter.ehr_id, medication_ehr_id: '20001', pharmacy_ehr_id: null };
    const failure = await awaitFailure(emr.addRefill.send(input, `${marker}-refill`));
    expect(failure).toMatchObject({ kind: 'refused', message: 'The refill could not be added.' });
    expect(await required(emr.addRefill.find)(`${marker}-refill`, input)).toBeUndefined();
  });

  test('a write to a record that does not exist is not_found', async () => {
    const failure = await awaitFailure(
      emr.createTelephoneEncounter.send({ ...call, provider_ehr_id: '1' }, 'no-provider'),
    );
    expect(failure).toMatchObject({
      kind: 'not_found',
      code: 'record_not_found',
      message: "No provider with id '1'.",
    });
  });

  test('a write that Larkspur rejects is refused with a readable message', async () => {
    const failure = await awaitFailure(
      emr.createTelephoneEncounter.send({ ...call, reason: 'x'.repeat(51) }, 'too-long'),
    );
    expect(failure).toMatchObject({ kind: 'refused', code: 'emr_validation' });
    expect(failure.message).toMatch(/^Larkspur did not accept the request \(400\): .*reason.*\.$/);
  });

  test('sent five times concurrently with one marker is one write, and all calls return it', async () => {
    marker = `at-once-${Date.now()}`;
    const all = await Promise.all(Array.from({ length: 5 }, resend));
    expect(new Set(all.map((written) => written.ehr_id)).size).toBe(1);
    expect(await appliedTimes()).toBe(1);
  });

  test.each(['error_500', 'error_429', 'reset', 'truncate', 'html', 'empty'])(
    '`find` with the fault %s does not report the write as absent',
    async (kind) => {
      await send();
      await fixture.fault('find_receipt', kind);
      expect(await awaitFailure(find())).toMatchObject({ kind: 'unavailable' });
    },
  );
});

describe('an EMR that does not respond', () => {
  test('times out after 10 s: a read is unavailable, a write of unknown outcome', async () => {
    await fixture.fault('list_staff', 'delay', { delay_ms: 11_000 });
    await fixture.fault('create_telephone_encounter', 'delay', { delay_ms: 15_000 });
    const [read, write] = await Promise.all([awaitFailure(collect(emr.listStaff())), awaitFailure(send())]);
    expect(read).toMatchObject({ kind: 'unavailable', message: 'Larkspur did not respond in time.' });
    expect(write).toMatchObject({ kind: 'unknown_outcome', message: 'Larkspur did not respond in time.' });
    // The write is still in progress inside Larkspur: it does not exist yet, and sending it again does not duplicate
    // it.
    expect(await find()).toBeUndefined();
    const again = await resend();
    await expect.poll(async () => (await readEntries(marker)).length).toBe(2);
    expect(await find()).toEqual(again);
    expect(await appliedTimes()).toBe(1);
  });

  test('is abandoned immediately when the work is stopped, and the kind depends on whether it was sent', async () => {
    const stop = new AbortController();
    const stoppable = createOperations(createEndpoint(fixture.emr.url, stop.signal), fixture.credentials, grant).emr;
    await fixture.fault('list_staff', 'delay', { delay_ms: 8_000 });
    await fixture.fault('create_telephone_encounter', 'delay', { delay_ms: 8_000 });
    const both = Promise.all([
      awaitFailure(collect(stoppable.listStaff())),
      awaitFailure(stoppable.createTelephoneEncounter.send(call, 'stopped')),
    ]);
    await expect.poll(() => fixture.control('GET', '/faults')).toMatchObject({ faults: [] });
    stop.abort();
    // Given enough time, both would have succeeded.
    const [read, write] = await both;
    expect(read.kind).toBe('unavailable');
    expect(write.kind).toBe('unknown_outcome');
    const after = await awaitFailure(stoppable.createTelephoneEncounter.send(call, 'never-sent'));
    expect(after.kind).toBe('unavailable');
  });
});

const call = {
  patient_ehr_id: '10001',
  provider_ehr_id: '501',
  location_ehr_id: '11',
  assigned_to_ehr_id: '703',
  high_priority: false,
  reason: 'Test results',
  caller: null,
  message: null,
  pharmacy_ehr_id: null,
  template_name: null,
};

let markers = 0;
function send() {
  marker = `call-${++markers}`;
  return resend();
}

function resend() {
  return emr.createTelephoneEncounter.send(call, marker);
}

function find() {
  return required(emr.createTelephoneEncounter.find)(marker, call);
}

async function appliedTimes(): Promise<number> {
  return (await readEntries(marker)).filter(({ applied }) => applied).length;
}

/** Larkspur's log of the writes with this marker. */
async function readEntries(sent: string): Promise<{ marker: string; applied: boolean }[]> {
  const { entries } = (await fixture.control('GET', '/ledger')) as { entries: { marker: string; applied: boolean }[] };
  return entries.filter((entry) => entry.marker === sent);
}
