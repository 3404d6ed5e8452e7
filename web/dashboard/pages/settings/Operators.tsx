import { Group, NativeSelect, Text, TextInput } from '@mantine/core';
import type { OperatorRow } from '../../../../src/model/dashboard/settings.ts';
import { ActButton } from '../../parts/ActButton.tsx';
import { Answer } from '../../parts/Answer.tsx';
import { Copyable } from '../../parts/Copyable.tsx';
import { Dialog } from '../../parts/Dialog.tsx';
import { Moment } from '../../parts/Moment.tsx';
import { type Column, Rows } from '../../parts/Rows.tsx';
import { Status } from '../../parts/Status.tsx';
import { ask } from '../../service/ask.ts';
import { useSession } from '../../service/session.tsx';
import { useAct, useAnswer } from '../../service/useService.ts';

const names = { read_only: 'Read only', operator: 'Operator', owner: 'Owner' };
const roles = [
  { value: 'read_only', label: 'Read only: looks' },
  { value: 'operator', label: 'Operator: looks and acts' },
  { value: 'owner', label: 'Owner: also decides about keys and people' },
];

const columns: Column<OperatorRow>[] = [
  { head: 'Name', cell: (operator) => operator.name || '–' },
  { head: 'E-mail', cell: (operator) => operator.email },
  { head: 'Role', cell: (operator) => <Role of={operator} /> },
  { head: 'Second factor', cell: (operator) => (operator.totp ? 'On' : 'Off') },
  { head: 'State', cell: (operator) => <Status of={operator.disabled ? 'disabled' : 'active'} /> },
  { head: 'Last seen', cell: (operator) => <Moment at={operator.seen_at} /> },
  { head: 'Actions', cell: (operator) => <Actions of={operator} /> },
];

export function Operators() {
  const { may } = useSession();
  const operators = useAnswer<{ operators: OperatorRow[] }>('operators');
  return (
    <>
      <Group justify="space-between" mb="sm">
        <Text c="dimmed" size="sm">
          People who run this installation. Everything they do is in the audit trail.
        </Text>
        {may('owner') && <NewOperator />}
      </Group>
      <Answer to={operators}>
        {(answer) => (
          <Rows
            label="Operators"
            rows={answer.operators}
            columns={columns}
            keyOf={(operator) => operator.id}
            empty="There is nobody."
          />
        )}
      </Answer>
    </>
  );
}

function Role({ of }: { of: OperatorRow }) {
  const { may, operator } = useSession();
  const change = useAct<string>((role) => ask(`operators/${of.id}`, { method: 'PATCH', body: { role } }));
  if (!may('owner') || of.id === operator.id) return names[of.role];
  return (
    <NativeSelect
      aria-label={`Role of ${of.email}`}
      size="xs"
      data={Object.entries(names).map(([value, label]) => ({ value, label }))}
      value={of.role}
      disabled={change.isPending}
      onChange={(event) => change.mutate(event.currentTarget.value)}
      error={change.error?.message}
    />
  );
}

function Actions({ of }: { of: OperatorRow }) {
  const { may, operator } = useSession();
  if (!may('owner') || of.id === operator.id) return null;
  return (
    <Group gap="xs" wrap="nowrap">
      <ActButton act={() => ask(`operators/${of.id}`, { method: 'PATCH', body: { disabled: !of.disabled } })}>
        {of.disabled ? 'Let in again' : 'Shut out'}
      </ActButton>
      <Dialog
        opener="New password"
        title={`A new password for ${of.email}?`}
        submit="Make one"
        act={() => ask<{ password: string }>(`operators/${of.id}/reset`, { method: 'POST' })}
        done={({ password }) => <Password value={password} />}
      >
        <Text size="sm">The old password and the second factor end, and every open session with them.</Text>
      </Dialog>
    </Group>
  );
}

function NewOperator() {
  return (
    <Dialog
      opener="Add an operator"
      title="Add an operator"
      submit="Add"
      act={(typed) => ask<{ password: string }>('operators', { method: 'POST', body: Object.fromEntries(typed) })}
      done={({ password }) => <Password value={password} />}
    >
      {(problem) => (
        <>
          <TextInput name="name" label="Name" required maxLength={100} data-autofocus />
          <TextInput
            name="email"
            type="email"
            label="E-mail"
            required
            error={problem?.field === 'email' && problem.message}
          />
          <NativeSelect name="role" label="Role" data={roles} defaultValue="operator" />
        </>
      )}
    </Dialog>
  );
}

function Password({ value }: { value: string }) {
  return (
    <>
      <Text size="sm">Tell it to the person, who changes it after signing in. It is not shown again.</Text>
      <Copyable label="password" value={value} />
    </>
  );
}
