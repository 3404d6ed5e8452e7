import { Paper, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { type Column, Rows } from './Rows.tsx';

type Shape<Row> = {
  title: string;
  /** What it comes to, in a sentence. */
  summary: ReactNode;
  /** The picture. It is for the eyes alone: the same is in the table. */
  children: ReactNode;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  keyOf: (row: Row) => string | number;
};

/** A picture of numbers, and the numbers themselves for who does not see it. */
export function Chart<Row>({ title, summary, children, rows, columns, keyOf }: Shape<Row>) {
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
        <summary>As a table</summary>
        <Rows label={title} rows={rows} columns={columns} keyOf={keyOf} empty="Nothing to show." />
      </details>
    </Paper>
  );
}
