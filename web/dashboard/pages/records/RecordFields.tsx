import { Paper, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { fieldLabel } from '../../parts/labels.ts';
import { type Column, DataTable } from '../../parts/lists/DataTable.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Fields } from '../../parts/values.tsx';
import { Day } from './Day.tsx';

/** All fields of a part of a record, if it has any. */
export function RecordFields({ title, of }: { title: string; of: object }) {
  const fields = Object.entries(of).flatMap(([name, value]) => {
    const content = display(value, name);
    // Nested objects have a section of their own.
    return content === undefined ? [] : [[fieldLabel(name), content] as const];
  });
  if (fields.every(([, content]) => content === '')) return null;
  return (
    <RecordSection title={title}>
      <Paper withBorder p="md">
        <Fields of={Object.fromEntries(fields)} />
      </Paper>
    </RecordSection>
  );
}

/** As many columns of a record's parts fit in a window of 1024 px. */
const max_columns = 7;

type Part = { n: number; values: Map<string, unknown> };

/**
 * The parts of a record, such as the lines of a claim. Fields that are empty in all of them are left out. Those that
 * are not in `shown`, by default the first ones, are below the row.
 */
export function RecordTable(props: { title: string; rows: readonly object[]; shown?: readonly string[] }) {
  const { title, rows } = props;
  const parts = rows.map((row, n): Part => ({ n, values: new Map(Object.entries(row)) }));
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter(
    (name) => name !== 'id' && parts.some((part) => !isEmpty(part.values.get(name))),
  );
  const shown = props.shown?.filter((name) => names.includes(name)) ?? names.slice(0, max_columns);
  const columns = shown.map((name, index): Column<Part> => {
    const numbers = index > 0 && parts.some(({ values }) => typeof values.get(name) === 'number');
    const cell = ({ values }: Part) => display(values.get(name) ?? null, name) || '–';
    return { head: fieldLabel(name), cell, ...(numbers && { align: 'right' }) };
  });
  const others = names.filter((name) => !shown.includes(name));
  return (
    <RecordSection title={rows.length > 1 ? `${title} (${rows.length})` : title}>
      {rows.length === 0 ? (
        <Text size="sm" c="dimmed">
          None
        </Text>
      ) : (
        <DataTable
          label={title}
          rows={parts}
          columns={columns}
          rowKey={(part) => part.n}
          {...(others.length > 0 && { below: (part: Part) => <OtherFields names={others} part={part} /> })}
          empty=""
        />
      )}
    </RecordSection>
  );
}

/** Name and value of each field that has one, in a line. */
function OtherFields({ names, part: { values } }: { names: readonly string[]; part: Part }) {
  const shown = names.filter((name) => !isEmpty(values.get(name)));
  return (
    <div className="other-fields">
      {shown.map((name) => (
        <span key={name}>
          <span className="secondary">{fieldLabel(name)}</span> {display(values.get(name), name)}
        </span>
      ))}
    </div>
  );
}

function isEmpty(value: unknown): boolean {
  return value !== 0 && !display(value ?? null);
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
const money_names =
  /(amount|charge|payment|balance|fee|adjustment|responsibility|allowed|deductible|coinsurance|withheld)$/;

export function money(amount: number | null): string {
  return amount === null ? '–' : amount.toLocaleString(undefined, { style: 'currency', currency: 'USD' });
}

/** A value as text; undefined for objects. `name` is its field. */
export function display(value: unknown, name = ''): ReactNode {
  if (value === null) return '';
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(value))
    return <Timestamp at={value} show="clock" />;
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value)) return <Day of={value} />;
  if (typeof value === 'number') return money_names.test(name) ? money(value) : value.toLocaleString();
  if (typeof value === 'string') return isDecimal(value) && money_names.test(name) ? money(Number(value)) : value;
  return Array.isArray(value) && typeof value[0] === 'string' ? value.join(', ') : undefined;
}

function isDecimal(text: string): boolean {
  return /^-?\d+(\.\d+)?$/.test(text);
}
