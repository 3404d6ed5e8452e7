import type { HistoryBin } from '../../../../src/model/dashboard/overview.ts';
import type { Range } from '../../../../src/model/dashboard/ranges.ts';

const by_time = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const by_day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: '2-digit' });

/** What stands below each stretch of time, in the reader's zone. */
export function labelled(bins: readonly HistoryBin[], range: Range) {
  const form = range === '7d' ? by_day : by_time;
  return bins.map((bin) => ({ ...bin, label: form.format(new Date(bin.at)) }));
}
