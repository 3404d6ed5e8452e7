import { EmrFailure } from '../connectors/connector.ts';
import { broken, notTried } from './broken.ts';
import { type Check, failureOf } from './check.ts';
import type { Stand, Tamper } from './environment.ts';
import { gather } from './gather.ts';
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
    run: async (stand) => {
      const { write, input, marker } = await trial(stand, 'createPatient');
      const { emr } = await stand.open();
      const list = listOf(emr, 'listPatients');
      const since = list.incremental && (await throughOf(list()));
      const { ehr_id } = await stand.watch(write.send(input, marker));
      const isIn = async (rows: AsyncIterable<{ ehr_id: string }[]>) =>
        (await gather(rows)).some((patient) => patient.ehr_id === ehr_id);
      if (!(await isIn(list()))) broken('it is not in the list');
      if (since !== undefined && !(await isIn(list({ since })))) broken('it is not among the changes');
    },
  },
  {
    id: 'createAppointment.conflict',
    promise: 'of bookings of one time that must not be double, at once and one after the other, exactly one stands',
    run: async (stand) => {
      const first = await trial(stand, 'createAppointment');
      const input = { ...(await samples.createAppointment.input(stand)), prevent_double_booking: true };
      const markers = Array.from({ length: 3 }, () => stand.marker());
      const ends = await Promise.allSettled(markers.map((marker) => stand.watch(first.write.send(input, marker))));
      const made = ends.filter(({ status }) => status === 'fulfilled').length;
      if (made > 1) broken(`${made} of 3 bookings at once stand`);
      if (made === 0) await stand.watch(first.write.send(input, stand.marker()));
      const late = () => first.write.send(input, stand.marker());
      const { details } = await failureOf(stand, 'a time that is taken', late, ['refused']);
      if (details?.conflict_type !== 'appointment')
        broken('the apiError does not say that an appointment is in the way');
    },
  },
];

function checksOf(name: WriteName): Check[] {
  return [
    {
      id: `${name}.written`,
      promise: 'what was written has an id, and can be read at once',
      run: async (stand) => {
        const { write, input, marker, count } = await trial(stand, name);
        const written = await stand.watch(write.send(input, marker));
        if (!written.ehr_id) broken('what was written has no id');
        const times = await count(written);
        if (times !== undefined && times !== 1) broken(`it stands in the chart ${times} times`);
      },
    },
    {
      id: `${name}.found`,
      promise: 'it is found by its marker, and a marker that nobody used finds nothing',
      run: async (stand) => {
        const { write, input, marker } = await trial(stand, name);
        if (!write.find) return notTried('it cannot be asked for: a lost answer needs a person');
        if ((await stand.watch(write.find(marker, input))) !== undefined) broken('it was found before it was written');
        const written = await stand.watch(write.send(input, marker));
        const found = await stand.watch(write.find(marker, input));
        if (found?.ehr_id !== written.ehr_id) broken(found ? 'another record was found' : 'it was not found');
        if ((await write.find(stand.marker(), input)) !== undefined) broken('a marker that nobody used finds a record');
      },
    },
    {
      id: `${name}.once`,
      promise: 'the same marker twice makes one record',
      run: async (stand) => {
        const { write, input, marker, count } = await trial(stand, name);
        const first = await stand.watch(write.send(input, marker));
        const second = await stand.watch(write.send(input, marker));
        // A server that tells nobody: the product never sends such a write twice.
        if (first.ehr_id !== second.ehr_id && !write.find)
          notTried('it cannot be asked for: a lost answer needs a person');
        if (first.ehr_id !== second.ehr_id) broken('the second time made a second record');
        const times = await count(first);
        if (times !== undefined && times !== 1) broken(`it stands in the chart ${times} times`);
      },
    },
    {
      id: `${name}.lost_answer`,
      promise:
        'a lost answer leaves the outcome unknown; asked for by its marker and sent again only if absent, it stands once',
      run: async (stand) => {
        const { write, input, marker, calls } = await trial(stand, name);
        await stand.watch(write.send(input, marker));
        const writing = calls.filter(mayWrite).length;
        if (writing === 0) broken('nothing was written');
        for (let index = 0; index < writing; index++) await loseAnswer(stand, name, index, writing);
      },
    },
    {
      id: `${name}.not_sent`,
      promise: 'what was never sent is unavailable, so that it is tried again, and is not there',
      run: async (stand) => {
        const tampered = await trial(stand, name, unreachable);
        const { write, input, marker } = tampered;
        await failureOf(stand, 'nobody there', () => write.send(input, marker), ['unavailable']);
        await expectAbsent(stand, name, tampered);
      },
    },
    {
      id: `${name}.useless_answer`,
      promise: 'after it was sent, anything but a definite answer is of unknown outcome; too many requests is not',
      run: async (stand) => {
        for (const [what, make] of Object.entries(useless)) await spoilAnswer(stand, name, what, answering(make));
        await spoilAnswer(stand, name, 'a broken line', cut);
        const { write, input, marker } = await trial(
          stand,
          name,
          at(
            0,
            answering(() => too_many),
            mayWrite,
          ),
        );
        const failure = await failureOf(stand, 'too many requests', () => write.send(input, marker), ['unavailable']);
        if (failure.retry_after_ms !== 7000) broken('a Retry-After of 7 s was not passed on');
      },
    },
    {
      id: `${name}.nowhere`,
      promise: 'a record that does not exist cannot be written to: not_found or refused',
      run: async (stand) => {
        const { write, input, marker } = await trial(stand, name);
        const misdirected = elsewhere(input);
        if (!misdirected) return notTried('it is written to no other record');
        await failureOf(stand, 'an id that nobody has', () => write.send(misdirected, marker), [
          'not_found',
          'refused',
        ]);
      },
    },
  ];
}

