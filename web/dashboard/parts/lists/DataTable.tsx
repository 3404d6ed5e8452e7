import { Anchor, Button, Center, Checkbox, Skeleton, Table } from '@mantine/core';
import type { UseInfiniteQueryResult } from '@tanstack/react-query';
import { Fragment, type KeyboardEvent, type MouseEvent, type ReactNode } from 'react';
import { Link } from 'wouter';
import type { ApiError } from '../../service/api.ts';
import { list_rows } from '../Loading.tsx';
import { EmptyState, Section } from '../layout.tsx';
import { QueryResult } from '../QueryResult.tsx';
import { InFocusableRow } from '../Timestamp.tsx';
import { list_row } from './listKeys.ts';

export type Column<Row> = {
  head: string;
  cell: (row: Row) => ReactNode;
  align?: 'right';
  /**
   * Where the cell is on a phone, on which a row is a card with its first cell as the title: at the end of the title's
   * line, on a line of its own, nowhere, or together with others and labeled with its head.
   */
  phone?: PhonePlace;
};

type PhonePlace = 'end' | 'line' | 'hidden' | 'labeled';

/** The place of columns that many tables have. */
const phone_places: Partial<Record<string, PhonePlace>> = { Status: 'end', Reason: 'line', Actions: 'line' };

export type Selection<Row> = {
  selected: ReadonlySet<string | number>;
  onChange: (selected: ReadonlySet<string | number>) => void;
  /** The accessible name of a row's checkbox. */
  rowLabel: (row: Row) => string;
  /** Rows without a checkbox are not part of “select all”. */
  isSelectable: (row: Row) => boolean;
};

type Props<Row> = {
  /** The table's accessible name. */
  label: string;
  columns: readonly Column<Row>[];
  rowKey: (row: Row) => string | number;
  /** The link in the first cell of a row. A click anywhere in the row follows it. */
  href?: (row: Row) => string;
  /** Adds a checkbox to every row. */
  selection?: Selection<Row>;
  /** More about a row, below its cells; null for nothing. */
  below?: (row: Row) => ReactNode;
  /** How many lines of text a row has at least room for, if some of them arrive later. */
  lines?: (row: Row) => number;
  /** Shown instead of an empty table. */
  empty: ReactNode;
};

export type PagedTableProps<Row> = Props<Row> & { query: UseInfiniteQueryResult<Row[], ApiError> };

/** A table with a button that loads the next page, see usePages. */
export function PagedTable<Row>({ query, ...table }: PagedTableProps<Row>) {
  return (
    <QueryResult query={query} placeholder={<TableSkeleton rows={list_rows} {...table} />}>
      {(rows) => (
        <>
          <DataTable rows={rows} {...table} />
          <MoreButton query={query} />
        </>
      )}
    </QueryResult>
  );
}

