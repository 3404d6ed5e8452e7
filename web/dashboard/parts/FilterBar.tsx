import { Group, NativeSelect, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useSearchParams } from 'wouter';

/** A filter that may stand in the address, so that a look can be kept and sent on. */
export type Filter = {
  name: string;
  label: string;
  /** With choices it is chosen, else typed. */
  choices?: readonly { value: string; label: string }[];
  type?: 'text' | 'datetime-local' | 'number';
};

/** What the address says of these filters; empty ones are absent. Local times become instants. */
export function useFilters(filters: readonly Filter[]): Record<string, string | undefined> {
  const [params] = useSearchParams();
  return Object.fromEntries(
    filters.map(({ name, type }) => {
      const text = params.get(name) || undefined;
      return [name, type === 'datetime-local' && text ? instantOf(text) : text];
    }),
  );
}

export function FilterBar({ filters }: { filters: readonly Filter[] }) {
  const [params, setParams] = useSearchParams();
  const set = (name: string, value: string) =>
    setParams(
      (before) => {
        if (value) before.set(name, value);
        else before.delete(name);
        return before;
      },
      { replace: true },
    );
  // While somebody types, the list is not asked for at every letter.
  const setSoon = useDebouncedCallback(set, 300);
  return (
    <Group gap="sm" align="flex-end" mb="md" role="search">
      {filters.map(({ name, label, choices, type = 'text' }) =>
        choices ? (
          <NativeSelect
            key={name}
            label={label}
            data={[{ value: '', label: 'All' }, ...choices]}
            value={params.get(name) ?? ''}
            onChange={(event) => set(name, event.currentTarget.value)}
          />
        ) : (
          <TextInput
            key={name}
            label={label}
            type={type}
            defaultValue={params.get(name) ?? ''}
            onChange={(event) => setSoon(name, event.currentTarget.value.trim())}
          />
        ),
      )}
    </Group>
  );
}

function instantOf(local: string): string | undefined {
  const moment = new Date(local);
  return Number.isNaN(moment.getTime()) ? undefined : moment.toISOString();
}
