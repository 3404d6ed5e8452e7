import { Group, NativeSelect, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useAddressFilters } from '../service/useAddressFilters.ts';
import { MomentInput } from './MomentInput.tsx';

/** A filter that may stand in the address, so that a look can be kept and sent on. */
export type Filter = {
  name: string;
  label: string;
  /** With choices it is chosen, else typed. */
  choices?: readonly { value: string; label: string }[];
  type?: 'text' | 'moment' | 'number';
};

/** What the address says of these filters; moments stand there in UTC. */
export function useFilters(filters: readonly Filter[]): Record<string, string> {
  const { get } = useAddressFilters();
  return Object.fromEntries(filters.map(({ name }) => [name, get(name)]));
}

export function FilterBar({ filters }: { filters: readonly Filter[] }) {
  const { get, set } = useAddressFilters();
  // While somebody types, the list is not asked for at every letter.
  const setSoon = useDebouncedCallback(set, 300);
  return (
    <Group gap="sm" align="flex-end" mb="md" role="search">
      {filters.map(({ name, label, choices, type = 'text' }) => {
        if (choices) {
          return (
            <NativeSelect
              key={name}
              label={label}
              data={[{ value: '', label: 'All' }, ...choices]}
              value={get(name)}
              onChange={(event) => set(name, event.currentTarget.value)}
            />
          );
        }
        if (type === 'moment') {
          return <MomentInput key={name} label={label} value={get(name)} choose={(moment) => set(name, moment)} />;
        }
        return (
          <TextInput
            key={name}
            label={label}
            type={type}
            defaultValue={get(name)}
            onChange={(event) => setSoon(name, event.currentTarget.value.trim())}
          />
        );
      })}
    </Group>
  );
}
