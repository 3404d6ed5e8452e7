import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { EmrFailure, type EmrWrite } from '../../src/connectors/connector.ts';
import { claimLeases, type Lease, LeaseLost } from '../../src/db/lease.ts';
import { loadSteps, NeedsReview } from '../../src/jobs/jobSteps.ts';
import { type Job, startNextJob } from '../../src/jobs/jobs.ts';
import { type Fixture, openFixture } from './fixture.ts';

let fixture: Fixture;
let lease: Lease;
let job: Job;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());
beforeEach(async () => {
  await fixture.owner`TRUNCATE lanes, jobs CASCADE`;
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
const load = () => loadSteps(fixture.db, lease, job);
const timeline = () => fixture.owner`SELECT kind, name FROM job_steps WHERE job_id = ${job.id} ORDER BY n`;

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

  test('whose response was lost is found by its marker and not sent again', async () => {
    const emr = fakeEmr({ response: 'lost' });
    await expect((await load()).write('create', emr.write, 'x')).rejects.toThrow('No response.');
    const again = await load();
    expect(again.hasUnknownOutcome()).toBe(true);
    expect(await again.write('create', emr.write, 'x')).toStrictEqual({ ehr_id: 'r1' });
    expect(again.hasUnknownOutcome()).toBe(false);
    expect(emr.received).toHaveLength(1);
  });

  test('that never arrived is looked up and then sent again', async () => {
    const emr = fakeEmr({ response: new EmrFailure('unknown_outcome', 'No response.') });
    await expect((await load()).write('create', emr.write, 'x')).rejects.toThrow('No response.');
    delete emr.behavior.response;
    expect(await (await load()).write('create', emr.write, 'x')).toStrictEqual({ ehr_id: 'r1' });
    expect(emr.received).toHaveLength(2);
  });

  test('that the EMR accepted but does not return is looked up and never sent again', async () => {
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

  test('that the EMR rejected has no unknown outcome', async () => {
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
