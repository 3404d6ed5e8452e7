import { Paper, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { type Column, DataTable } from './DataTable.tsx';

type Props<Row> = {
  title: string;
  summary: ReactNode;
  /** The chart. Screen readers skip it and read the table instead. */
  children: ReactNode;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  keyOf: (row: Row) => string | number;
};

/** A chart and its data as a table. */
export function Chart<Row>({ title, summary, children, rows, columns, keyOf }: Props<Row>) {
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
        <DataTable label={title} rows={rows} columns={columns} keyOf={keyOf} empty="No data in this period." />
      </details>
    </Paper>
  );
}
