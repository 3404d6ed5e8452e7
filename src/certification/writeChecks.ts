import { EmrFailure } from '../connectors/connector.ts';
import { collect } from '../connectors/operations.ts';
import { type Check, fail, failureOf, skip } from './check.ts';
import type { Environment, Interceptor } from './environment.ts';
import { answering, at, cut, losing, mayWrite, too_many, unreachable, useless } from './interceptors.ts';
import { listOf, throughOf } from './listChecks.ts';
import { type Trial, trial } from './prepareWrite.ts';
import { samples, type WriteName } from './samples.ts';

// The keys of the table are the names of writes; TypeScript gives them back as texts.
const names = Object.keys(samples) as WriteName[];

export const writeChecks: readonly Check[] = [
  ...names.flatMap(checksOf),
  // A new patient stands at the end of a list, so a list that is not read to its end does not have it.
  {
    id: 'createPatient.listed',
    promise: 'a patient that was just created stands in the list of patients, and in what has changed since before',
    run: async (env) => {
      const { write, input, marker } = await trial(env, 'createPatient');
      const { emr } = await env.open();
      const list = listOf(emr, 'listPatients');
      const since = list.incremental && (await throughOf(list()));
      const { ehr_id } = await env.watch(write.send(input, marker));
      const isIn = async (rows: AsyncIterable<{ ehr_id: string }[]>) =>
        (await collect(rows)).some((patient) => patient.ehr_id === ehr_id);
      if (!(await isIn(list()))) fail('it is not in the list');
      if (since !== undefined && !(await isIn(list({ since })))) fail('it is not among the changes');
    },
  },
  {
    id: 'createAppointment.conflict',
    promise: 'of bookings of one time that must not be double, at once and one after the other, exactly one stands',
    run: async (env) => {
      const first = await trial(env, 'createAppointment');
      const input = { ...(await samples.createAppointment.input(env)), prevent_double_booking: true };
      const markers = Array.from({ length: 3 }, () => env.marker());
      const ends = await Promise.allSettled(markers.map((marker) => env.watch(first.write.send(input, marker))));
      const made = ends.filter(({ status }) => status === 'fulfilled').length;
      if (made > 1) fail(`${made} of 3 bookings at once stand`);
      if (made === 0) await env.watch(first.write.send(input, env.marker()));
      const late = () => first.write.send(input, env.marker());
      const { details } = await failureOf(env, 'a time that is taken', late, ['refused']);
      if (details?.conflict_type !== 'appointment') fail('the apiError does not say that an appointment is in the way');
    },
  },
];

