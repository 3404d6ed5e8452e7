import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useState } from 'react';
import { Filters, MrnSearch, TextFilter } from '../../parts/lists/FilterBar.tsx';
import { useUrlFilters } from '../../service/useUrlFilters.ts';
import { useOrganization } from './organization.tsx';

const url_filters = ['start_date', 'end_date', 'provider_ids', 'coverage_status', 'status', 'claim_status'];

/** Filters that say nothing about a patient are in the URL. The MRN is not. */
export function useDateFilters({ today_first = false } = {}) {
  const { get } = useUrlFilters();
  const { timezone } = useOrganization().organization;
  const [mrn, setMrn] = useState('');
  const today = new Intl.DateTimeFormat('en-CA', { timeZone: timezone }).format(new Date());
  // Any choice of dates, and a patient, replaces today.
  const is_default = today_first && get('dates') === '' && !get('start_date') && !get('end_date') && mrn === '';
  const dates: { start_date: string; end_date: string } = is_default
    ? { start_date: today, end_date: today }
    : { start_date: get('start_date'), end_date: get('end_date') };
  const in_url = Object.fromEntries(url_filters.flatMap((name) => (get(name) ? [[name, get(name)]] : [])));
  const shown = is_default ? { ...in_url, ...dates } : in_url;
  const filters: Record<string, string> = mrn === '' ? shown : { ...shown, patient_mrn: mrn };
  // What the page chooses by itself is not counted.
  const used = Object.keys(in_url).length + (mrn === '' ? 0 : 1);
  return { filters, used, mrn, setMrn, dates, today: today_first ? today : undefined };
}

type Select = { name: string; label: string; options: { value: string; label: string }[] };
/** A filter whose values are not known in advance. `options` are suggestions. */
type Exact = { name: string; label: string; options: { value: string; label: string }[] };
type Props = { state: ReturnType<typeof useDateFilters>; selects?: readonly Select[]; exact?: readonly Exact[] };

export function DateFilters({ state, selects = [], exact = [] }: Props) {
  const { get, set, setAll, clear } = useUrlFilters();
  const { dates, today } = state;
  const setDate = (name: keyof typeof dates, value: string) => {
    const next = { ...dates, [name]: value };
    const reversed = next.start_date !== '' && next.end_date !== '' && next.end_date < next.start_date;
    // The other date does not fit anymore.
    if (reversed) next[name === 'start_date' ? 'end_date' : 'start_date'] = '';
    setAll({ ...next, dates: today === undefined ? '' : 'chosen' });
  };
  const onClear = () => {
    state.setMrn('');
    clear();
  };
  return (
    <Filters used={state.used} onClear={onClear}>
      {(['start_date', 'end_date'] as const).map((name) => (
        <TextInput
          key={name}
          type="date"
          label={name === 'start_date' ? 'From' : 'To'}
          value={dates[name]}
          onChange={(event) => setDate(name, event.currentTarget.value)}
          w={150}
        />
      ))}
      {today !== undefined && (
        <Button.Group>
          <Button variant="default" onClick={() => setAll({ start_date: '', end_date: '', dates: '' })}>
            Today
          </Button>
          <Button variant="default" onClick={() => setAll({ start_date: '', end_date: '', dates: 'chosen' })}>
            All dates
          </Button>
        </Button.Group>
      )}
      {selects.map(({ name, label, options }) => (
        <NativeSelect
          key={name}
          label={label}
          value={get(name)}
          data={[{ value: '', label: 'All' }, ...options]}
          onChange={(event) => set(name, event.currentTarget.value)}
        />
      ))}
      {exact.map(({ name, label, options }) => (
        <TextFilter
          key={name}
          label={label}
          value={get(name)}
          onChange={(value) => set(name, value)}
          suggestions={options}
        />
      ))}
      <MrnSearch mrn={state.mrn} setMrn={state.setMrn} />
    </Filters>
  );
}
