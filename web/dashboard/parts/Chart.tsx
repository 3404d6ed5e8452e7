import { Paper, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { type Column, DataTable } from './lists/DataTable.tsx';

type Props<Row> = {
  title: string;
  summary: ReactNode;
  /** The chart. Screen readers skip it and read the table instead. */
  children: ReactNode;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  rowKey: (row: Row) => string | number;
  /** Where a row of the table leads; a click on the chart leads there too. */
  href?: (row: Row) => string;
};

/** A chart and its data as a table. */
export function Chart<Row>({ title, summary, children, ...table }: Props<Row>) {
  return (
    <Paper withBorder p="md" component="figure" m={0} miw={0}>
      <figcaption>
        <Title order={3} size="h5">
          {title}
        </Title>
        <Text size="sm" c="dimmed" mb="sm">
          {summary}
        </Text>
      </figcaption>
      <div aria-hidden="true" className="chart">
        {children}
      </div>
      <details className="more">
        <summary>Show as table</summary>
        <DataTable label={title} {...table} empty="No data in this period. Choose a longer one." />
      </details>
    </Paper>
  );
}
