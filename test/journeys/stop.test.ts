import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { withJobsPaused } from '../spec/support/pauseJobs.ts';
import {
  type Accepted,
  accept,
  expectNothingLocked,
  expectNothingLostOrDoubled,
  type Installation,
  install,
} from './installation.ts';
import { setFault, untilFaultsMet } from './journey.ts';

const create = 'create_telephone_encounter';
let world: Installation;
beforeAll(async () => {
  world = await install();
});
afterAll(() => world.close());

describe('a worker reported to stop', () => {
  test('finishes what runs, takes no more, and leaves nothing locked', async () => {
    const { api, owner } = world;
    await setFault(api, create, 'delay', { times: 4, delay_ms: 8_000 });
    const stopped = await world.startWorker();
    const accepted: Accepted[] = [];
    // All are there before the first begins, so that four begin at once and are in the EMR together.
    await withJobsPaused(world, async () => {
      for (let n = 0; n < 12; n++) accepted.push(await accept(world, 1 + (n % 6)));
    });
    await untilFaultsMet(api);
    const asked_at = Date.now();
    await stopped.kill('SIGTERM');
    expect(Date.now() - asked_at).toBeLessThan(25_000);
    expect(stopped.child.exitCode).toBe(0);
    await expectNothingLocked(world);
    const states = await owner`SELECT state, count(*) AS n FROM jobs
      WHERE id = ANY (${accepted.map(({ job_id }) => job_id)}) GROUP BY state ORDER BY state`;
    // Of those behind the first four a slow machine may have begun some; one that took more would leave none.
    expect([...states]).toStrictEqual([
      { state: 'queued', n: expect.toSatisfy((n: number) => n > 0) },
      { state: 'succeeded', n: expect.toSatisfy((n: number) => n >= 4) },
    ]);
    const next = await world.startWorker();
    onTestFinished(() => next.kill());
    await expectNothingLostOrDoubled(world, accepted);
  });
  test('hands back what does not end in time, within 25 s, and another one finishes it once', async () => {
    const { api, owner } = world;
    // Each wait is short enough to be waited for; the worker's 20 s end in the middle of the write.
    await setFault(api, 'list_patients', 'delay', { delay_ms: 8_000 });
    await setFault(api, 'list_medications', 'delay', { delay_ms: 8_000 });
    await setFault(api, create, 'delay', { delay_ms: 9_000 });
    const stopped = await world.startWorker();
    const accepted = await accept(world, 1, { refill_medication_name: 'Lisinopril' });
    await expect.poll(async () => (await api.control('GET', '/control/faults')).body.faults.length).toBe(2);
    const asked_at = Date.now();
    await stopped.kill('SIGTERM');
    expect(Date.now() - asked_at).toBeLessThan(25_000);
    expect(stopped.child.exitCode).toBe(0);
    await expectNothingLocked(world);
    const steps = await owner`SELECT name, kind FROM job_steps WHERE job_id = ${accepted.job_id} AND kind <> 'note'`;
    expect([...steps]).toStrictEqual([{ name: 'create_encounter', kind: 'intent' }]);
    expect((await api.job(accepted.job_id)).status).toBe('queued');
    const next = await world.startWorker();
    onTestFinished(() => next.kill());
    await expectNothingLostOrDoubled(world, [accepted]);
  });
});
