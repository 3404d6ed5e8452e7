import type { TestSandbox } from '../../harness/sandbox.ts';

/** Runs `work` while no worker starts a job, by holding the advisory lock that claims take (src/platform/db/lease.ts). */
export async function withJobsPaused<T>(fixture: Pick<TestSandbox, 'owner'>, work: () => Promise<T>): Promise<T> {
  const lanes_lock = 7_240_002;
  let result: T | undefined;
  await fixture.owner.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(${lanes_lock})`;
    result = await work();
  });
  return result as T;
}
