import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../src/catalog/ids.ts';
import { type PatientSource, patients } from '../../src/model/records/patients.ts';
import { lockPatient, savePatient } from '../../src/product/records/patients.ts';
import { storePage } from '../../src/product/records/storeRecords.ts';
import { finishPass, markSkipped, startPass } from '../../src/product/records/syncPasses.ts';
import { figure, timeoutFor } from '../harness/figure.ts';
import { type Fixture, openFixture } from '../jobs/fixture.ts';

const interleavings = figure('SYNC_INTERLEAVINGS', 200);
const seed = figure('SYNC_SEED', 20_261_117);

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

const scope = () => ({
  client_id: fixture.tenant.client_id,
  organization_id: fixture.tenant.organization_id,
});
const tenant: Fixture['db']['tenant'] extends (client_id: string, work: infer Work) => unknown
  ? (work: Work) => Promise<void>
  : never = async (work) => void (await fixture.db.tenant(fixture.tenant.client_id, work));

/** Runs the steps of these actors in random orders, and checks after each step that nothing announced is undone. */
async function interleave(createActors: (emr: Practice, run: number, announced: number[]) => Step[][]): Promise<void> {
  const random = randomFrom(seed);
  let run = 0;
  for (let n = 0; n < interleavings; n++) {
    const emr = await newPractice(n);
    const cached = async (index: number) => {
      const [row] = await fixture.owner<{ phone: string }[]>`SELECT phone FROM patients
        WHERE organization_id = ${scope().organization_id} AND ehr_id = ${emr.ehr_id(index)}`;
      return Number(row?.phone);
    };
    const announced = [0, 0, 0, 0];
    const order: string[] = [];
    const actors = createActors(emr, ++run, announced);
    for (let left = actors.filter(({ length }) => length > 0); left.length > 0; ) {
      const actor = left[Math.floor(random() * left.length)];
      const step = actor?.shift();
      order.push(step?.name ?? '');
      await step?.run();
      for (const [index, state] of announced.entries()) {
        expect(await cached(index), `seed ${seed}, ${n}: ${order.join(', ')}`).toBeGreaterThanOrEqual(state);
      }
      left = actors.filter(({ length }) => length > 0);
    }
    // Nothing that was left out stays old: a pass without writes makes the cache equal the EMR.
    emr.states[3] = emr.newState();
    for (const step of syncSteps(emr, ++run)) await step.run();
    for (const index of emr.states.keys()) expect(await cached(index), `seed ${seed}, ${n}`).toBe(emr.states[index]);
  }
}

test(
  'after an event, the cached patient shows at least that state, in any order of page reads and our commits',
  () =>
    interleave((emr, run, announced) => [
      syncSteps(emr, run),
      writeSteps(emr, 0, announced),
      writeSteps(emr, 2, announced),
      writeSteps(emr, 0, announced),
    ]),
  timeoutFor(interleavings, 2_000),
);

test(
  'a live fetch undoes no write of ours, and no sync undoes what it stored, in any order of their steps',
  () =>
    interleave((emr, run, announced) => [
      syncSteps(emr, run),
      writeSteps(emr, 0, announced),
      writeSteps(emr, 2, announced),
      fetchSteps(emr, run, announced),
      staffSteps(emr, 3),
    ]),
  timeoutFor(interleavings, 2_000),
);

type Step = { name: string; run: () => Promise<void> };
type Practice = Awaited<ReturnType<typeof newPractice>>;

/** Four patients of the EMR, cached. The state of each is its phone number, which only grows. */
async function newPractice(n: number) {
  const states = [0, 0, 0, 0];
  let last = 0;
  const ehr_id = (index: number) => `${n}-${index}`;
  const read = (index: number): PatientSource => ({
    ...{ ehr_id: ehr_id(index), mrn: `M${n}-${index}`, first_name: 'Synthetic', last_name: 'Patient', sex: 'female' },
    ...{ middle_name: null, dob: '1990-05-14', phone: String(states[index]), cell_phone: null, email: null },
    ...{ address_street: null, address_line2: null, address_city: null, address_state: null, address_zip: null },
    ...{ insurance_name: null, insurance_subscriber_number: null },
  });
  const practice = {
    states,
    ehr_id,
    read,
    newState: () => {
      last += 1;
      return last;
    },
  };
  await fixture.owner`DELETE FROM patients`;
  await tenant(
    async (tx) =>
      void (await storePage(
        tx,
        { ...scope(), kind: patients, run: 0 },
        states.map((_, i) => read(i)),
      )),
  );
  return practice;
}

