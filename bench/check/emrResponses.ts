import { setTimeout as pause } from 'node:timers/promises';
import type { Check } from './check.ts';
import type { EmrMode } from './emr.ts';
import type { Attacker, Installation } from './installation.ts';
import { residentMb, watch } from './watch.ts';

const modes = ['nested', 'endless', 'slow'] as const;

/** Responses of an EMR neither block the process nor fill its memory. */
export const emrResponseChecks: readonly Check<Installation>[] = modes.flatMap((mode) => [
  {
    name: `emr-response:${mode}-health`,
    limit: 1,
    unit: 's',
    measure: async (installation) => (await observe(installation, mode)).health_s,
  },
  {
    name: `emr-response:${mode}-memory`,
    limit: 100,
    unit: 'MB',
    measure: async (installation) => (await observe(installation, mode)).growth_mb,
  },
]);

const at_once = 6;
const rounds = 3;
/** How long a response that does not end is observed. */
const observed_ms = 10_000;

/** Lets six accounts read from such an EMR at once, and returns the slowest health check and the growth in memory. */
async function observe(
  { pid, other, withAttacker }: Installation,
  mode: EmrMode,
): Promise<{ health_s: number; growth_mb: number }> {
  return withAttacker(at_once, async (attacker) => {
    const before_mb = await residentMb(pid);
    let health_s = 0;
    let peak_mb = before_mb;
    await attacker.setEmr(mode);
    let done = false;
    const watching = [
      watch(
        () => done,
        async () => {
          const start = performance.now();
          await fetch(`${other.base_url}/healthz`);
          health_s = Math.max(health_s, (performance.now() - start) / 1000);
        },
      ),
      watch(
        () => done,
        async () => {
          peak_mb = Math.max(peak_mb, await residentMb(pid));
        },
      ),
    ];
    for (let round = 0; round < rounds; round++) await readFromAll(attacker, round);
    done = true;
    await Promise.all(watching);
    return { health_s, growth_mb: peak_mb - before_mb };
  });
}

async function readFromAll({ accounts }: Attacker, round: number): Promise<void> {
  await Promise.all(
    accounts.map(async (account) => {
      const { job_id } = await account.call('POST', '/v1/patients/fetch', { search_by: 'mrn', mrn: `BENCH${round}` });
      const deadline = performance.now() + observed_ms;
      while (performance.now() < deadline && !(await account.call('GET', `/v1/jobs/${job_id}`)).job.finished_at) {
        await pause(50);
      }
    }),
  );
}
