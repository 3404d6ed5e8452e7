import { TextInput } from '@mantine/core';
import { fromLocal, toLocal } from './localTime.ts';

type Shape = { label: string; value: string; choose: (moment: string) => void };

/** A moment in the reader's zone; what is given on is UTC, or nothing. */
export function MomentInput({ label, value, choose }: Shape) {
  return (
    <TextInput
      label={label}
      type="datetime-local"
      w={205}
      value={toLocal(value)}
      onChange={({ currentTarget }) => choose(fromLocal(currentTarget.value))}
    />
  );
}
