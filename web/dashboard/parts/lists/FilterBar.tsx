import { Button, Kbd, NativeSelect, Select, TextInput } from '@mantine/core';
import { useDisclosure, useId } from '@mantine/hooks';
import { type KeyboardEvent, type ReactNode, useState } from 'react';
import { useUrlFilters } from '../../service/useUrlFilters.ts';
import { Icon } from '../Icon.tsx';
import { TimestampInput } from '../Timestamp.tsx';

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

/**
 * The filters of a list. On a phone they are behind a button, which says how many are used. Selects apply at once, text
 * on Enter or when its field is left, see TextFilter.
 */
export function Filters({
  used,
  onClear,
  children,
}: {
  /** How many filters are used. */
  used: number;
  onClear: () => void;
  children: ReactNode;
}) {
  const [shown, { toggle }] = useDisclosure();
  return (
    <search className={shown ? 'filters' : 'filters folded'}>
      <Button
        className="filters-opener"
        variant="default"
        hiddenFrom="sm"
        aria-expanded={shown}
        leftSection={<Icon name="settings" size={16} />}
        onClick={toggle}
      >
        {used === 0 ? 'Filter' : `Filter · ${used}`}
      </Button>
      {children}
      {used > 0 && (
        <Button variant="subtle" px="xs" leftSection={<Icon name="cross" size={14} />} onClick={onClear}>
          Clear filters
        </Button>
      )}
    </search>
  );
}

/** Filters in the URL. Children are other filters; `used` says how many of them are used. */
export function FilterBar({
  filters,
  children,
  used = 0,
  onClear,
}: {
  filters: readonly Filter[];
  children?: ReactNode;
  used?: number;
  /** Called when all filters are cleared, in addition to those in the URL. */
  onClear?: () => void;
}) {
  const { get, set, clear } = useUrlFilters();
  const used_here = filters.filter(({ name }) => get(name) !== '').length;
  const clearAll = () => {
    clear();
    onClear?.();
  };
  return (
    <Filters used={used_here + used} onClear={clearAll}>
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
          <TextFilter key={name} label={label} type={type} value={get(name)} onChange={(value) => set(name, value)} />
        );
      })}
      {children}
    </Filters>
  );
}

type TextFilterProps = {
  label: string;
  value: string;
  onChange: (value: string) => void;
  type?: 'text' | 'number' | 'date' | 'tel';
  maxLength?: number;
  width?: number;
  /** Values that are offered while typing. */
  suggestions?: readonly { value: string; label: string }[];
};

/** Applies what was typed on Enter, or when the field is left: searches for patients are in the audit log. */
export function TextFilter({
  label,
  value,
  onChange,
  type = 'text',
  maxLength = 200,
  width = type === 'date' ? 150 : 130,
  suggestions = [],
}: TextFilterProps) {
  const list_id = useId();
  const [draft, setDraft] = useState(value);
  const [applied, setApplied] = useState(value);
  // Cleared, or changed by the page.
  if (applied !== value) {
    setApplied(value);
    setDraft(value);
  }
  const apply = () => {
    const text = draft.trim();
    setApplied(text);
    if (text !== value) onChange(text);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter') apply();
    if (event.key === 'Escape') setDraft(value);
  };
  return (
    <TextInput
      label={label}
      type={type}
      w={width}
      {...(suggestions.length > 0 && { list: list_id })}
      autoComplete="off"
      enterKeyHint="search"
      maxLength={maxLength}
      value={draft}
      rightSection={draft.trim() !== value && <Kbd size="xs">Enter</Kbd>}
      rightSectionWidth={draft.trim() !== value ? 56 : 0}
      onChange={({ currentTarget }) => setDraft(currentTarget.value)}
      onKeyDown={onKeyDown}
      onBlur={apply}
      inputContainer={(input) => (
        <>
          {input}
          {suggestions.length > 0 && (
            <datalist id={list_id}>
              {suggestions.map((each) => (
                <option key={each.value} value={each.value}>
                  {each.label}
                </option>
              ))}
            </datalist>
          )}
        </>
      )}
    />
  );
}

/** Searches by MRN, which is never in the URL. */
export function MrnSearch({ mrn, setMrn }: { mrn: string; setMrn: (mrn: string) => void }) {
  return <TextFilter label="Patient MRN" value={mrn} onChange={setMrn} />;
}
