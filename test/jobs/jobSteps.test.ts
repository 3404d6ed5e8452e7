import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { EmrFailure } from '../../src/emr/emrFailure.ts';
import type { EmrWrite } from '../../src/emr/operations/operation.ts';
import { claimLeases, type Lease, LeaseLost } from '../../src/platform/db/lease.ts';
import { createSteps, NeedsReview, selectHistory } from '../../src/product/jobs/jobSteps.ts';
import { insertRestore, type Job, type StepHistory } from '../../src/product/jobs/jobs.ts';
import { type Fixture, openFixture, startNextJob } from './fixture.ts';

let fixture: Fixture;
let lease: Lease;
let job: Job;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());
beforeEach(async () => {
  await fixture.owner`TRUNCATE lanes, jobs, restores CASCADE`;
  await fixture.queue('p');
  const [claimed] = await claimLeases(fixture.db.system, 'lanes', { owner: 'w', count: 1, lease_ms: 60_000 });
  if (!claimed) throw new Error('Expected a lane.');
  lease = claimed;
  const started = await fixture.db.tenant(lease.client_id, (tx) => startNextJob(tx, lease));
  if (!started) throw new Error('Expected a job.');
  job = started;
});

/** A fake EMR that stores records and can lose its response or fail. */
function fakeEmr(behavior: { response?: 'lost' | EmrFailure; findable?: boolean }) {
  const received: string[] = [];
  const records = new Map<string, { ehr_id: string }>();
  const write: EmrWrite<string, { ehr_id: string }> = {
    send: async (_input, marker) => {
      received.push(marker);
      if (behavior.response instanceof EmrFailure) throw behavior.response;
      records.set(marker, { ehr_id: `r${records.size + 1}` });
      if (behavior.response === 'lost') throw new EmrFailure('unknown_outcome', 'No response.');
      return { ehr_id: `r${records.size}` };
    },
    ...(behavior.findable === false ? {} : { find: async (marker) => records.get(marker) }),
  };
  return { write, received, behavior };
}
/** The steps as the next attempt gets them. */
const load = async () => {
  const [row] = await fixture.db.tenant(
    job.client_id,
    (tx) => tx<{ history: StepHistory }[]>`
      WITH job AS (SELECT * FROM jobs WHERE id = ${job.id}) SELECT ${selectHistory(tx)} AS history FROM job`,
  );
  if (!row) throw new Error('Expected a job.');
  return createSteps(fixture.db, { lease, job: { ...job, history: row.history } });
};
const timeline = () => fixture.owner`
  SELECT kind, name FROM job_steps WHERE job_id = ${job.id} AND name <> 'started' ORDER BY n`;

