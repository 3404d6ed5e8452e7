import { Button, Group, Select, TextInput } from '@mantine/core';
import type { FormEvent } from 'react';
import { useSearchParams } from 'wouter';
import type { OrganisationRow } from '../../../../src/model/dashboard/accounts.ts';
import { type JobFilter, job_filters, job_types } from '../../../../src/model/dashboard/jobWords.ts';
import { useClient } from '../../service/client.tsx';
import { useAnswer } from '../../service/useService.ts';

/** What stands in the address. */
export const filter_names = ['type', 'state', 'account_id', 'from', 'to'] as const;
type FilterName = (typeof filter_names)[number];

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
  const [params, setParams] = useSearchParams();
  const set = (name: FilterName, value: string | null) =>
    setParams(
      (before) => {
        const after = new URLSearchParams(before);
        if (value) after.set(name, value);
        else after.delete(name);
        return after;
      },
      { replace: true },
    );
  const clear = () => {
    setMrn('');
    setParams({}, { replace: true });
  };
  const narrowed = mrn !== '' || filter_names.some((name) => params.has(name));
  return (
    <Group align="flex-end" mb="md" gap="sm">
      <Select
        label="What"
        placeholder="Everything"
        clearable
        w={190}
        data={Object.entries(job_types).map(([value, label]) => ({ value, label }))}
        value={params.get('type')}
        onChange={(value) => set('type', value)}
      />
      <Select
        label="State"
        placeholder="Any"
        clearable
        w={170}
        data={job_filters.map((value) => ({ value, label: states[value] }))}
        value={params.get('state')}
        onChange={(value) => set('state', value)}
      />
      <AccountChoice value={params.get('account_id')} choose={(value) => set('account_id', value)} />
      <TimeInput label="From" value={params.get('from')} choose={(value) => set('from', value)} />
      <TimeInput label="To" value={params.get('to')} choose={(value) => set('to', value)} />
      <PatientInput key={mrn} mrn={mrn} setMrn={setMrn} />
      {narrowed && (
        <Button variant="subtle" onClick={clear}>
          Clear filters
        </Button>
      )}
    </Group>
  );
}

function AccountChoice({ value, choose }: { value: string | null; choose: (value: string | null) => void }) {
  const { of } = useClient();
  const accounts = useAnswer<{ organisations: OrganisationRow[] }>(of('accounts'), { live: ['accounts'] });
  const data = (accounts.data?.organisations ?? []).flatMap(({ org_id, accounts }) =>
    accounts.map(({ id, user_id }) => ({ value: id, label: `${user_id} · ${org_id}` })),
  );
  return (
    <Select
      label="Account"
      placeholder="Any"
      clearable
      searchable
      w={200}
      data={data}
      value={value}
      onChange={choose}
    />
  );
}

/** A moment in the reader's zone; in the address it stands in UTC. */
function TimeInput({
  label,
  value,
  choose,
}: {
  label: string;
  value: string | null;
  choose: (value: string | null) => void;
}) {
  return (
    <TextInput
      label={label}
      type="datetime-local"
      w={205}
      value={value ? localOf(value) : ''}
      onChange={({ currentTarget }) =>
        choose(currentTarget.value === '' ? null : new Date(currentTarget.value).toISOString())
      }
    />
  );
}

/** As the browser's input takes it: local time without a zone. */
function localOf(iso: string): string {
  const at = new Date(iso);
  return Number.isNaN(at.getTime())
    ? ''
    : new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
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
