import { Button, Group, Select, TextInput } from '@mantine/core';
import type { FormEvent } from 'react';
import { type JobFilter, job_filters, job_types } from '../../../../src/model/dashboard/jobWords.ts';
import { MomentInput } from '../../parts/MomentInput.tsx';
import { useAccountChoices } from '../../service/useAccountChoices.ts';
import { useAddressFilters } from '../../service/useAddressFilters.ts';

/** What stands in the address. */
export const filter_names = ['type', 'state', 'account_id', 'from', 'to'] as const;

const states: Record<JobFilter, string> = {
  queued: 'Queued',
  running: 'Running',
  parked: 'Waiting for re-linking',
  succeeded: 'Succeeded',
  partial: 'Partial',
  failed: 'Failed',
  needs_review: 'Needs review',
  unresolved: 'Needs review, unresolved',
};

export function JobFilters({ mrn, setMrn }: { mrn: string; setMrn: (mrn: string) => void }) {
  const { get, set, clear } = useAddressFilters();
  const accounts = useAccountChoices();
  const narrowed = mrn !== '' || filter_names.some((name) => get(name) !== '');
  return (
    <Group align="flex-end" mb="md" gap="sm">
      <Select
        label="What"
        placeholder="Everything"
        clearable
        w={190}
        data={Object.entries(job_types).map(([value, label]) => ({ value, label }))}
        value={get('type') || null}
        onChange={(value) => set('type', value ?? '')}
      />
      <Select
        label="State"
        placeholder="Any"
        clearable
        w={170}
        data={job_filters.map((value) => ({ value, label: states[value] }))}
        value={get('state') || null}
        onChange={(value) => set('state', value ?? '')}
      />
      <Select
        label="Account"
        placeholder="Any"
        clearable
        searchable
        w={200}
        data={accounts}
        value={get('account_id') || null}
        onChange={(value) => set('account_id', value ?? '')}
      />
      <MomentInput label="From" value={get('from')} choose={(moment) => set('from', moment)} />
      <MomentInput label="To" value={get('to')} choose={(moment) => set('to', moment)} />
      <PatientInput key={mrn} mrn={mrn} setMrn={setMrn} />
      {narrowed && (
        <Button
          variant="subtle"
          onClick={() => {
            setMrn('');
            clear();
          }}
        >
          Clear filters
        </Button>
      )}
    </Group>
  );
}

function PatientInput({ mrn, setMrn }: { mrn: string; setMrn: (mrn: string) => void }) {
  const find = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setMrn(String(new FormData(event.currentTarget).get('mrn') ?? '').trim());
  };
  return (
    <form onSubmit={find}>
      <Group align="flex-end" gap={4} wrap="nowrap">
        <TextInput
          label="Patient (exact MRN)"
          name="mrn"
          w={170}
          defaultValue={mrn}
          autoComplete="off"
          maxLength={200}
        />
        <Button type="submit" variant="default">
          Find
        </Button>
      </Group>
    </form>
  );
}
