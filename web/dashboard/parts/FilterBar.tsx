import { Button, Group, NativeSelect, Select, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import type { FormEvent, ReactNode } from 'react';
import { useUrlFilters } from '../service/useUrlFilters.ts';
import { TimestampInput } from './Timestamp.tsx';

/** A filter that is kept in the URL. */
export type Filter = {
  name: string;
  label: string;
  /** With options it is a select, else an input of this type. */
  options?: readonly { value: string; label: string }[];
  type?: 'text' | 'time' | 'number' | 'date';
  /** Lets people type to find one of many options. */
  searchable?: true;
};

/** The values of these filters in the URL; times are in UTC. */
export function useFilters(filters: readonly Filter[]): Record<string, string> {
  const { get } = useUrlFilters();
  return Object.fromEntries(filters.map(({ name }) => [name, get(name)]));
}

/** Filters in the URL. Children are filters that must not be in it. */
export function FilterBar({ filters, children }: { filters: readonly Filter[]; children?: ReactNode }) {
  const { get, set } = useUrlFilters();
  // Not one request per keystroke.
  const setSoon = useDebouncedCallback(set, 300);
  return (
    <Group gap="sm" align="flex-end" mb="md" role="search" className="filters">
      {filters.map(({ name, label, options, searchable, type = 'text' }) => {
        if (options && searchable) {
          return (
            <Select
              key={name}
              label={label}
              placeholder="All"
              searchable
              clearable
              w={300}
              data={[...options]}
              value={get(name) || null}
              onChange={(value) => set(name, value ?? '')}
            />
          );
        }
        if (options) {
          return (
            <NativeSelect
              key={name}
              label={label}
              data={[{ value: '', label: 'All' }, ...options]}
              value={get(name)}
              onChange={(event) => set(name, event.currentTarget.value)}
            />
          );
        }
        if (type === 'time') {
          return <TimestampInput key={name} label={label} value={get(name)} onChange={(time) => set(name, time)} />;
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
      {children}
    </Group>
  );
}

/** Searches by MRN. */
export function MrnSearch({ mrn, setMrn }: { mrn: string; setMrn: (mrn: string) => void }) {
  return <PrivateSearch label="Patient MRN" name="mrn" maxLength={200} value={mrn} setValue={setMrn} />;
}

type PrivateSearchProps = {
  label: string;
  name: string;
  maxLength: number;
  value: string;
  setValue: (value: string) => void;
};

/** Searches by a value that may be health data and is therefore never in the URL. */
export function PrivateSearch({ label, name, maxLength, value, setValue }: PrivateSearchProps) {
  const onSubmit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setValue(String(new FormData(event.currentTarget).get(name) ?? '').trim());
  };
  return (
    <form onSubmit={onSubmit}>
      <Group align="flex-end" gap={4} wrap="nowrap">
        <TextInput label={label} name={name} w={150} defaultValue={value} autoComplete="off" maxLength={maxLength} />
        <Button type="submit" variant="default" aria-label={`Search by ${label}`}>
          Search
        </Button>
      </Group>
    </form>
  );
}