/** Loads the next page; nothing on the last one. */
export function MoreButton<Row>({ query }: Pick<PagedTableProps<Row>, 'query'>) {
  if (!query.hasNextPage) return null;
  return (
    <Center mt="sm">
      <Button variant="default" loading={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
        Load more
      </Button>
    </Center>
  );
}

/** A table; on a phone a list of cards. In between, it scrolls sideways in its own box if it is wider than the window. */
export function DataTable<Row>(props: Props<Row> & { rows: readonly Row[] }) {
  const { rows, label, columns, rowKey, href, selection, below, lines, empty } = props;
  if (rows.length === 0) return <EmptyState>{empty}</EmptyState>;
  // Two columns fit on every screen.
  const cards = columns.length > 2 ? 'cards' : '';
  const open = href ? { className: 'row-link', onClick: followLink, onKeyDown: followOnEnter } : {};
  // By script only: the keys j and k move between the rows. With Tab, their links and checkboxes are reached.
  const keys = href || selection ? { [list_row]: '', tabIndex: -1 } : {};
  // The roles are those of the elements. Some browsers drop them if the elements are displayed as cards.
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
    <section className={`scroll table ${cards}`} aria-label={label} tabIndex={0}>
      <Table highlightOnHover verticalSpacing="sm" horizontalSpacing="md" aria-label={label} role="table">
        <Table.Thead role="rowgroup">
          <Table.Tr role="row">
            {selection && <SelectAll rows={rows} rowKey={rowKey} selection={selection} />}
            {columns.map(({ head, align }) => (
              <Table.Th key={head} className={align} role="columnheader">
                {head}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody role="rowgroup">
          <InFocusableRow value={href !== undefined || selection !== undefined}>
            {rows.map((row) => (
              <Fragment key={rowKey(row)}>
                <Table.Tr role="row" {...open} {...keys} {...(lines ? { style: { '--row-lines': lines(row) } } : {})}>
                  {selection && <SelectRow row={row} id={rowKey(row)} selection={selection} />}
                  {columns.map((column, index) => (
                    <Cell key={column.head} column={column} row={row} title={index === 0} href={href} />
                  ))}
                </Table.Tr>
                <Below columns={columns.length}>{below?.(row)}</Below>
              </Fragment>
            ))}
          </InFocusableRow>
        </Table.Tbody>
      </Table>
    </section>
  );
}

/** A table's head and empty rows, while it is being loaded. */
export function TableSkeleton<Row>(props: Pick<Props<Row>, 'columns' | 'selection'> & { rows?: number }) {
  const { columns, selection, rows = 3 } = props;
  return (
    <div className="scroll table skeleton" role="status" aria-busy="true" aria-label="Loading">
      <Table verticalSpacing="sm" horizontalSpacing="md" aria-hidden="true" role="presentation">
        <Table.Thead>
          <Table.Tr>
            {selection && <Table.Th data-place="select" />}
            {columns.map(({ head, align }) => (
              <Table.Th key={head} className={align}>
                {head}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {Array.from({ length: rows }, (_, row) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all the same.
            <Table.Tr key={row} style={{ '--row-lines': 2 }}>
              {selection && <Table.Td data-place="select" />}
              {columns.map(({ head, align }, column) => (
                <Table.Td key={head}>
                  <Skeleton
                    height={14}
                    width={`${55 + ((row * 7 + column * 13) % 40)}%`}
                    {...(align === 'right' && { ml: 'auto' })}
                  />
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}

function Below({ columns, children }: { columns: number; children: ReactNode }) {
  if (children === undefined || children === null) return null;
  return (
    <Table.Tr role="row" className="below">
      <Table.Td role="cell" colSpan={columns} data-place="line">
        {children}
      </Table.Td>
    </Table.Tr>
  );
}

type TableSectionProps<Row> = Omit<Props<Row>, 'label' | 'empty'> & { title: string; rows: readonly Row[] };

/** A section with one table. Without rows there is no section. */
export function TableSection<Row>({ title, ...table }: TableSectionProps<Row>) {
  if (table.rows.length === 0) return null;
  return (
    <Section title={title}>
      <DataTable label={title} {...table} empty="" />
    </Section>
  );
}

type CellProps<Row> = { column: Column<Row>; row: Row; title: boolean; href: ((row: Row) => string) | undefined };

function Cell<Row>({ column: { head, cell, align, phone }, row, title, href }: CellProps<Row>) {
  const content = cell(row);
  const place = title
    ? 'title'
    : content === '–' || content === ''
      ? 'hidden'
      : (phone ?? phone_places[head] ?? 'labeled');
  const label = place === 'labeled' ? { 'data-label': head } : {};
  // A number alone is no title on a phone: `Job 12`.
  const named =
    title && typeof content === 'number' ? (
      <>
        <span className="only-phone">{head} </span>
        {content}
      </>
    ) : (
      content
    );
  return (
    <Table.Td role="cell" className={align} data-place={place} {...label}>
      {href && title ? (
        <Anchor component={Link} href={href(row)} size="sm">
          {named}
        </Anchor>
      ) : (
        named
      )}
    </Table.Td>
  );
}

/** Follows the link in the row, so that modifier keys work as on the link itself. Selecting text is not a click. */
function followLink(event: MouseEvent<HTMLTableRowElement>): void {
  const on_control = event.target instanceof Element && event.target.closest('a, button, input, label');
  if (on_control || window.getSelection()?.toString()) return;
  const { ctrlKey, metaKey, shiftKey } = event;
  const click = { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey };
  event.currentTarget.querySelector('a')?.dispatchEvent(new window.MouseEvent('click', click));
}

/** Enter on the row itself; links and checkboxes in it handle their own keys. */
function followOnEnter(event: KeyboardEvent<HTMLTableRowElement>): void {
  if (event.key === 'Enter' && event.target === event.currentTarget) event.currentTarget.querySelector('a')?.click();
}

type SelectAllProps<Row> = Required<Pick<Props<Row>, 'rowKey' | 'selection'>> & { rows: readonly Row[] };

function SelectAll<Row>({ rows, rowKey, selection: { selected, isSelectable, onChange } }: SelectAllProps<Row>) {
  const keys = rows.filter(isSelectable).map(rowKey);
  const all = keys.length > 0 && keys.every((key) => selected.has(key));
  return (
    <Table.Th role="columnheader" data-place="select">
      <Checkbox
        aria-label="Select all"
        checked={all}
        indeterminate={!all && keys.some((key) => selected.has(key))}
        disabled={keys.length === 0}
        onChange={() => onChange(new Set(all ? [] : keys))}
      />
    </Table.Th>
  );
}

function SelectRow<Row>({ row, id, selection }: { row: Row; id: string | number; selection: Selection<Row> }) {
  const { selected, onChange, rowLabel, isSelectable } = selection;
  const toggle = () => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    onChange(next);
  };
  return (
    <Table.Td role="cell" data-place="select">
      {isSelectable(row) && <Checkbox aria-label={rowLabel(row)} checked={selected.has(id)} onChange={toggle} />}
    </Table.Td>
  );
}
