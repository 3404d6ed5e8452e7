import { Code, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import type { SandboxState } from '../../../../src/model/dashboard/sandbox.ts';
import { ActButton } from '../../parts/ActButton.tsx';
import { Moment } from '../../parts/Moment.tsx';
import { type Column, Rows } from '../../parts/Rows.tsx';
import { ask } from '../../service/ask.ts';

type Person = SandboxState['staff'][number];

/** Who may sign in at the clinic, with the code that is good now. */
export function Staff({
  state,
  fetched_at,
  may_change,
}: {
  state: SandboxState;
  fetched_at: number;
  may_change: boolean;
}) {
  const left = useSecondsLeft(state.seconds_left, fetched_at);
  return (
    <>
      <Text size="sm" mb="xs">
        The clinic asks for a one-time code with each new sign-in; the passwords are in the file sandbox.json of the
        data folder. New codes in {left} s.
      </Text>
      <Rows
        label="Staff of the clinic"
        rows={state.staff}
        columns={may_change ? [...columns, locking] : columns}
        keyOf={(person) => person.user_name}
        empty="The clinic has no staff. Reset the practice."
      />
    </>
  );
}

function useSecondsLeft(seconds_left: number, fetched_at: number): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const beat = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(beat);
  }, []);
  return Math.max(0, seconds_left - Math.max(0, Math.round((now - fetched_at) / 1_000)));
}

const columns: Column<Person>[] = [
  { head: 'User name', cell: (person) => person.user_name },
  { head: 'Role', cell: (person) => person.role },
  { head: 'Code', cell: (person) => <Code>{person.code}</Code> },
  {
    head: 'Locked out',
    cell: (person) =>
      person.locked_until ? (
        <>
          Until <Moment at={person.locked_until} />
        </>
      ) : (
        'No'
      ),
  },
];

const locking: Column<Person> = {
  head: 'Actions',
  cell: ({ user_name, locked_until }) => (
    <ActButton
      act={() => ask('sandbox/lockouts', { method: 'POST', body: { user_name, locked: locked_until === null } })}
    >
      {locked_until === null ? 'Lock out' : 'Let in'}
    </ActButton>
  ),
};
