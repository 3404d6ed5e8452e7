import { List, Loader, Text, TextInput } from '@mantine/core';
import { useEffect } from 'react';
import type { ResponseOf } from '../../service/api.ts';
import { useAction } from '../../service/queries.ts';
import { ErrorAlert } from '../errors.tsx';
import { fieldLabel } from '../labels.ts';
import { DataTable } from '../lists/DataTable.tsx';
import { FormDialog } from './FormDialog.tsx';

type Erasure = ResponseOf<'clients.erase'>['erasure'];

type Props = {
  /** What is erased: `practice`. */
  noun: string;
  /** Typed by the operator to confirm. */
  name: string;
  erase: (body: { dry_run: boolean }) => Promise<{ erasure: Erasure }>;
  /** Leaves the page of what no longer exists. */
  onErased?: () => void;
};

/** A button whose dialog shows how much would be erased and asks for the name before it erases it. */
export function Erase({ noun, name, erase, onErased }: Props) {
  return (
    <FormDialog
      opener={`Erase ${noun}`}
      title={`Erase ${noun}`}
      submit="Erase"
      danger
      action={async () => {
        const { erasure } = await erase({ dry_run: false });
        onErased?.();
        return erasure;
      }}
      done={({ rows }) => <Text size="sm">Erased {total(rows)} rows. This is recorded in the audit log.</Text>}
    >
      <Plan load={async () => (await erase({ dry_run: true })).erasure} />
      <Text size="sm">
        This cannot be undone. Data in the EMR stays there; the audit log keeps its records, which contain no health
        data.
      </Text>
      <TypedConfirmation text={name} />
    </FormDialog>
  );
}

/** An input that must contain the text, for what cannot be undone. */
export function TypedConfirmation({ text }: { text: string }) {
  return (
    <TextInput
      label={`Enter ${text} to confirm`}
      name="confirmation"
      required
      autoComplete="off"
      // Browsers ignore a pattern with an unnecessary escape, and then any text would confirm.
      pattern={text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&')}
    />
  );
}

function Plan({ load }: { load: () => Promise<Erasure> }) {
  const { mutate, data, error } = useAction(load);
  // Counted once, when the dialog opens.
  // biome-ignore lint/correctness/useExhaustiveDependencies: `load` is a new function at every render
  useEffect(() => mutate(undefined), []);
  if (error) return <ErrorAlert error={error} />;
  if (!data) return <Loader size="sm" aria-label="Counting" />;
  return (
    <>
      {(data.linked_accounts > 0 || data.unfinished_jobs > 0) && (
        <List size="sm">
          {data.linked_accounts > 0 && (
            <List.Item>Linked accounts (will be unlinked first): {data.linked_accounts}</List.Item>
          )}
          {data.unfinished_jobs > 0 && (
            <List.Item>Unfinished jobs (must finish first): {data.unfinished_jobs}</List.Item>
          )}
        </List>
      )}
      <DataTable
        label="To be erased"
        rows={data.rows}
        rowKey={(row) => row.table}
        columns={[
          { head: 'Data', cell: (row) => fieldLabel(row.table) },
          { head: 'Rows', cell: (row) => row.rows },
        ]}
        empty="Nothing else is stored. Erasing removes the entry itself."
      />
    </>
  );
}

function total(rows: Erasure['rows']): number {
  return rows.reduce((sum, row) => sum + row.rows, 0);
}