/** A sync of two pages. Each page is stored later than it is read. */
function syncSteps(emr: Practice, run: number): Step[] {
  const list = { ...scope(), kind: patients, run };
  const options = { incremental: false, finds_deleted: false, full: true, sync_minutes: 15, mrn_rule: '' };
  const page = (indexes: readonly number[]): Step[] => {
    let rows: PatientSource[] = [];
    return [
      {
        name: 'read',
        run: async () => {
          rows = indexes.map(emr.read);
        },
      },
      {
        name: 'store',
        run: () =>
          tenant(async (tx) => {
            const { skipped } = await storePage(tx, list, rows);
            if (skipped) await markSkipped(tx, list);
          }),
      },
    ];
  };
  return [
    { name: 'start', run: () => tenant(async (tx) => void (await startPass(tx, list, options))) },
    ...page([0, 1]),
    ...page([2, 3]),
    { name: 'finish', run: () => tenant(async (tx) => void (await finishPass(tx, list, true))) },
  ];
}

/** A write of ours: the EMR has it, then we store it with its event. */
function writeSteps(emr: Practice, index: number, announced: number[]): Step[] {
  let state = 0;
  return [
    {
      name: `write ${index}`,
      run: async () => {
        state = emr.newState();
        emr.states[index] = state;
      },
    },
    {
      name: `commit ${index}`,
      run: () =>
        tenant(async (tx) => {
          const [row] = await tx<{ id: string }[]>`SELECT id FROM patients
            WHERE organization_id = ${scope().organization_id} AND ehr_id = ${emr.ehr_id(index)}`;
          const locked = await lockPatient(tx, scope().organization_id, row?.id ?? newId());
          if (!locked) throw new Error('Expected a patient.');
          // Writes of one patient commit in their order, because they share a lane.
          const phone = Math.max(state, announced[index] ?? 0);
          await savePatient(tx, scope(), locked, { phone: String(phone), status: 'active' });
          announced[index] = phone;
        }),
    },
  ];
}

function staffSteps(emr: Practice, index: number): Step[] {
  const run = async () => {
    emr.states[index] = emr.newState();
  };
  return [{ name: `staff ${index}`, run }];
}

/**
 * A live fetch. What it stored counts as announced, unless something else stored the record after the EMR was asked: then
 * that stays, and the next sync reads the record again.
 */
function fetchSteps(emr: Practice, run: number, announced: number[]): Step[] {
  const list = { ...scope(), kind: patients, run };
  let [snapshot, rows] = ['', [] as PatientSource[]];
  return [
    {
      name: 'ask',
      run: async () => {
        const [row] = await fixture.owner<{ snapshot: string }[]>`SELECT pg_current_snapshot()::text AS snapshot`;
        snapshot = row?.snapshot ?? '';
      },
    },
    {
      name: 'read live',
      run: async () => {
        rows = [...emr.states.keys()].map(emr.read);
      },
    },
    {
      name: 'store live',
      run: async () => {
        await tenant(async (tx) => void (await storePage(tx, list, rows, { snapshot })));
        for (const [index, { ehr_id, phone }] of rows.entries()) {
          const [stored] = await fixture.owner<{ phone: string }[]>`SELECT phone FROM patients
            WHERE organization_id = ${scope().organization_id} AND ehr_id = ${ehr_id}`;
          if (stored?.phone === phone && Number(phone) > 0) {
            announced[index] = Math.max(announced[index] ?? 0, Number(phone));
          }
        }
      },
    },
  ];
}

/** Mulberry32. */
function randomFrom(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
