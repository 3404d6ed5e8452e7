import { BarChart, LineChart } from '@mantine/charts';
import { useLocation } from 'wouter';
import { Chart } from '../../parts/Chart.tsx';
import type { Column } from '../../parts/lists/DataTable.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { ranges } from '../../service/api.gen.ts';
import { useClient } from '../../service/client.tsx';
import type { HistoryBin } from '../../service/types.ts';

export type Range = keyof typeof ranges;
type Props = { bins: readonly HistoryBin[]; range: Range };

const states = [
  { name: 'succeeded', label: 'Succeeded', color: 'var(--chart-succeeded)' },
  { name: 'partial', label: 'Partial', color: 'var(--chart-partial)' },
  { name: 'failed', label: 'Failed', color: 'var(--chart-failed)' },
  { name: 'needs_review', label: 'Needs review', color: 'var(--chart-needs-review)' },
] as const;
const percentiles = [
  { name: 'p50_s', label: 'p50', color: 'var(--chart-p50)' },
  { name: 'p95_s', label: 'p95', color: 'var(--chart-p95)' },
] as const;

const shared = {
  h: 240,
  dataKey: 'label',
  withLegend: true,
  accessibilityLayer: false,
  tooltipAnimationDuration: 0,
  // Labels at the ends of the time axis are centered on their tick and need room on both sides.
  xAxisProps: { minTickGap: 24, padding: { left: 8, right: 8 } },
} as const;

const margin = { top: 8, right: 32, bottom: 0, left: 8 };

/** Opens the jobs that finished in one interval. */
function useOpenJobs(bins: readonly HistoryBin[]) {
  const { linkTo } = useClient();
  const [, navigate] = useLocation();
  const [first, second] = bins;
  const width_ms = first && second ? Date.parse(second.at) - Date.parse(first.at) : 0;
  const href = ({ at }: HistoryBin) => {
    const finished_to = new Date(Date.parse(at) + width_ms).toISOString();
    return `${linkTo('/jobs')}?${new URLSearchParams({ finished_from: at, finished_to })}`;
  };
  const onClick = ({ activeTooltipIndex }: { activeTooltipIndex?: number | string | null | undefined }) => {
    const bin = activeTooltipIndex == null ? undefined : bins[Number(activeTooltipIndex)];
    if (bin) navigate(href(bin));
  };
  return { href, chart: { margin, onClick } };
}

/** The number of finished jobs by state. */
export function FinishedJobsChart({ bins, range }: Props) {
  const { href, chart } = useOpenJobs(bins);
  const total = (state: (typeof states)[number]['name']) => bins.reduce((sum, bin) => sum + bin[state], 0);
  const all = states.reduce((sum, { name }) => sum + total(name), 0);
  const not_succeeded = all - total('succeeded');
  return (
    <Chart
      title="Finished jobs"
      summary={`${all.toLocaleString()} in ${ranges[range]}, ${not_succeeded.toLocaleString()} not fully successful`}
      rows={[...bins].reverse().filter((bin) => states.some(({ name }) => bin[name] > 0))}
      columns={listColumns(states, (jobs) => jobs.toLocaleString())}
      rowKey={({ at }) => at}
      href={href}
    >
      <BarChart
        {...shared}
        data={withLabels(bins, range)}
        type="stacked"
        series={[...states]}
        barProps={{ isAnimationActive: false }}
        barChartProps={chart}
        yAxisProps={{ allowDecimals: false, width: 44, tickFormatter: (jobs: number) => compact.format(jobs) }}
      />
    </Chart>
  );
}

/** How long jobs took from acceptance to finish, without waits for re-linking. */
export function DurationChart({ bins, range }: Props) {
  const { href, chart } = useOpenJobs(bins);
  const newest = bins.findLast(({ p50_s }) => p50_s !== null);
  return (
    <Chart
      title="Job duration"
      summary={
        newest?.p50_s == null || newest.p95_s === null
          ? 'No jobs finished in this period'
          : `Latest: p50 ${duration(newest.p50_s)}, p95 ${duration(newest.p95_s)}`
      }
      rows={[...bins].reverse().filter(({ p50_s }) => p50_s !== null)}
      columns={listColumns(percentiles, duration)}
      rowKey={({ at }) => at}
      href={href}
    >
      <LineChart
        {...shared}
        data={withLabels(bins, range)}
        series={[...percentiles]}
        connectNulls={false}
        curveType="linear"
        lineProps={{ isAnimationActive: false }}
        lineChartProps={chart}
        valueFormatter={duration}
        yAxisProps={{ width: 56 }}
      />
    </Chart>
  );
}

function listColumns<Name extends Exclude<keyof HistoryBin, 'at'>>(
  series: readonly { name: Name; label: string }[],
  format: (value: number) => string,
): Column<HistoryBin>[] {
  return [
    { head: 'From', cell: ({ at }) => <Timestamp at={at} show="clock" /> },
    ...series.map(({ name, label }): Column<HistoryBin> => {
      const cell = (bin: HistoryBin) => (bin[name] === null ? '–' : format(bin[name]));
      return { head: label, align: 'right', cell };
    }),
  ];
}

const by_time = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' });
const by_day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: 'numeric' });

/** Adds the label on the time axis. */
function withLabels(bins: readonly HistoryBin[], range: Range) {
  const format = range === '7d' ? by_day : by_time;
  return bins.map((bin) => ({ ...bin, label: format.format(new Date(bin.at)) }));
}

/** 1,000,000 would not fit next to the axis. */
const compact = new Intl.NumberFormat(undefined, { notation: 'compact' });

/** Two significant digits: `45 ms`, `3.2 s`, `12 min`, `5.5 h`. The axis starts at `0`. */
function duration(seconds: number): string {
  const round = (value: number) => Number(value.toPrecision(2)).toLocaleString();
  if (seconds === 0) return '0';
  if (seconds < 1) return `${round(seconds * 1000)} ms`;
  if (seconds < 120) return `${round(seconds)} s`;
  return seconds < 7200 ? `${round(seconds / 60)} min` : `${round(seconds / 3600)} h`;
}
