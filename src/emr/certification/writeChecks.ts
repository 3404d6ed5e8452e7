import { EmrFailure } from '../connector.ts';
import { type Check, expectFailure } from './check.ts';
import type { Environment, Interceptor } from './environment.ts';
import {
  dropConnection,
  isWrite,
  loseResponse,
  onCall,
  respondWith,
  tooManyRequests,
  unreachable,
  unusable_responses,
} from './interceptors.ts';
import { fail, skip } from './outcomes.ts';
import { type PreparedWrite, prepareWrite } from './prepareWrite.ts';
import { samples, type WriteName } from './samples.ts';

// Object.keys loses the type of the keys.
const names = Object.keys(samples) as WriteName[];

/** What every write must do. */
export const writeChecks: readonly Check[] = names.flatMap(checkWrite);

function checkWrite(name: WriteName): Check[] {
  return [
    {
      id: `${name}.written`,
      expectation: 'the write returns an id and can be read immediately',
      run: async (env) => {
        const { write, input, marker, count } = await prepareWrite(env, name);
        const written = await env.track(write.send(input, marker));
        if (!written.ehr_id) fail('the write returned no id');
        const times = await count(written);
        if (times !== undefined && times !== 1) fail(`the record exists ${times} times`);
      },
    },
    {
      id: `${name}.find`,
      expectation: 'find returns the write by its marker, and nothing for an unused marker',
      run: async (env) => {
        const { write, input, marker } = await prepareWrite(env, name);
        if (!write.find) return skip('the write has no find');
        const written = await env.track(write.send(input, marker));
        const found = await env.track(write.find(marker, input));
        if (found?.ehr_id !== written.ehr_id) fail(found ? 'another record was found' : 'the record was not found');
        if ((await write.find(env.marker(), input)) !== undefined) fail('an unused marker finds a record');
      },
    },
    {
      id: `${name}.idempotent`,
      expectation: 'sending the same marker twice creates one record',
      run: async (env) => {
        const { write, input, marker, count } = await prepareWrite(env, name);
        const first = await env.track(write.send(input, marker));
        const second = await env.track(write.send(input, marker));
        // The product never sends such a write twice.
        if (first.ehr_id !== second.ehr_id && !write.find) skip('the write has no find');
        if (first.ehr_id !== second.ehr_id) fail('the second attempt created another record');
        const times = await count(first);
        if (times !== undefined && times !== 1) fail(`the record exists ${times} times`);
      },
    },
    {
      id: `${name}.lost_response`,
      expectation:
        'a lost response is unknown_outcome; after find, and a new attempt if nothing is found, the record exists once',
      run: async (env) => {
        const writes_sent = await countWrites(env, name);
        for (let index = 0; index < writes_sent; index++) await recoverLostResponse(env, name, index, writes_sent);
      },
    },
    {
      id: `${name}.not_sent`,
      expectation: 'a request that was never sent is unavailable, and the record does not exist',
      run: async (env) => {
        const prepared = await prepareWrite(env, name, unreachable);
        const { write, input, marker } = prepared;
        await expectFailure(env, 'unreachable', () => write.send(input, marker), ['unavailable']);
        await expectAbsent(env, name, prepared);
      },
    },
    {
      id: `${name}.unusable_response`,
      expectation:
        'an unusable response to a sent request is unknown_outcome, or unavailable if the record was looked for and is absent; 429 is unavailable',
      run: async (env) => {
        const writes_sent = await countWrites(env, name);
        for (const [situation, make] of Object.entries(unusable_responses))
          await expectUnknownOutcome(env, name, situation, respondWith(make), writes_sent);
        await expectUnknownOutcome(env, name, 'a lost connection', dropConnection, writes_sent);
        const { write, input, marker } = await prepareWrite(env, name, onCall(0, tooManyRequests, isWrite));
        const failure = await expectFailure(env, 'too many requests (429)', () => write.send(input, marker), [
          'unavailable',
        ]);
        if (failure.retry_after_ms !== 7000) fail('Retry-After was not passed on');
      },
    },
    {
      id: `${name}.unknown_record`,
      expectation: 'a write to a record that does not exist is not_found or refused',
      run: async (env) => {
        const { write, input, marker } = await prepareWrite(env, name);
        const misdirected = misdirect(input);
        if (!misdirected) return skip('the write refers to no other record');
        await expectFailure(env, 'an unknown id', () => write.send(misdirected, marker), ['not_found', 'refused']);
      },
    },
    {
      id: `${name}.unknown_references`,
      expectation: 'each record that the write refers to must exist; otherwise nothing is written',
      run: async (env) => {
        const { input } = await prepareWrite(env, name);
        const references = referencesIn(input);
        if (references.length === 0) skip('the write refers to no other record');
        for (const reference of references) {
          const { write, marker, calls } = await prepareWrite(env, name);
          const misdirected = { ...(input as object), [reference]: missing_id };
          const send = () => write.send(misdirected, marker);
          await expectFailure(env, `an unknown ${reference}`, send, ['not_found', 'refused']);
          const found = await env.track(write.find?.(marker, misdirected) ?? Promise.resolve(undefined));
          if (found && calls.some(isWrite)) fail(`an unknown ${reference} was refused after the record was written`);
        }
      },
    },
  ];
}

