import { LineChart } from '@mantine/charts';
import type { HistoryBin } from '../../../../src/model/dashboard/overview.ts';
import type { Range } from '../../../../src/model/dashboard/ranges.ts';
import { Chart } from '../../parts/Chart.tsx';
import { Moment } from '../../parts/Moment.tsx';
import type { Column } from '../../parts/Rows.tsx';
import { labelled } from './labelled.ts';

const lines = [
  { name: 'p50_s', label: 'Half of them within', color: 'var(--chart-half)' },
  { name: 'p95_s', label: '95 of 100 within', color: 'var(--chart-most)' },
] as const;

/** How long jobs took from being accepted to their end. */
export function TakenChart({ bins, range }: { bins: readonly HistoryBin[]; range: Range }) {
  const newest = bins.findLast(({ p50_s }) => p50_s !== null);
  return (
    <Chart
      title="Time from accepted to ended"
      summary={
        newest?.p50_s == null || newest.p95_s === null
          ? 'No job ended in this time'
          : `Lately half of the jobs within ${inWords(newest.p50_s)}, 95 of 100 within ${inWords(newest.p95_s)}`
      }
      rows={[...bins].reverse().filter(({ p50_s }) => p50_s !== null)}
      columns={columns}
      keyOf={({ at }) => at}
    >
      <LineChart
        h={240}
        data={labelled(bins, range)}
        dataKey="label"
        series={[...lines]}
        withLegend
        connectNulls={false}
        curveType="linear"
        accessibilityLayer={false}
        lineProps={{ isAnimationActive: false }}
        tooltipAnimationDuration={0}
        valueFormatter={inWords}
        xAxisProps={{ minTickGap: 24 }}
        yAxisProps={{ width: 56 }}
      />
    </Chart>
  );
}

const columns: Column<HistoryBin>[] = [
  { head: 'From', cell: ({ at }) => <Moment at={at} /> },
  ...lines.map(
    ({ name, label }): Column<HistoryBin> => ({
      head: label,
      align: 'right',
      cell: (bin) => (bin[name] === null ? '–' : inWords(bin[name])),
    }),
  ),
];

/** A duration of two digits: `45 ms`, `3.2 s`, `12 min`, `5.5 h`. An axis begins at 0. */
function inWords(seconds: number): string {
  const short = (value: number) => Number(value.toPrecision(2)).toLocaleString();
  if (seconds === 0) return '0';
  if (seconds < 1) return `${short(seconds * 1000)} ms`;
  if (seconds < 120) return `${short(seconds)} s`;
  return seconds < 7200 ? `${short(seconds / 60)} min` : `${short(seconds / 3600)} h`;
}
