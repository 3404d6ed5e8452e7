import { Button, Group, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { fieldLabel } from '../../parts/labels.ts';
import type { Column } from '../../parts/lists/DataTable.tsx';
import { Status } from '../../parts/Status.tsx';
import type { PagedId } from '../../service/api.ts';
import { usePages } from '../../service/queries.ts';
import { useOrganization } from './organization.tsx';
import { display } from './RecordFields.tsx';
import { SearchList, type ShortKind, ShortList } from './RecordList.tsx';
import type { KindRow } from './SyncNotes.tsx';

/** The path of a kind's list below the organization. */
export function kindPath(kind: string): string {
  return `/${kind.replaceAll('_', '-')}`;
}

/** The list of any kind, built from its declaration. */
export function KindList({ kind }: { kind: KindRow }) {
  if (kind.reads === 'search') return <KindSearch kind={kind} />;
  // Kinds without a search are those of records.list.
  return <ShortList kind={kind.kind as ShortKind} title={kind.label} columns={listColumns(kind)} rowKey={readId} />;
}

function KindSearch({ kind }: { kind: KindRow }) {
  const { params } = useOrganization();
  const [filters, setFilters] = useState<Record<string, string>>({});
  // Every kind with a search has an endpoint of this name.
  const id = `${kind.kind.replaceAll('_', '-')}.search` as Extract<PagedId, `${string}-providers.search`>;
  const query = usePages(id, params, { filters });
  return (
    <SearchList
      kind={kind.kind}
      title={kind.label}
      query={query}
      filtered={Object.keys(filters).length > 0}
      columns={listColumns(kind)}
      rowKey={readId}
    >
      <SearchForm names={kind.filters.filter((name) => !['active', 'status'].includes(name))} onSearch={setFilters} />
    </SearchList>
  );
}

function listColumns({ columns }: KindRow): Column<object>[] {
  return columns.map((path) => ({
    head: fieldLabel(path.split('.').at(-1) ?? path),
    cell: (row) => renderCell(path, valueAt(row, path)),
  }));
}

function renderCell(path: string, value: unknown): ReactNode {
  if (path === 'status') return <Status of={String(value)} />;
  return display(value) || '–';
}

function valueAt(row: object, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => Object(value)[name], row);
}

function readId(row: object): string {
  return String(valueAt(row, 'id'));
}

type SearchFormProps = { names: readonly string[]; onSearch: (filters: Record<string, string>) => void };

function SearchForm({ names, onSearch }: SearchFormProps) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const form = new FormData(event.currentTarget);
        const values = names.map((name) => [name, String(form.get(name) ?? '').trim()] as const);
        onSearch(Object.fromEntries(values.filter(([, value]) => value !== '')));
      }}
    >
      <Group align="flex-end" mb="md" gap="sm" className="filters">
        {names.map((name) => (
          <TextInput key={name} name={name} label={fieldLabel(name)} w={180} />
        ))}
        <Button type="submit">Search</Button>
      </Group>
    </form>
  );
}
