import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Grant, Operations } from '../../../src/connectors/connector.ts';
import {
  collect,
  type Expected,
  expectNoSecret,
  failureOf,
  type LarkspurFixture,
  met,
  openEndpoint,
  openFixture,
  openOperations,
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
  emr = openOperations(openEndpoint(fixture.emr.url), fixture.credentials, grant).emr;
});
afterEach(() => fixture.control('DELETE', '/faults'));
afterAll(() => fixture.close());

const unknown = (expected: Expected): Expected => ({ ...expected, kind: 'unknown_outcome' });

describe('a write', () => {
  test.each<[string, Expected, 'applied' | 'not applied']>([
    ['error_500', unknown(met.error_500), 'not applied'],
    ['error_429', met.error_429, 'not applied'],
    ['reset', unknown(met.broke_off), 'not applied'],
    ['html', unknown(met.unreadable), 'not applied'],
    ['empty', unknown(met.unreadable), 'not applied'],
    ['truncate', unknown(met.broke_off), 'applied'],
    ['lose_answer', unknown(met.broke_off), 'applied'],
    ['refuse', { kind: 'refused', message: 'Larkspur refused this write.' }, 'not applied'],
  ])('met by %s tells what is known, and `find` tells the truth', async (kind, expected, truth) => {
    await fixture.fault('create_telephone_encounter', kind);
    const failure = await failureOf(send());
    expect(failure).toMatchObject(expected);
    expectNoSecret(failure, fixture.credentials, grant);

    const found = await find();
    expect(found !== undefined).toBe(truth === 'applied');
    expect(await appliedTimes()).toBe(truth === 'applied' ? 1 : 0);
    // Sent again with its marker it stands once, whatever became of the first.
    const again = await resend();
    if (found) expect(again).toEqual(found);
    expect(await find()).toEqual(again);
    expect(await appliedTimes()).toBe(1);
  });

  test.each(['delay', 'correct_value'])('met by %s succeeds', async (kind) => {
    const details = kind === 'delay' ? { delay_ms: 300 } : { field: 'reason', value: 'Corrected' };
    await fixture.fault('create_telephone_encounter', kind, details);
    const written = await send();
    expect(await find()).toEqual(written);
  });

  test('a refill that fails is refused in the words of Larkspur, and `find` knows of none', async () => {
    const encounter = await send();
    await fixture.fault('add_refill', 'refill_fails');
    const input = { encounter_ehr_id: encounter.ehr_id, medication_ehr_id: '20001', pharmacy_ehr_id: null };
    const failure = await failureOf(emr.addRefill.send(input, `${marker}-refill`));
    expect(failure).toMatchObject({ kind: 'refused', message: 'The refill could not be added.' });
    expect(await required(emr.addRefill.find)(`${marker}-refill`, input)).toBeUndefined();
  });

  test('that names a record which is not there is not_found', async () => {
    const failure = await failureOf(
      emr.createTelephoneEncounter.send({ ...call, provider_ehr_id: '1' }, 'no-provider'),
    );
    expect(failure).toMatchObject({ kind: 'not_found', message: "No provider with id '1'." });
  });

  test('that Larkspur cannot take is refused in plain words', async () => {
    const failure = await failureOf(emr.createTelephoneEncounter.send({ ...call, reason: 'x'.repeat(51) }, 'too-long'));
    expect(failure).toMatchObject({ kind: 'refused', message: 'Larkspur did not accept the request (400).' });
  });

  test('of one marker sent five times at once is one write, and all are told of it', async () => {
    marker = `at-once-${Date.now()}`;
    const all = await Promise.all(Array.from({ length: 5 }, resend));
    expect(new Set(all.map((written) => written.ehr_id)).size).toBe(1);
    expect(await appliedTimes()).toBe(1);
  });

  test.each(['error_500', 'error_429', 'reset', 'truncate', 'html', 'empty'])(
    '`find` met by %s does not say that the write is absent',
    async (kind) => {
      await send();
      await fixture.fault('find_receipt', kind);
      expect(await failureOf(find())).toMatchObject({ kind: 'unavailable' });
    },
  );
});

describe('an EMR that does not answer', () => {
  test('is given up after 10 s: a read is unavailable, a write of unknown outcome', async () => {
    await fixture.fault('list_staff', 'delay', { delay_ms: 11_000 });
    await fixture.fault('create_telephone_encounter', 'delay', { delay_ms: 15_000 });
    const [read, write] = await Promise.all([failureOf(collect(emr.listStaff())), failureOf(send())]);
    expect(read).toMatchObject({ kind: 'unavailable', message: 'Larkspur did not respond in time.' });
    expect(write).toMatchObject({ kind: 'unknown_outcome', message: 'Larkspur did not respond in time.' });
    // The write is still on its way inside Larkspur: it is not there yet, and sent again it is not doubled.
    expect(await find()).toBeUndefined();
    const again = await resend();
    await expect.poll(async () => (await entriesOf(marker)).length).toBe(2);
    expect(await find()).toEqual(again);
    expect(await appliedTimes()).toBe(1);
  });

  test('is left at once when the work is stopped; whether it was sent decides the kind', async () => {
    const stop = new AbortController();
    const stoppable = openOperations(openEndpoint(fixture.emr.url, stop.signal), fixture.credentials, grant).emr;
    await fixture.fault('list_staff', 'delay', { delay_ms: 8_000 });
    await fixture.fault('create_telephone_encounter', 'delay', { delay_ms: 8_000 });
    const both = Promise.all([
      failureOf(collect(stoppable.listStaff())),
      failureOf(stoppable.createTelephoneEncounter.send(call, 'stopped')),
    ]);
    await expect.poll(() => fixture.control('GET', '/faults')).toMatchObject({ faults: [] });
    stop.abort();
    // Waited for, both would have ended well.
    const [read, write] = await both;
    expect(read.kind).toBe('unavailable');
    expect(write.kind).toBe('unknown_outcome');
    const after = await failureOf(stoppable.createTelephoneEncounter.send(call, 'never-sent'));
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
  return (await entriesOf(marker)).filter(({ applied }) => applied).length;
}

/** What Larkspur has noted of the writes with this marker. */
async function entriesOf(sent: string): Promise<{ marker: string; applied: boolean }[]> {
  const { entries } = (await fixture.control('GET', '/ledger')) as { entries: { marker: string; applied: boolean }[] };
  return entries.filter((entry) => entry.marker === sent);
}
