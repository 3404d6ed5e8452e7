import { loadZone, toInstant } from '../../platform/time/zones.ts';
import { EmrFailure } from '../emrFailure.ts';
import { booksFreeSlotsOnly } from '../operations/appointments.ts';
import { collect, missing_id, type Saved, skip } from '../operations/operation.ts';
import { operations, type WriteName, write_names } from '../operations/operations.ts';
import { type Check, type Environment, expectFailure, fail, type Interceptor, untyped } from './environment.ts';
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
import { readPosition, requireList } from './listChecks.ts';
import { type PreparedWrite, prepareWrite } from './preparedWrites.ts';

/** What every write must do. */
export const writeChecks: readonly Check[] = write_names.flatMap(checkWrite);

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
      expectation: 'find returns the write by its marker, and nothing for an unused marker, unless it compares values',
      run: async (env) => {
        const { write, input, marker } = await prepareWrite(env, name);
        if (!write.find) return skip('the write has no find');
        const written = await env.track(write.send(input, marker));
        const match = await env.track(write.find(marker, input));
        if (match?.ehr_id !== written.ehr_id) fail(match ? 'another record was found' : 'the record was not found');
        if (!write.compares && (await write.find(env.marker(), input)) !== undefined)
          fail('an unused marker finds a record');
      },
    },
    {
      id: `${name}.idempotent`,
      expectation: 'sending the same marker twice creates one record',
      run: async (env) => {
        const { write, input, marker, count } = await prepareWrite(env, name);
        const first = await env.track(write.send(input, marker));
        const second = await env.track(write.send(input, marker));
        // The product never repeats a write without `find`.
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
          await expectUnknownOutcome(env, name, { situation, intercept: respondWith(make), writes_sent });
        const lost_connection = { situation: 'a lost connection', intercept: dropConnection, writes_sent };
        await expectUnknownOutcome(env, name, lost_connection);
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
          const match = await env.track(write.find?.(marker, misdirected) ?? Promise.resolve(undefined));
          if (match && calls.some(isWrite)) fail(`an unknown ${reference} was refused after the record was written`);
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
  const match = await env.track(write.find(marker, input));
  if (!match && last) fail(`${situation}: the record exists but was not found`);
  const written = match ?? (await env.track(write.send(input, marker)));
  const second_match = await write.find(marker, input);
  if (second_match?.ehr_id !== written.ehr_id) fail(`${situation}: another record was found`);
  const times = await count(written);
  if (times !== undefined && times !== 1) fail(`${situation}: the record exists ${times} times`);
}

/** The last write is the one that stores the record. Earlier ones, such as a file, may be repeated without harm. */
async function expectUnknownOutcome(
  env: Environment,
  name: WriteName,
  { situation, intercept, writes_sent }: { situation: string; intercept: Interceptor; writes_sent: number },
): Promise<void> {
  const prepared = await prepareWrite(env, name, onCall(writes_sent - 1, intercept, isWrite));
  const { write, input, marker, calls } = prepared;
  const { kind } = await expectFailure(env, situation, () => write.send(input, marker), [
    'unknown_outcome',
    'unavailable',
  ]);
  const was_looked_up = calls.slice(calls.findLastIndex(isWrite) + 1).length > 0;
  if (kind === 'unavailable' && !was_looked_up)
    fail(`${situation}: failed as unavailable without looking for the record`);
  await expectAbsent(env, name, prepared);
}

async function expectAbsent(env: Environment, name: WriteName, { input, marker }: PreparedWrite): Promise<void> {
  const { write } = untyped((await env.open()).emr, name);
  const match = await write?.find?.(marker, input).catch((error: unknown) => {
    if (error instanceof EmrFailure && error.kind === 'unknown_outcome') return undefined;
    throw error;
  });
  if (match) fail('the record was found although it never arrived');
}

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

/** What single writes must do, beyond the checks of all writes. */
export const singleWriteChecks: readonly Check[] = [
  // New patients are last in most lists, so this detects lists that are not read to their end.
  {
    id: 'createPatient.listed',
    expectation: 'a new patient is in the list of patients and among the changes',
    run: async (env) => {
      const { write, input, marker } = await prepareWrite(env, 'createPatient');
      const { emr } = await env.open();
      const list = requireList(emr, 'listPatients');
      const since = list.incremental && (await readPosition(list()));
      const { ehr_id } = await env.track(write.send(input, marker));
      const isIn = async (rows: AsyncIterable<{ ehr_id: string }[]>) =>
        (await collect(rows)).some((patient) => patient.ehr_id === ehr_id);
      if (!(await isIn(list()))) fail('the patient is not in the list');
      if (since !== undefined && !(await isIn(list({ since })))) fail('the patient is not among the changes');
    },
  },
  {
    id: 'createAppointment.conflict',
    expectation:
      'with prevent_double_booking, only one of several bookings of the same time succeeds; the others are slot_taken',
    run: async (env) => {
      const first = await prepareWrite(env, 'createAppointment');
      const input = { ...(await operations.createAppointment.sample.input(env)), prevent_double_booking: true };
      const markers = Array.from({ length: 3 }, () => env.marker());
      const outcomes = await Promise.allSettled(markers.map((marker) => env.track(first.write.send(input, marker))));
      const booked = outcomes.filter(({ status }) => status === 'fulfilled').length;
      if (booked > 1) fail(`${booked} of 3 concurrent bookings succeeded`);
      if (booked === 0) await env.track(first.write.send(input, env.marker()));
      const late = () => first.write.send(input, env.marker());
      const { code, details } = await expectFailure(env, 'a booked time', late, ['refused']);
      if (code !== 'slot_taken') fail(`the failure code is ${code}, not slot_taken`);
      if (details?.conflict_type !== 'appointment') fail('conflict_type is not appointment');
    },
  },
  {
    id: 'createAppointment.default_duration',
    expectation: 'an appointment without a duration gets the length of its visit type, or the given default',
    run: async (env) => {
      const { write, marker } = await prepareWrite(env, 'createAppointment');
      if (await booksFreeSlotsOnly(env)) skip('the EMR books free slots, which have lengths of their own');
      const input = { ...(await operations.createAppointment.sample.input(env)), minutes: null, default_minutes: 25 };
      const { ehr_id } = await env.track(write.send(input, marker));
      const { emr } = await env.open();
      const booked = (await emr.getAppointment?.(ehr_id)) ?? skip('the EMR does not show single appointments');
      const types = emr.listVisitTypes ? await env.rows('listVisitTypes') : [];
      const expected = types.find(({ code }) => code === input.visit_type)?.minutes ?? input.default_minutes;
      if (booked.minutes !== expected) fail(`the appointment has ${booked.minutes} minutes, expected ${expected}`);
    },
  },
  {
    id: 'createAppointment.repeated_hour',
    expectation: 'an appointment in the second pass of a repeated hour keeps its instant, or is refused',
    run: async (env) => {
      const { timezone = 'UTC' } = await env.session();
      const starts_at = repeatedTime(timezone) ?? skip('the clocks of the time zone never go back');
      const { write, marker } = await prepareWrite(env, 'createAppointment');
      if (await booksFreeSlotsOnly(env)) skip('the EMR books free slots only, and has none then');
      const input = { ...(await operations.createAppointment.sample.input(env)), starts_at };
      const written = await env.track(write.send(input, marker)).catch((error: unknown) => {
        // An EMR that stores local times without an offset cannot tell the two hours apart.
        if (error instanceof EmrFailure && error.kind === 'refused') return undefined;
        throw error;
      });
      if (!written) return;
      const { ehr_id } = written;
      const { emr } = await env.open();
      const booked = (await emr.getAppointment?.(ehr_id)) ?? skip('the EMR does not show single appointments');
      if (toInstant(booked.starts, timezone) !== Date.parse(starts_at)) fail('the appointment is at another instant');
    },
  },
  {
    id: 'updatePatientInsurance.same_subscriber',
    expectation: 'a subscriber with the name of the present one keeps the record and the fields that were not sent',
    run: async (env) => {
      const { write } = await prepareWrite(env, 'updatePatientInsurance');
      const { insurance_ehr_id } = await operations.updatePatientInsurance.sample.input(env);
      const person = { first_name: `Cert ${env.uniqueTag()}`, last_name: 'Subscriber' };
      const update = (more: object) =>
        env.track(
          write.send(
            { insurance_ehr_id, relationship: '02', subscriber: { ...person, ...more } },
            env.marker(),
          ) as Promise<Saved>,
        );
      const { emr } = await env.open();
      const guarantor = async () => {
        const all = (await emr.listPatientInsurances?.((await env.testPatient()).ehr_id)) ?? [];
        return all.find(({ emr_insurance_id }) => emr_insurance_id === insurance_ehr_id)?.guarantor_id;
      };
      await update({ dob: '1971-03-02', phone: '518-555-0146' });
      const before = await guarantor();
      const { changes } = await update({ phone: '518-555-0147' });
      if ((await guarantor()) !== before) fail('the subscriber became another record');
      const [change, ...others] = changes.filter(({ property }) => property.startsWith('subscriber_demographics'));
      if (others.length > 0) fail('fields that were not sent have changed');
      if (change?.before !== '518-555-0146') fail('the previous value is not reported');
    },
  },
];

/** The middle of the next repeated hour that is ten months or more ahead, in its second pass. */
function repeatedTime(timezone: string): string | undefined {
  const zone = loadZone(timezone);
  const first_min = Math.floor(Date.now() / 3_600_000) * 60 + 300 * 24 * 60;
  for (let hour = 1; hour < 366 * 24; hour++) {
    const minute = first_min + hour * 60;
    if (zone.offsetAt(minute) < zone.offsetAt(minute - 60)) return zone.iso(minute + 30);
  }
  return undefined;
}
