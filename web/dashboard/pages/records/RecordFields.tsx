import { Paper, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { type Column, DataTable } from '../../parts/DataTable.tsx';
import { fieldLabel } from '../../parts/labels.ts';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Fields } from '../../parts/values.tsx';

/** All fields of a record. `shown` replaces how some of them are shown. */
export function RecordFields(props: { title: string; of: object; shown?: Record<string, ReactNode> }) {
  const { title, of, shown = {} } = props;
  const fields = Object.entries(of).flatMap(([name, value]) => {
    const content = shown[name] ?? display(value, name);
    // Nested objects have a section of their own.
    return content === undefined ? [] : [[fieldLabel(name), content] as const];
  });
  return (
    <RecordSection title={title}>
      <Paper withBorder p="md">
        <Fields of={Object.fromEntries(fields)} />
      </Paper>
    </RecordSection>
  );
}

/** The parts of a record, such as the lines of a claim. Columns that are empty in all of them are left out. */
export function RecordTable({ title, rows }: { title: string; rows: readonly object[] }) {
  const numbered = rows.map((row, n) => ({ n, values: new Map(Object.entries(row)) }));
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => name !== 'id');
  const columns = names.flatMap((name): Column<(typeof numbered)[number]>[] => {
    const values = numbered.map((row) => row.values.get(name));
    if (values.every((value) => !display(value) && value !== 0)) return [];
    const align = values.some((value) => typeof value === 'number') ? { align: 'right' as const } : {};
    return [{ head: fieldLabel(name), cell: (row) => display(row.values.get(name) ?? null, name) || '–', ...align }];
  });
  return (
    <RecordSection title={rows.length > 1 ? `${title} (${rows.length})` : title}>
      {rows.length === 0 ? (
        <Text size="sm" c="dimmed">
          None
        </Text>
      ) : (
        <DataTable label={title} rows={numbered} columns={columns} keyOf={(row) => row.n} empty="" />
      )}
    </RecordSection>
  );
}

function RecordSection({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title}>
      <Title order={3} size="h5" mb="xs">
        {title}
      </Title>
      {children}
    </section>
  );
}

/** Fields of claims that are amounts of money. */
const money_names = /(amount|charge|payment|balance|fee|adjustment|responsibility)$/;

export function money(amount: number | null): string {
  return amount === null ? '–' : amount.toLocaleString(undefined, { style: 'currency', currency: 'USD' });
}

/** A value as text; undefined for objects. `name` is its field. */
export function display(value: unknown, name = ''): ReactNode {
  if (value === null) return '';
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(value)) return <Timestamp at={value} />;
  if (typeof value === 'number') return money_names.test(name) ? money(value) : value.toLocaleString();
  if (typeof value === 'string') return value;
  return Array.isArray(value) && typeof value[0] === 'string' ? value.join(', ') : undefined;
}
