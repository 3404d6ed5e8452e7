import type { Database } from '../db/database.ts';
import type { HistoryBin } from '../model/dashboard/overview.ts';
import { type Range, ranges } from '../model/dashboard/ranges.ts';
import { type Period, period_s, readPeriods, sumUpSince, taken_base } from './jobPeriods.ts';

/** A client's jobs by the time they ended: how many in each state, and how long they took since they were accepted. */
export async function describeHistory(db: Database, client_id: string, range: Range): Promise<HistoryBin[]> {
  const { bins, bin_s } = ranges[range];
  const start_s = Math.floor(Date.now() / 1000 / bin_s) * bin_s - (bins - 1) * bin_s;
  const periods =
    bin_s < period_s
      ? await sumUpSince(db, client_id, new Date(start_s * 1000), bin_s)
      : await readPeriods(db, client_id);
  return Array.from({ length: bins }, (_, n) => {
    const from_ms = (start_s + n * bin_s) * 1000;
    const within = periods.filter(({ at }) => at.getTime() >= from_ms && at.getTime() < from_ms + bin_s * 1000);
    return { at: new Date(from_ms).toISOString(), ...merge(within) };
  });
}

function merge(periods: readonly Period[]): Omit<HistoryBin, 'at'> {
  const sum = (state: 'succeeded' | 'partial' | 'failed' | 'needs_review') =>
    periods.reduce((total, period) => total + period[state], 0);
  const taken = periods.flatMap((period) => period.taken).sort(([a], [b]) => a - b);
  return {
    succeeded: sum('succeeded'),
    partial: sum('partial'),
    failed: sum('failed'),
    needs_review: sum('needs_review'),
    p50_s: percentile(taken, 0.5),
    p95_s: percentile(taken, 0.95),
  };
}

/** The duration that this part of the jobs did not exceed, in seconds to two digits. */
function percentile(taken: Period['taken'], part: number): number | null {
  const wanted = taken.reduce((total, [, jobs]) => total + jobs, 0) * part;
  let seen = 0;
  for (const [power, jobs] of taken) {
    seen += jobs;
    if (seen >= wanted) return Number((taken_base ** power).toPrecision(2));
  }
  return null;
}