/** Goes on as the product does: unknown, so it asks; absent, so it sends again. */
async function loseAnswer(stand: Stand, name: WriteName, index: number, writing: number): Promise<void> {
  const { write, input, marker, count } = await trial(stand, name, at(index, losing, mayWrite));
  const which = `the answer to write ${index + 1} of ${writing} lost`;
  await failureOf(stand, which, () => write.send(input, marker), ['unknown_outcome']);
  if (!write.find) return;
  const found = await stand.watch(write.find(marker, input));
  if (!found && index === writing - 1) broken(`${which}: it is there, but was not found`);
  const written = found ?? (await stand.watch(write.send(input, marker)));
  const asked = await write.find(marker, input);
  if (asked?.ehr_id !== written.ehr_id) broken(`${which}: another record is found than was written`);
  const times = await count(written);
  if (times !== undefined && times !== 1) broken(`${which}: it stands in the chart ${times} times`);
}

async function spoilAnswer(stand: Stand, name: WriteName, what: string, tamper: Tamper): Promise<void> {
  const spoilt = await trial(stand, name, at(0, tamper, mayWrite));
  await failureOf(stand, what, () => spoilt.write.send(spoilt.input, spoilt.marker), ['unknown_outcome']);
  await expectAbsent(stand, name, spoilt);
}

async function expectAbsent(stand: Stand, name: WriteName, { input, marker }: Trial): Promise<void> {
  const { emr } = await stand.open();
  // As in `trial`.
  const write = emr[name] as unknown as Trial['write'];
  const found = await write.find?.(marker, input).catch((error: unknown) => {
    if (error instanceof EmrFailure && error.kind === 'unknown_outcome') return undefined;
    throw error;
  });
  if (found) broken('it is found, although it never arrived');
}

/** The same words about a record that nobody has; undefined where they name none. */
function elsewhere(input: unknown): unknown {
  const keys = ['patient_ehr_id', 'encounter_ehr_id', 'insurance_ehr_id'];
  const key = keys.find((each) => typeof input === 'object' && input !== null && each in input);
  return key && { ...(input as object), [key]: 'no-such-record-0' };
}
