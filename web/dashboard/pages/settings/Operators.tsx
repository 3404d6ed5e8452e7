import { Group, NativeSelect, Text, TextInput } from '@mantine/core';
import { ActionButton } from '../../parts/ActionButton.tsx';
import { type Column, DataTable } from '../../parts/DataTable.tsx';
import { errorAt } from '../../parts/errors.tsx';
import { FormDialog } from '../../parts/FormDialog.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Status } from '../../parts/Status.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Copyable } from '../../parts/values.tsx';
import { call, type ResponseOf } from '../../service/api.ts';
import { useAction, useQuery } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';
import { role_labels } from '../../service/types.ts';

type Operator = ResponseOf<'operators.list'>['operators'][number];

const role_options = [
  { value: 'read_only', label: 'Read-only: view data' },
  { value: 'operator', label: 'Operator: view and change data' },
  { value: 'owner', label: 'Owner: also manage secrets and operators' },
];

const columns: Column<Operator>[] = [
  { head: 'Name', cell: (operator) => operator.name || '–' },
  { head: 'Email', cell: (operator) => operator.email },
  { head: 'Role', cell: (operator) => <Role of={operator} /> },
  { head: 'Two-factor', cell: (operator) => (operator.second_factor ? 'On' : 'Off') },
  { head: 'Status', cell: (operator) => <Status of={operator.disabled ? 'disabled' : 'active'} /> },
  { head: 'Last active', cell: (operator) => <Timestamp at={operator.seen_at} /> },
  { head: 'Actions', cell: (operator) => <Actions of={operator} /> },
];

export function Operators() {
  const { may } = useSession();
  const query = useQuery('operators.list', {});
  return (
    <>
      <Group justify="space-between" mb="sm">
        <Text c="dimmed" size="sm">
          People with access to this dashboard. Their actions are recorded in the audit log.
        </Text>
        {may('owner') && <AddOperator />}
      </Group>
      <QueryResult query={query}>
        {({ operators }) => (
          <DataTable
            label="Operators"
            rows={operators}
            columns={columns}
            keyOf={(operator) => operator.id}
            empty="No operators yet. Add one."
          />
        )}
      </QueryResult>
    </>
  );
}

function Role({ of }: { of: Operator }) {
  const { may, operator } = useSession();
  const change = useAction((role: string) => call('operators.update', { id: of.id }, { body: { role } }));
  if (!may('owner') || of.id === operator.id) return role_labels[of.role];
  return (
    <NativeSelect
      aria-label={`Role of ${of.email}`}
      size="xs"
      data={Object.entries(role_labels).map(([value, label]) => ({ value, label }))}
      value={of.role}
      disabled={change.isPending}
      onChange={(event) => change.mutate(event.currentTarget.value)}
      error={change.error?.message}
    />
  );
}

function Actions({ of }: { of: Operator }) {
  const { may, operator } = useSession();
  if (!may('owner') || of.id === operator.id) return null;
  return (
    <Group gap="xs" wrap="nowrap">
      <ActionButton action={() => call('operators.update', { id: of.id }, { body: { disabled: !of.disabled } })}>
        {of.disabled ? 'Enable' : 'Disable'}
      </ActionButton>
      <FormDialog
        opener="Reset password"
        title={`Reset password of ${of.email}`}
        submit="Reset"
        action={() => call('operators.reset', { id: of.id })}
        done={({ password }) => <NewPassword value={password} />}
      >
        <Text size="sm">
          Creates a new password, removes passkeys, authenticator app and recovery codes, and signs the operator out
          everywhere.
        </Text>
      </FormDialog>
    </Group>
  );
}

function AddOperator() {
  return (
    <FormDialog
      opener="Add operator"
      title="Add operator"
      submit="Add"
      action={(form) => {
        const text = (name: string) => String(form.get(name));
        return call(
          'operators.create',
          {},
          {
            body: { name: text('name'), email: text('email'), role: text('role') },
          },
        );
      }}
      done={({ password }) => <NewPassword value={password} />}
    >
      {(error) => (
        <>
          <TextInput name="name" label="Name" required maxLength={100} data-autofocus />
          <TextInput name="email" type="email" label="Email" required error={errorAt(error, 'email')} />
          <NativeSelect name="role" label="Role" data={role_options} defaultValue="operator" />
        </>
      )}
    </FormDialog>
  );
}

function NewPassword({ value }: { value: string }) {
  return (
    <>
      <Text size="sm">
        Send this temporary password to the operator, who changes it after signing in. It is not shown again.
      </Text>
      <Copyable label="password" value={value} />
    </>
  );
}
