import { Group, Title } from '@mantine/core';
import type { UseInfiniteQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { list_rows } from '../../parts/Loading.tsx';
import { type Column, DataTable, PagedTable, TableSkeleton } from '../../parts/lists/DataTable.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import type { ApiError, ResponseOf } from '../../service/api.ts';
import { useQuery } from '../../service/queries.ts';
import { useOrganization } from './organization.tsx';
import { ListSync } from './SyncNotes.tsx';

type Props<Row> = {
  kind: string;
  title: string;
  query: UseInfiniteQueryResult<Row[], ApiError>;
  columns: readonly Column<Row>[];
  rowKey: (row: Row) => string;
  href?: (row: Row) => string;
  /** More about a row, below its cells. */
  below?: (row: Row) => ReactNode;
  filtered: boolean;
  /** The search form. */
  children: ReactNode;
};

/** A searchable list of records, page by page. */
export function SearchList<Row>({ kind, title, filtered, children, ...table }: Props<Row>) {
  return (
    <>
      <ListTitle kind={kind}>{title}</ListTitle>
      {children}
      <PagedTable
        label={title}
        {...table}
        empty={filtered ? 'No matching records. Change or clear the search.' : no_records}
      />
    </>
  );
}

export type ShortKind = Exclude<keyof ResponseOf<'records.list'>, 'success'>;
export type ShortRow<Kind extends ShortKind> = NonNullable<ResponseOf<'records.list'>[Kind]>[number];

/** All records of a type of which an organization has few. */
export function useRecords<Kind extends ShortKind>(kind: Kind) {
  const { params } = useOrganization();
  return useQuery('records.list', { ...params, kind });
}

export function ShortList<Kind extends ShortKind>(props: {
  kind: Kind;
  title: string;
  columns: readonly Column<ShortRow<Kind>>[];
  rowKey: (row: ShortRow<Kind>) => string;
  href?: (row: ShortRow<Kind>) => string;
}) {
  const { kind, title, columns, rowKey, href } = props;
  const query = useRecords(kind);
  return (
    <>
      <ListTitle kind={kind}>{title}</ListTitle>
      <QueryResult query={query} placeholder={<TableSkeleton columns={columns} rows={list_rows} />}>
        {(response) => (
          <DataTable
            label={title}
            rows={(response[kind] ?? []) as ShortRow<Kind>[]}
            columns={columns}
            rowKey={rowKey}
            {...(href ? { href } : {})}
            empty={no_records}
          />
        )}
      </QueryResult>
    </>
  );
}

const no_records = 'No records yet. They appear after the next sync, which you can start under Accounts.';

function ListTitle({ kind, children }: { kind: string; children: string }) {
  return (
    <Group mb="sm" gap="sm" align="baseline">
      <Title order={2} size="h3">
        {children}
      </Title>
      <ListSync kind={kind} />
    </Group>
  );
}
