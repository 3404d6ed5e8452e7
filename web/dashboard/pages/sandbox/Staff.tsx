import { Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { ActionButton } from '../../parts/forms/ActionButton.tsx';
import { type Column, DataTable } from '../../parts/lists/DataTable.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Copyable } from '../../parts/values.tsx';
import { call } from '../../service/api.ts';
import type { SandboxState } from '../../service/types.ts';

type Person = SandboxState['staff'][number];

/** The practice's users with their current one-time codes. */
export function Staff(props: { state: SandboxState; fetched_at: number; editable: boolean }) {
  const { staff, seconds_left } = props.state;
  const remaining = useSecondsLeft(seconds_left, props.fetched_at);
  return (
    <>
      <Text size="sm" mb="xs">
        Synthetic staff for signing in to Larkspur and in Link. Each sign-in needs the current one-time code; the next
        one comes in {remaining} s.
      </Text>
      <DataTable
        label="Practice staff"
        rows={staff}
        columns={props.editable ? [...columns, actions] : columns}
        rowKey={(person) => person.user_name}
        empty="The practice has no staff. Reset its data."
      />
    </>
  );
}

function useSecondsLeft(seconds_left: number, fetched_at: number): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return Math.max(0, seconds_left - Math.max(0, Math.round((now - fetched_at) / 1_000)));
}

const columns: Column<Person>[] = [
  { head: 'Username', cell: (person) => person.user_name },
  { head: 'Role', cell: (person) => person.role },
  {
    head: 'Password',
    cell: ({ user_name, password }) => <Copyable value={password} label={`password of ${user_name}`} />,
    phone: 'line',
  },
  {
    head: 'One-time code',
    cell: ({ user_name, code }) => <Copyable value={code} label={`one-time code of ${user_name}`} />,
    phone: 'line',
  },
  {
    head: 'Locked',
    cell: (person) =>
      person.locked_until ? (
        <>
          Until <Timestamp at={person.locked_until} show="clock" />
        </>
      ) : (
        'No'
      ),
  },
];

const actions: Column<Person> = {
  head: 'Actions',
  cell: ({ user_name, locked_until }) => (
    <ActionButton
      action={() => call('sandbox.lockouts.set', {}, { body: { user_name, locked: locked_until === null } })}
    >
      {locked_until === null ? 'Lock' : 'Unlock'}
    </ActionButton>
  ),
};
