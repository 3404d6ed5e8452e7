import type { HistoryBin } from '../../model/dashboard/overview.ts';
import { type Range, ranges } from '../../model/dashboard/ranges.ts';
import type { Database } from '../../platform/db/database.ts';
import { duration_base, type Period, period_s, readPeriods, summarizeSince } from './jobPeriods.ts';

/**
 * A client's finished jobs over time: how many per final state, and how long they took from acceptance to finish,
 * without the time they waited for their account to be re-linked.
 */
export async function readJobHistory(db: Database, client_id: string, range: Range): Promise<HistoryBin[]> {
  const { bins, bin_s } = ranges[range];
  const start_s = Math.floor(Date.now() / 1000 / bin_s) * bin_s - (bins - 1) * bin_s;
  const periods =
    bin_s < period_s
      ? await summarizeSince(db, client_id, new Date(start_s * 1000), bin_s)
      : await readPeriods(db, client_id);
  return Array.from({ length: bins }, (_, n) => {
    const from_ms = (start_s + n * bin_s) * 1000;
    const in_bin = periods.filter(({ at }) => at.getTime() >= from_ms && at.getTime() < from_ms + bin_s * 1000);
    return { at: new Date(from_ms).toISOString(), ...merge(in_bin) };
  });
}

function merge(periods: readonly Period[]): Omit<HistoryBin, 'at'> {
  const sum = (state: 'succeeded' | 'partial' | 'failed' | 'needs_review') =>
    periods.reduce((total, period) => total + period[state], 0);
  const durations = periods.flatMap((period) => period.durations).sort(([a], [b]) => a - b);
  return {
    succeeded: sum('succeeded'),
    partial: sum('partial'),
    failed: sum('failed'),
    needs_review: sum('needs_review'),
    p50_s: percentile(durations, 0.5),
    p95_s: percentile(durations, 0.95),
  };
}

/** In seconds, rounded to two significant digits. */
function percentile(durations: Period['durations'], fraction: number): number | null {
  const wanted = durations.reduce((total, [, jobs]) => total + jobs, 0) * fraction;
  let counted = 0;
  for (const [power, jobs] of durations) {
    counted += jobs;
    if (counted >= wanted) return Number((duration_base ** power).toPrecision(2));
  }
  return null;
}
