import { NativeSelect, TextInput } from '@mantine/core';
import { useState } from 'react';
import { Filters, MrnSearch } from '../../parts/FilterBar.tsx';
import { useUrlFilters } from '../../service/useUrlFilters.ts';

const url_filters = ['start_date', 'end_date', 'provider_ids', 'coverage_status', 'status'];

/** Filters that say nothing about a patient are in the URL. The MRN is not. */
export function useDateFilters() {
  const { get } = useUrlFilters();
  const [mrn, setMrn] = useState('');
  const in_url = Object.fromEntries(url_filters.flatMap((name) => (get(name) ? [[name, get(name)]] : [])));
  const filters: Record<string, string> = mrn === '' ? in_url : { ...in_url, patient_mrn: mrn };
  return { filters, mrn, setMrn };
}

type Select = { name: string; label: string; options: { value: string; label: string }[] };
type Props = { state: ReturnType<typeof useDateFilters>; selects?: readonly Select[] };

export function DateFilters({ state, selects = [] }: Props) {
  const { get, set, clear } = useUrlFilters();
  const onClear = () => {
    state.setMrn('');
    clear();
  };
  return (
    <Filters used={Object.keys(state.filters).length} onClear={onClear}>
      {(['start_date', 'end_date'] as const).map((name) => (
        <TextInput
          key={name}
          type="date"
          label={name === 'start_date' ? 'From' : 'To'}
          value={get(name)}
          onChange={(event) => set(name, event.currentTarget.value)}
          w={150}
        />
      ))}
      {selects.map(({ name, label, options }) => (
        <NativeSelect
          key={name}
          label={label}
          value={get(name)}
          data={[{ value: '', label: 'All' }, ...options]}
          onChange={(event) => set(name, event.currentTarget.value)}
        />
      ))}
      <MrnSearch mrn={state.mrn} setMrn={state.setMrn} />
    </Filters>
  );
}
