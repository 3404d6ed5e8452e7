import type { TestSandbox } from '../../harness/sandbox.ts';

/** Runs `work` while no worker takes up a job: claims wait for one another by this lock (src/db/lease.ts). */
export async function whileNoJobStarts<T>(world: Pick<TestSandbox, 'owner'>, work: () => Promise<T>): Promise<T> {
  const lock_of_lanes = 7_240_002;
  let result: T | undefined;
  await world.owner.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(${lock_of_lanes})`;
    result = await work();
  });
  return result as T;
}
