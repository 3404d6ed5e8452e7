import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestProcess } from '../harness/sandbox.ts';
import { withJobsPaused } from '../spec/support/pauseJobs.ts';
import {
  type Accepted,
  accept,
  expectNothingLocked,
  expectNothingLostOrDoubled,
  type Installation,
  install,
} from './installation.ts';
import { setFault, untilFaultsApplied } from './support.ts';

const create = 'create_telephone_encounter';
let fixture: Installation;
beforeAll(async () => {
  fixture = await install();
});
afterAll(() => fixture.close());

describe('a worker that is stopped', () => {
  let next: TestProcess | undefined;

  test('finishes running jobs, claims no more and leaves no lane locked', async () => {
    const { api, owner } = fixture;
    await setFault(api, create, 'delay', { times: 4, delay_ms: 8_000 });
    const stopped = await fixture.startWorker();
    const accepted: Accepted[] = [];
    // Accepted before any starts, so that four start together and are in the EMR at the same time.
    await withJobsPaused(fixture, async () => {
      for (let n = 0; n < 12; n++) accepted.push(await accept(fixture, 1 + (n % 6)));
    });
    await untilFaultsApplied(api);
    await stopped.stop('SIGTERM');
    expect(stopped.child.exitCode).toBe(0);
    await expectNothingLocked(fixture);
    const states = await owner`SELECT state, count(*) AS n FROM jobs
      WHERE id = ANY (${accepted.map(({ job_id }) => job_id)}) GROUP BY state ORDER BY state`;
    // A slow machine may have started more than four; a worker that kept claiming would leave none queued.
    expect([...states]).toStrictEqual([
      { state: 'queued', n: expect.toSatisfy((n: number) => n > 0) },
      { state: 'succeeded', n: expect.toSatisfy((n: number) => n >= 4) },
    ]);
    next = await fixture.startWorker();
    await expectNothingLostOrDoubled(fixture, accepted);
  });

  test('releases a job that does not finish within 20 s, and another worker finishes it once', async () => {
    const { api, owner } = fixture;
    // Each delay is below the timeout of a call; the worker's 20 s end during the write.
    await setFault(api, 'list_patients', 'delay', { delay_ms: 8_000 });
    await setFault(api, 'list_medications', 'delay', { delay_ms: 8_000 });
    await setFault(api, create, 'delay', { delay_ms: 9_000 });
    // The worker that the first test left, because starting a process takes two seconds of a core.
    const stopped = next ?? (await fixture.startWorker());
    const accepted = await accept(fixture, 1, { refill_medication_name: 'Lisinopril' });
    await expect.poll(async () => (await api.control('GET', '/control/faults')).body.faults.length).toBe(2);
    const took_ms = await stopTime(stopped);
    expect(stopped.child.exitCode).toBe(0);
    await expectNothingLocked(fixture);
    const steps = await owner`SELECT name, kind FROM job_steps WHERE job_id = ${accepted.job_id} AND kind <> 'note'`;
    expect([...steps]).toStrictEqual([{ name: 'create_encounter', kind: 'intent' }]);
    expect((await api.job(accepted.job_id)).status).toBe('queued');
    const idle = await fixture.startWorker();
    await expectNothingLostOrDoubled(fixture, [accepted]);
    // 20 s for running work, 2 s for everything else; and what a worker without work takes on this machine now.
    expect(took_ms).toBeLessThan(22_000 + 2 * (await stopTime(idle)));
  });
});

/** Stops a process as a supervisor does, and returns how long that took. */
async function stopTime(process: TestProcess): Promise<number> {
  const stopped_at = Date.now();
  await process.stop('SIGTERM');
  return Date.now() - stopped_at;
}
