import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { EmrFailure, type EmrWrite } from '../../src/connectors/connector.ts';
import { claimLeases, type Lease, LeaseLost } from '../../src/db/lease.ts';
import { type Job, startHead } from '../../src/jobs/jobs.ts';
import { loadSteps, NeedsReview } from '../../src/jobs/steps.ts';
import { openWorld, type World } from './world.ts';

let world: World;
let lease: Lease;
let job: Job;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  await world.owner`TRUNCATE lanes, jobs CASCADE`;
  await world.queue('p');
  const [claimed] = await claimLeases(world.db.system, 'lanes', { owner: 'w', count: 1, lease_ms: 60_000 });
  if (!claimed) throw new Error('A lane was expected.');
  lease = claimed;
  const started = await world.db.tenant(lease.client_id, (tx) => startHead(tx, lease));
  if (!started) throw new Error('A job was expected.');
  job = started;
});

/** An EMR of one record, which loses its answers or refuses when told to. */
function emr(behavior: { answer?: 'lost' | EmrFailure; findable?: boolean }) {
  const received: string[] = [];
  const kept = new Map<string, { ehr_id: string }>();
  const write: EmrWrite<string, { ehr_id: string }> = {
    send: async (_input, marker) => {
      received.push(marker);
      if (behavior.answer instanceof EmrFailure) throw behavior.answer;
      kept.set(marker, { ehr_id: `r${kept.size + 1}` });
      if (behavior.answer === 'lost') throw new EmrFailure('unknown_outcome', 'No answer.');
      return { ehr_id: `r${kept.size}` };
    },
    ...(behavior.findable === false ? {} : { find: async (marker) => kept.get(marker) }),
  };
  return { write, received, behavior };
}
const load = () => loadSteps(world.db, lease, job);
const timeline = () => world.owner`SELECT kind, name FROM job_steps WHERE job_id = ${job.id} ORDER BY n`;

describe('a step', () => {
  test('is sent once: later tries get the stored outcome', async () => {
    const { write, received } = emr({});
    expect(await (await load()).write('create', write, 'x')).toStrictEqual({ ehr_id: 'r1' });
    expect(await (await load()).write('create', write, 'x')).toStrictEqual({ ehr_id: 'r1' });
    expect(received).toStrictEqual([`${job.operation_id}-create`]);
    expect([...(await timeline())]).toStrictEqual([
      { kind: 'intent', name: 'create' },
      { kind: 'outcome', name: 'create' },
    ]);
  });

  test('whose answer was lost is found by its marker, not sent again', async () => {
    const place = emr({ answer: 'lost' });
    await expect((await load()).write('create', place.write, 'x')).rejects.toThrow('No answer.');
    const again = await load();
    expect(again.uncertain()).toBe(true);
    expect(await again.write('create', place.write, 'x')).toStrictEqual({ ehr_id: 'r1' });
    expect(again.uncertain()).toBe(false);
    expect(place.received).toHaveLength(1);
  });

  test('that never arrived is sent again after asking', async () => {
    const place = emr({ answer: new EmrFailure('unknown_outcome', 'No answer.') });
    await expect((await load()).write('create', place.write, 'x')).rejects.toThrow('No answer.');
    delete place.behavior.answer;
    expect(await (await load()).write('create', place.write, 'x')).toStrictEqual({ ehr_id: 'r1' });
    expect(place.received).toHaveLength(2);
  });

  test('that the EMR says it took and does not show is asked for, and never sent again', async () => {
    const place = emr({ answer: new EmrFailure('unknown_outcome', 'Taken.', { accepted: true }) });
    await expect((await load()).write('create', place.write, 'x')).rejects.toThrow('Taken.');
    delete place.behavior.answer;
    for (const _try of [1, 2]) {
      const again = await load();
      await expect(again.write('create', place.write, 'x')).rejects.toMatchObject({ kind: 'unknown_outcome' });
      expect(again.uncertain()).toBe(true);
    }
    expect(place.received).toHaveLength(1);
  });

  test('of an EMR that cannot be asked needs a person after a lost answer, and is never sent twice', async () => {
    const place = emr({ answer: 'lost', findable: false });
    await expect((await load()).write('create', place.write, 'x')).rejects.toThrow('No answer.');
    await expect((await load()).write('create', place.write, 'x')).rejects.toThrow(NeedsReview);
    expect(place.received).toHaveLength(1);
  });

  describe('that a person has found not done', () => {
    const reviewed = () => world.owner`UPDATE jobs SET state = 'needs_review', review_outcome = 'not_done',
      review_note = 'x', reviewed_by = 'x', reviewed_at = now() WHERE id = ${job.id}`;

    test('is sent once more where the EMR cannot be asked, and once only', async () => {
      const place = emr({ answer: 'lost', findable: false });
      await expect((await load()).write('create', place.write, 'x')).rejects.toThrow('No answer.');
      await reviewed();
      const again = await load();
      expect(again.uncertain()).toBe(false);
      await expect(again.write('create', place.write, 'x')).rejects.toThrow('No answer.');
      expect(again.uncertain()).toBe(true);
      await expect(again.write('create', place.write, 'x')).rejects.toThrow(NeedsReview);
      expect(place.received).toHaveLength(2);
    });

    test('is sent once more where the EMR said that it took it, and once only', async () => {
      const place = emr({ answer: new EmrFailure('unknown_outcome', 'Taken.', { accepted: true }) });
      await expect((await load()).write('create', place.write, 'x')).rejects.toThrow('Taken.');
      await reviewed();
      const again = await load();
      await expect(again.write('create', place.write, 'x')).rejects.toThrow('Taken.');
      await expect(again.write('create', place.write, 'x')).rejects.toMatchObject({ kind: 'unknown_outcome' });
      expect(place.received).toHaveLength(2);
    });

    test('is asked for all the same where the EMR can be asked', async () => {
      const place = emr({ answer: 'lost' });
      await expect((await load()).write('create', place.write, 'x')).rejects.toThrow('No answer.');
      await reviewed();
      expect(await (await load()).write('create', place.write, 'x')).toStrictEqual({ ehr_id: 'r1' });
      expect(place.received).toHaveLength(1);
    });
  });

  test('that the EMR definitely did not take leaves no doubt behind', async () => {
    const place = emr({ answer: new EmrFailure('unavailable', 'Busy.'), findable: false });
    await expect((await load()).write('create', place.write, 'x')).rejects.toThrow('Busy.');
    delete place.behavior.answer;
    const again = await load();
    expect(again.uncertain()).toBe(false);
    expect(await again.write('create', place.write, 'x')).toStrictEqual({ ehr_id: 'r1' });
  });

  test('is not begun by a worker that lost its lease', async () => {
    const place = emr({});
    const steps = await load();
    await world.owner`UPDATE lanes SET locked_until = now() - interval '1 second'`;
    await expect(steps.write('create', place.write, 'x')).rejects.toThrow(LeaseLost);
    expect(place.received).toHaveLength(0);
  });
});
