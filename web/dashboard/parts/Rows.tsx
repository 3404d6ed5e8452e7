import { Anchor, Button, Center, Table } from '@mantine/core';
import type { UseInfiniteQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Problem } from '../service/ask.ts';
import { Answer } from './Answer.tsx';
import { Empty } from './Empty.tsx';

export type Column<Row> = { head: string; cell: (row: Row) => ReactNode; align?: 'right' };

type Shape<Row> = {
  /** What the table is, for who hears it. */
  label: string;
  columns: readonly Column<Row>[];
  keyOf: (row: Row) => string | number;
  /** Where a row leads; its first cell is the link. */
  href?: (row: Row) => string;
  /** Shown when there is nothing: what to do next. */
  empty: ReactNode;
};

/** A list that is read page by page, see usePages. */
export function PagedRows<Row>({
  of,
  more = 'Show older',
  ...shape
}: Shape<Row> & {
  of: UseInfiniteQueryResult<Row[], Problem>;
  /** What the button says that reads on, where a list is not by time. */
  more?: string;
}) {
  return (
    <Answer to={of}>
      {(rows) => (
        <>
          <Rows rows={rows} {...shape} />
          {of.hasNextPage && (
            <Center mt="sm">
              <Button variant="light" loading={of.isFetchingNextPage} onClick={() => of.fetchNextPage()}>
                {more}
              </Button>
            </Center>
          )}
        </>
      )}
    </Answer>
  );
}

/** A table that scrolls sideways in its own frame where it is wider than the window. */
export function Rows<Row>({ rows, label, columns, keyOf, href, empty }: Shape<Row> & { rows: readonly Row[] }) {
  if (rows.length === 0) return <Empty>{empty}</Empty>;
  return (
    // Wide tables are scrolled by keyboard too.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a frame that scrolls must be reachable.
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
              {columns.map(({ head, cell, align }, at) => (
                <Table.Td key={head} ta={align ?? 'left'}>
                  {href && at === 0 ? (
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