describe('a step', () => {
  test('is sent once: later attempts return the stored outcome', async () => {
    const { write, received } = fakeEmr({});
    expect(await (await load()).write('create', write, 'x')).toStrictEqual({ ehr_id: 'r1' });
    expect(await (await load()).write('create', write, 'x')).toStrictEqual({ ehr_id: 'r1' });
    expect(received).toStrictEqual([`${job.operation_id}-create`]);
    expect([...(await timeline())]).toStrictEqual([
      { kind: 'intent', name: 'create' },
      { kind: 'outcome', name: 'create' },
    ]);
  });

  test('a step of a connector that announces its requests is noted when it is sent, not while it reads', async () => {
    const crash = new Error('The process was killed.');
    let [reads, crashes_at] = [0, 'read'];
    const write: EmrWrite<string, { ehr_id: string }> = {
      announces: true,
      send: async (_input, _marker, sending) => {
        reads++;
        if (crashes_at === 'read') throw crash;
        if (crashes_at === 'refusal') throw new EmrFailure('unavailable', 'Cannot be read.');
        await sending?.();
        if (crashes_at === 'request') throw crash;
        return { ehr_id: 'r1' };
      },
    };
    await expect((await load()).write('create', write, 'x')).rejects.toThrow(crash);
    crashes_at = 'refusal';
    await expect((await load()).write('create', write, 'x')).rejects.toThrow('Cannot be read.');
    expect([...(await timeline())]).toStrictEqual([]);
    expect((await load()).hasUnknownOutcome()).toBe(false);
    crashes_at = 'request';
    await expect((await load()).write('create', write, 'x')).rejects.toThrow(crash);
    expect([...(await timeline())]).toStrictEqual([{ kind: 'intent', name: 'create' }]);
    expect(reads).toBe(3);
    // Without a way to look it up, only a person can say whether the request arrived.
    await expect((await load()).write('create', write, 'x')).rejects.toThrow(NeedsReview);
  });

  test('a step whose response was lost is found by its marker and not sent again', async () => {
    const emr = fakeEmr({ response: 'lost' });
    await expect((await load()).write('create', emr.write, 'x')).rejects.toThrow('No response.');
    const again = await load();
    expect(again.hasUnknownOutcome()).toBe(true);
    expect(await again.write('create', emr.write, 'x')).toStrictEqual({ ehr_id: 'r1' });
    expect(again.hasUnknownOutcome()).toBe(false);
    expect(emr.received).toHaveLength(1);
  });

  test('a step that never arrived is looked up and then sent again', async () => {
    const emr = fakeEmr({ response: new EmrFailure('unknown_outcome', 'No response.') });
    await expect((await load()).write('create', emr.write, 'x')).rejects.toThrow('No response.');
    delete emr.behavior.response;
    expect(await (await load()).write('create', emr.write, 'x')).toStrictEqual({ ehr_id: 'r1' });
    expect(emr.received).toHaveLength(2);
  });

  test('a step that the EMR accepted but does not return is looked up and never sent again', async () => {
    const emr = fakeEmr({ response: new EmrFailure('unknown_outcome', 'Accepted.', { accepted: true }) });
    await expect((await load()).write('create', emr.write, 'x')).rejects.toThrow('Accepted.');
    delete emr.behavior.response;
    for (const _attempt of [1, 2]) {
      const again = await load();
      await expect(again.write('create', emr.write, 'x')).rejects.toMatchObject({ kind: 'unknown_outcome' });
      expect(again.hasUnknownOutcome()).toBe(true);
    }
    expect(emr.received).toHaveLength(1);
  });

  test('needs review after a lost response if the EMR cannot be searched, and is never sent twice', async () => {
    const emr = fakeEmr({ response: 'lost', findable: false });
    await expect((await load()).write('create', emr.write, 'x')).rejects.toThrow('No response.');
    await expect((await load()).write('create', emr.write, 'x')).rejects.toThrow(NeedsReview);
    expect(emr.received).toHaveLength(1);
  });

  describe('that a reviewer found not done', () => {
    const reviewed = () => fixture.owner`UPDATE jobs SET state = 'needs_review', review_outcome = 'not_done',
      review_note = 'x', reviewed_by = 'x', reviewed_at = now() WHERE id = ${job.id}`;

    test('is sent exactly once more if the EMR cannot be searched', async () => {
      const emr = fakeEmr({ response: 'lost', findable: false });
      await expect((await load()).write('create', emr.write, 'x')).rejects.toThrow('No response.');
      await reviewed();
      const again = await load();
      expect(again.hasUnknownOutcome()).toBe(false);
      await expect(again.write('create', emr.write, 'x')).rejects.toThrow('No response.');
      expect(again.hasUnknownOutcome()).toBe(true);
      await expect(again.write('create', emr.write, 'x')).rejects.toThrow(NeedsReview);
      expect(emr.received).toHaveLength(2);
    });

    test('is sent exactly once more if the EMR had accepted it', async () => {
      const emr = fakeEmr({ response: new EmrFailure('unknown_outcome', 'Accepted.', { accepted: true }) });
      await expect((await load()).write('create', emr.write, 'x')).rejects.toThrow('Accepted.');
      await reviewed();
      const again = await load();
      await expect(again.write('create', emr.write, 'x')).rejects.toThrow('Accepted.');
      await expect(again.write('create', emr.write, 'x')).rejects.toMatchObject({ kind: 'unknown_outcome' });
      expect(emr.received).toHaveLength(2);
    });

    test('is still looked up first if the EMR can be searched', async () => {
      const emr = fakeEmr({ response: 'lost' });
      await expect((await load()).write('create', emr.write, 'x')).rejects.toThrow('No response.');
      await reviewed();
      expect(await (await load()).write('create', emr.write, 'x')).toStrictEqual({ ehr_id: 'r1' });
      expect(emr.received).toHaveLength(1);
    });
  });

  test('a step that the EMR rejected has no unknown outcome', async () => {
    const emr = fakeEmr({ response: new EmrFailure('unavailable', 'Busy.'), findable: false });
    await expect((await load()).write('create', emr.write, 'x')).rejects.toThrow('Busy.');
    delete emr.behavior.response;
    const again = await load();
    expect(again.hasUnknownOutcome()).toBe(false);
    expect(await again.write('create', emr.write, 'x')).toStrictEqual({ ehr_id: 'r1' });
  });

  test('is not sent by a worker that lost its lease', async () => {
    const emr = fakeEmr({});
    const steps = await load();
    await fixture.owner`UPDATE lanes SET locked_until = now() - interval '1 second'`;
    await expect(steps.write('create', emr.write, 'x')).rejects.toThrow(LeaseLost);
    expect(emr.received).toHaveLength(0);
  });
});