function checksOf(name: WriteName): Check[] {
  return [
    {
      id: `${name}.written`,
      promise: 'what was written has an id, and can be read at once',
      run: async (env) => {
        const { write, input, marker, count } = await trial(env, name);
        const written = await env.watch(write.send(input, marker));
        if (!written.ehr_id) fail('what was written has no id');
        const times = await count(written);
        if (times !== undefined && times !== 1) fail(`it stands in the chart ${times} times`);
      },
    },
    {
      id: `${name}.found`,
      promise: 'it is found by its marker, and a marker that nobody used finds nothing',
      run: async (env) => {
        const { write, input, marker } = await trial(env, name);
        if (!write.find) return skip('it cannot be asked for: a lost answer needs a person');
        if ((await env.watch(write.find(marker, input))) !== undefined) fail('it was found before it was written');
        const written = await env.watch(write.send(input, marker));
        const found = await env.watch(write.find(marker, input));
        if (found?.ehr_id !== written.ehr_id) fail(found ? 'another record was found' : 'it was not found');
        if ((await write.find(env.marker(), input)) !== undefined) fail('a marker that nobody used finds a record');
      },
    },
    {
      id: `${name}.once`,
      promise: 'the same marker twice makes one record',
      run: async (env) => {
        const { write, input, marker, count } = await trial(env, name);
        const first = await env.watch(write.send(input, marker));
        const second = await env.watch(write.send(input, marker));
        // A server that tells nobody: the product never sends such a write twice.
        if (first.ehr_id !== second.ehr_id && !write.find) skip('it cannot be asked for: a lost answer needs a person');
        if (first.ehr_id !== second.ehr_id) fail('the second time made a second record');
        const times = await count(first);
        if (times !== undefined && times !== 1) fail(`it stands in the chart ${times} times`);
      },
    },
    {
      id: `${name}.lost_answer`,
      promise:
        'a lost answer leaves the outcome unknown; asked for by its marker and sent again only if absent, it stands once',
      run: async (env) => {
        const { write, input, marker, calls } = await trial(env, name);
        await env.watch(write.send(input, marker));
        const writing = calls.filter(mayWrite).length;
        if (writing === 0) fail('nothing was written');
        for (let index = 0; index < writing; index++) await loseAnswer(env, name, index, writing);
      },
    },
    {
      id: `${name}.not_sent`,
      promise: 'what was never sent is unavailable, so that it is tried again, and is not there',
      run: async (env) => {
        const tampered = await trial(env, name, unreachable);
        const { write, input, marker } = tampered;
        await failureOf(env, 'nobody there', () => write.send(input, marker), ['unavailable']);
        await expectAbsent(env, name, tampered);
      },
    },
    {
      id: `${name}.useless_answer`,
      promise: 'after it was sent, anything but a definite answer is of unknown outcome; too many requests is not',
      run: async (env) => {
        for (const [what, make] of Object.entries(useless)) await spoilAnswer(env, name, what, answering(make));
        await spoilAnswer(env, name, 'a broken line', cut);
        const { write, input, marker } = await trial(
          env,
          name,
          at(
            0,
            answering(() => too_many),
            mayWrite,
          ),
        );
        const failure = await failureOf(env, 'too many requests', () => write.send(input, marker), ['unavailable']);
        if (failure.retry_after_ms !== 7000) fail('a Retry-After of 7 s was not passed on');
      },
    },
    {
      id: `${name}.nowhere`,
      promise: 'a record that does not exist cannot be written to: not_found or refused',
      run: async (env) => {
        const { write, input, marker } = await trial(env, name);
        const misdirected = elsewhere(input);
        if (!misdirected) return skip('it is written to no other record');
        await failureOf(env, 'an id that nobody has', () => write.send(misdirected, marker), ['not_found', 'refused']);
      },
    },
  ];
}

/** Goes on as the product does: unknown, so it asks; absent, so it sends again. */
async function loseAnswer(env: Environment, name: WriteName, index: number, writing: number): Promise<void> {
  const { write, input, marker, count } = await trial(env, name, at(index, losing, mayWrite));
  const which = `the answer to write ${index + 1} of ${writing} lost`;
  await failureOf(env, which, () => write.send(input, marker), ['unknown_outcome']);
  if (!write.find) return;
  const found = await env.watch(write.find(marker, input));
  if (!found && index === writing - 1) fail(`${which}: it is there, but was not found`);
  const written = found ?? (await env.watch(write.send(input, marker)));
  const asked = await write.find(marker, input);
  if (asked?.ehr_id !== written.ehr_id) fail(`${which}: another record is found than was written`);
  const times = await count(written);
  if (times !== undefined && times !== 1) fail(`${which}: it stands in the chart ${times} times`);
}

async function spoilAnswer(env: Environment, name: WriteName, what: string, intercept: Interceptor): Promise<void> {
  const spoilt = await trial(env, name, at(0, intercept, mayWrite));
  await failureOf(env, what, () => spoilt.write.send(spoilt.input, spoilt.marker), ['unknown_outcome']);
  await expectAbsent(env, name, spoilt);
}

async function expectAbsent(env: Environment, name: WriteName, { input, marker }: Trial): Promise<void> {
  const { emr } = await env.open();
  // As in `trial`.
  const write = emr[name] as unknown as Trial['write'];
  const found = await write.find?.(marker, input).catch((error: unknown) => {
    if (error instanceof EmrFailure && error.kind === 'unknown_outcome') return undefined;
    throw error;
  });
  if (found) fail('it is found, although it never arrived');
}

/** The same words about a record that nobody has; undefined where they name none. */
function elsewhere(input: unknown): unknown {
  const keys = ['patient_ehr_id', 'encounter_ehr_id', 'insurance_ehr_id'];
  const key = keys.find((each) => typeof input === 'object' && input !== null && each in input);
  return key && { ...(input as object), [key]: 'no-such-record-0' };
}
