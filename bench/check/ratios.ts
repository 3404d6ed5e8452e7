import { readFile } from 'node:fs/promises';
import { compareRequests } from '../requests.ts';
import type { Check } from './check.ts';

/** How much slower than the committed ratios (bench/ratios.json) requests may be, relative to a minimal server. */
const slower_max = 1.25;
const rounds = 3;

export async function ratioChecks(): Promise<Check<unknown>[]> {
  const committed: Record<string, number> = JSON.parse(await readFile('bench/ratios.json', 'utf8'));
  return Object.entries(committed).map(([work, ratio]) => ({
    name: `ratio:${work}`,
    limit: slower_max,
    unit: '× the committed time',
    measure: async () => {
      const { rows } = await compareRequests(work, rounds);
      return ratio / (rows[0]?.ratio ?? Number.NaN);
    },
  }));
}