/** How many write requests one write needs. */
async function countWrites(env: Environment, name: WriteName): Promise<number> {
  const { write, input, marker, calls } = await prepareWrite(env, name);
  await env.track(write.send(input, marker));
  return calls.filter(isWrite).length || fail('no write request was sent');
}

/** Follows the product: looks the write up, and sends it again if it is absent. */
async function recoverLostResponse(
  env: Environment,
  name: WriteName,
  index: number,
  writes_sent: number,
): Promise<void> {
  const { write, input, marker, count } = await prepareWrite(env, name, onCall(index, loseResponse, isWrite));
  const situation = `response ${index + 1} of ${writes_sent} lost`;
  const last = index === writes_sent - 1;
  const kinds = ['unknown_outcome', ...(last ? [] : (['unavailable'] as const))] as const;
  await expectFailure(env, situation, () => write.send(input, marker), kinds);
  if (!write.find) return;
  const found = await env.track(write.find(marker, input));
  if (!found && last) fail(`${situation}: the record exists but was not found`);
  const written = found ?? (await env.track(write.send(input, marker)));
  const found_again = await write.find(marker, input);
  if (found_again?.ehr_id !== written.ehr_id) fail(`${situation}: another record was found`);
  const times = await count(written);
  if (times !== undefined && times !== 1) fail(`${situation}: the record exists ${times} times`);
}

/** The last write is the one that stores the record. Earlier ones, such as a file, may be repeated without harm. */
async function expectUnknownOutcome(
  env: Environment,
  name: WriteName,
  situation: string,
  intercept: Interceptor,
  writes_sent: number,
): Promise<void> {
  const prepared = await prepareWrite(env, name, onCall(writes_sent - 1, intercept, isWrite));
  const { write, input, marker, calls } = prepared;
  const { kind } = await expectFailure(env, situation, () => write.send(input, marker), [
    'unknown_outcome',
    'unavailable',
  ]);
  const looked = calls.slice(calls.findLastIndex(isWrite) + 1).length > 0;
  if (kind === 'unavailable' && !looked) fail(`${situation}: failed as unavailable without looking for the record`);
  await expectAbsent(env, name, prepared);
}

async function expectAbsent(env: Environment, name: WriteName, { input, marker }: PreparedWrite): Promise<void> {
  const { emr } = await env.open();
  // As in `prepareWrite`.
  const write = emr[name] as unknown as PreparedWrite['write'];
  const found = await write.find?.(marker, input).catch((error: unknown) => {
    if (error instanceof EmrFailure && error.kind === 'unknown_outcome') return undefined;
    throw error;
  });
  if (found) fail('the record was found although it never arrived');
}

const missing_id = 'no-such-record-0';

/** The fields of an input that refer to a record of the EMR. */
function referencesIn(input: unknown): string[] {
  return Object.entries(Object(input)).flatMap(([name, value]) =>
    name.endsWith('_ehr_id') && typeof value === 'string' ? [name] : [],
  );
}

/** The same input for a record that does not exist. undefined if the input refers to no record. */
function misdirect(input: unknown): unknown {
  const keys = ['patient_ehr_id', 'encounter_ehr_id', 'insurance_ehr_id'];
  const key = keys.find((each) => typeof input === 'object' && input !== null && each in input);
  return key && { ...(input as object), [key]: missing_id };
}
