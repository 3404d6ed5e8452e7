import { BarChart } from '@mantine/charts';
import type { HistoryBin } from '../../../../src/model/dashboard/overview.ts';
import { type Range, ranges } from '../../../../src/model/dashboard/ranges.ts';
import { Chart } from '../../parts/Chart.tsx';
import { Moment } from '../../parts/Moment.tsx';
import type { Column } from '../../parts/Rows.tsx';
import { labelled } from './labelled.ts';

const states = [
  { name: 'succeeded', label: 'Succeeded', color: 'var(--chart-succeeded)' },
  { name: 'partial', label: 'Partial', color: 'var(--chart-partial)' },
  { name: 'failed', label: 'Failed', color: 'var(--chart-failed)' },
  { name: 'needs_review', label: 'Needs review', color: 'var(--chart-needs-review)' },
] as const;

/** 1,000,000 would not fit beside the axis. */
const short = new Intl.NumberFormat(undefined, { notation: 'compact' });

/** How many jobs ended, in which state, when. */
export function EndedChart({ bins, range }: { bins: readonly HistoryBin[]; range: Range }) {
  const total = (state: (typeof states)[number]['name']) => bins.reduce((sum, bin) => sum + bin[state], 0);
  const all = states.reduce((sum, { name }) => sum + total(name), 0);
  const trouble = all - total('succeeded');
  return (
    <Chart
      title="Jobs ended"
      summary={`${all.toLocaleString()} in ${ranges[range].words}, ${trouble.toLocaleString()} of them not fully successful`}
      rows={[...bins].reverse().filter((bin) => states.some(({ name }) => bin[name] > 0))}
      columns={columns}
      keyOf={({ at }) => at}
    >
      <BarChart
        h={240}
        data={labelled(bins, range)}
        dataKey="label"
        type="stacked"
        series={[...states]}
        withLegend
        accessibilityLayer={false}
        barProps={{ isAnimationActive: false }}
        tooltipAnimationDuration={0}
        xAxisProps={{ minTickGap: 24 }}
        yAxisProps={{ allowDecimals: false, width: 44, tickFormatter: (jobs: number) => short.format(jobs) }}
      />
    </Chart>
  );
}

const columns: Column<HistoryBin>[] = [
  { head: 'From', cell: ({ at }) => <Moment at={at} /> },
  ...states.map(
    ({ name, label }): Column<HistoryBin> => ({
      head: label,
      align: 'right',
      cell: (bin) => bin[name].toLocaleString(),
    }),
  ),
];
