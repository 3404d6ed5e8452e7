import { Anchor, Button, Center, Table } from '@mantine/core';
import type { UseInfiniteQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { ApiError } from '../service/api.ts';
import { EmptyState } from './layout.tsx';
import { QueryResult } from './QueryResult.tsx';

export type Column<Row> = { head: string; cell: (row: Row) => ReactNode; align?: 'right' };

type Props<Row> = {
  /** The table's accessible name. */
  label: string;
  columns: readonly Column<Row>[];
  keyOf: (row: Row) => string | number;
  /** The link in the first cell of a row. */
  href?: (row: Row) => string;
  /** Shown instead of an empty table. */
  empty: ReactNode;
};

export type PagedTableProps<Row> = Props<Row> & { query: UseInfiniteQueryResult<Row[], ApiError> };

/** A table with a button that loads the next page, see usePages. */
export function PagedTable<Row>({ query, ...table }: PagedTableProps<Row>) {
  return (
    <QueryResult query={query}>
      {(rows) => (
        <>
          <DataTable rows={rows} {...table} />
          {query.hasNextPage && (
            <Center mt="sm">
              <Button variant="light" loading={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
                Load more
              </Button>
            </Center>
          )}
        </>
      )}
    </QueryResult>
  );
}

/** A table that scrolls sideways in its own box where it is wider than the window. */
export function DataTable<Row>({ rows, label, columns, keyOf, href, empty }: Props<Row> & { rows: readonly Row[] }) {
  if (rows.length === 0) return <EmptyState>{empty}</EmptyState>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
    <section className="scroll" aria-label={label} tabIndex={0}>
      <Table highlightOnHover verticalSpacing="xs" aria-label={label}>
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ head, align }) => (
              <Table.Th key={head} ta={align ?? 'left'}>
                {head}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={keyOf(row)}>
              {columns.map(({ head, cell, align }, index) => (
                <Table.Td key={head} ta={align ?? 'left'}>
                  {href && index === 0 ? (
                    <Anchor component={Link} href={href(row)} size="sm">
                      {cell(row)}
                    </Anchor>
                  ) : (
                    cell(row)
                  )}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  );
}