describe('a step of a job that a restored backup contained', () => {
  const restore = () => insertRestore(fixture.owner, new Date(), 1);

  test('is looked up before it is sent, and not sent if the EMR has it', async () => {
    const emr = fakeEmr({});
    await emr.write.send('x', `${job.operation_id}-create`);
    await restore();
    const steps = await load();
    expect(steps.hasUnknownOutcome()).toBe(true);
    expect(await steps.write('create', emr.write, 'x')).toStrictEqual({ ehr_id: 'r1' });
    expect(emr.received).toHaveLength(1);
  });

  test('is looked up although the EMR had rejected it before the backup', async () => {
    const emr = fakeEmr({ response: new EmrFailure('unavailable', 'Down.') });
    await expect((await load()).write('create', emr.write, 'x')).rejects.toThrow('Down.');
    delete emr.behavior.response;
    await emr.write.send('x', `${job.operation_id}-create`);
    await restore();
    expect(await (await load()).write('create', emr.write, 'x')).toStrictEqual({ ehr_id: 'r1' });
    expect(emr.received).toHaveLength(2);
  });

  test('is sent if the EMR does not have it, and its failure is final then', async () => {
    const emr = fakeEmr({ response: new EmrFailure('refused', 'No.') });
    await restore();
    const steps = await load();
    await expect(steps.write('create', emr.write, 'x')).rejects.toThrow('No.');
    expect(steps.hasUnknownOutcome()).toBe(false);
    expect((await load()).hasUnknownOutcome()).toBe(false);
    expect(emr.received).toHaveLength(1);
  });

  test('leaves the outcome of later steps unknown while all steps are found', async () => {
    const emr = fakeEmr({});
    for (const name of ['create', 'update']) await emr.write.send('x', `${job.operation_id}-${name}`);
    await restore();
    const steps = await load();
    await steps.write('create', emr.write, 'x');
    expect(steps.hasUnknownOutcome()).toBe(true);
    await steps.write('update', emr.write, 'x');
    expect(emr.received).toHaveLength(2);
  });

  test('needs review if the EMR cannot be searched, and is sent once after a review found it not done', async () => {
    const emr = fakeEmr({ findable: false });
    await restore();
    const steps = await load();
    await expect(steps.write('create', emr.write, 'x')).rejects.toThrow(NeedsReview);
    expect(steps.hasUnknownOutcome()).toBe(true);
    expect(emr.received).toHaveLength(0);
    await fixture.owner`UPDATE jobs SET state = 'needs_review', review_outcome = 'not_done', review_note = 'x',
      reviewed_by = 'x', reviewed_at = now() WHERE id = ${job.id}`;
    expect(await (await load()).write('create', emr.write, 'x')).toStrictEqual({ ehr_id: 'r1' });
    expect(emr.received).toHaveLength(1);
  });

  test('is sent after a review even if the job had failed before it reached the step', async () => {
    const emr = fakeEmr({ findable: false });
    await restore();
    await fixture.owner`UPDATE jobs SET state = 'needs_review', review_outcome = 'not_done', review_note = 'x',
      reviewed_by = 'x', reviewed_at = now() WHERE id = ${job.id}`;
    const steps = await load();
    expect(steps.hasUnknownOutcome()).toBe(false);
    expect(await steps.write('create', emr.write, 'x')).toStrictEqual({ ehr_id: 'r1' });
  });

  test('a step with a stored outcome is not looked up after a restore', async () => {
    const emr = fakeEmr({ findable: false });
    await (await load()).write('create', emr.write, 'x');
    await restore();
    expect(await (await load()).write('create', emr.write, 'x')).toStrictEqual({ ehr_id: 'r1' });
    expect(emr.received).toHaveLength(1);
  });
});

test('jobs that are accepted after a restore get ids that were not used before it, and send at once', async () => {
  await insertRestore(fixture.owner, new Date(), 1);
  const id = await fixture.queue('q');
  expect(id).toBeGreaterThan(job.id + 999_999);
  const [claimed] = await claimLeases(fixture.db.system, 'lanes', { owner: 'v', count: 1, lease_ms: 60_000 });
  if (!claimed) throw new Error('Expected a lane.');
  const started = await fixture.db.tenant(claimed.client_id, (tx) => startNextJob(tx, claimed));
  if (!started) throw new Error('Expected a job.');
  const emr = fakeEmr({ findable: false });
  const steps = createSteps(fixture.db, { lease: claimed, job: started });
  expect(steps.hasUnknownOutcome()).toBe(false);
  expect(await steps.write('create', emr.write, 'x')).toStrictEqual({ ehr_id: 'r1' });
});
