import { Button, Group, NativeSelect, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useAddressFilters } from '../../service/useAddressFilters.ts';

/** The filters that may stand in an address; whatever else stands there is not asked for. */
const names = ['start_date', 'end_date', 'provider_ehr_id'];

type Choice = { name: string; label: string; options: { value: string; label: string }[] };

/**
 * The filters of a list by days. Those that say nothing of a patient stand in the address; the MRN does not, and is
 * asked when it is sent.
 */
export function useDayFilters() {
  const { get } = useAddressFilters();
  const [mrn, setMrn] = useState('');
  const asked = names.flatMap((name) => (get(name) ? [[name, get(name)]] : []));
  return {
    search: { ...Object.fromEntries(asked), ...(mrn === '' ? {} : { patient_mrn: mrn }) },
    mrn,
    setMrn,
    narrowed: asked.length > 0 || mrn !== '',
  };
}

export function DayFilters({ filters, choice }: { filters: ReturnType<typeof useDayFilters>; choice?: Choice }) {
  const { get, set } = useAddressFilters();
  return (
    <form
      autoComplete="off"
      onSubmit={(event) => {
        event.preventDefault();
        filters.setMrn(String(new FormData(event.currentTarget).get('mrn') ?? '').trim());
      }}
    >
      <Group align="flex-end" mb="md" gap="sm">
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
        {choice && (
          <NativeSelect
            label={choice.label}
            value={get(choice.name)}
            data={[{ value: '', label: 'Any' }, ...choice.options]}
            onChange={(event) => set(choice.name, event.currentTarget.value)}
          />
        )}
        <TextInput name="mrn" label="Patient’s MRN" defaultValue={filters.mrn} w={150} />
        <Button type="submit">Search</Button>
      </Group>
    </form>
  );
}
