import {
  Autocomplete,
  Button,
  Group,
  Loader,
  NumberInput,
  Select,
  TagsInput,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery as useReactQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { fieldLabel } from '../../parts/labels.ts';
import { call } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import type { EditField } from './editForm.ts';
import { referenceLabel } from './labels.ts';

type Props = {
  field: EditField;
  job_id: number;
  emr: string;
  value: string | string[];
  onChange: (value: string | string[]) => void;
  error: string | undefined;
  /** The whole request, on which the choices of a field may depend. */
  readRequest: () => Record<string, unknown>;
};

/** The input of a field, chosen by its schema. */
export function EditInput(props: Props) {
  const { field, value, onChange, error } = props;
  const { name, input, description, required, max_length, accepted, cleared } = field;
  const label = field.searchable ? referenceLabel(name) : fieldLabel(name);
  // What an ID is need not be explained where its record is chosen by name.
  const explained = (field.searchable && field.instead_of.length === 0) || description === label;
  const own = {
    label,
    description: explained ? undefined : description || undefined,
    withAsterisk: required,
    error,
    ...(cleared && { placeholder: 'Cleared in the EMR' }),
    ...(max_length !== null && { maxLength: max_length }),
  };
  if (typeof value !== 'string') {
    return <TagsInput {...own} value={value} onChange={onChange} />;
  }
  if (accepted.length > 0) return <AcceptedInput {...props} value={value} own={own} />;
  if (field.searchable) return <RecordInput {...props} value={value} own={own} />;
  if (input === 'choice' || input === 'boolean') {
    return (
      <Select
        {...own}
        data={field.choices}
        value={value === '' ? null : value}
        onChange={(next) => onChange(next ?? '')}
        clearable={!required}
        placeholder="Not sent"
      />
    );
  }
  if (input === 'number') {
    return <NumberInput {...own} value={value} onChange={(next) => onChange(String(next))} hideControls />;
  }
  if (input === 'date') {
    return <TextInput {...own} type="date" value={value} onChange={(event) => onChange(event.currentTarget.value)} />;
  }
  return (
    <Textarea
      {...own}
      autosize
      minRows={1}
      maxRows={12}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      {...(input === 'json' && { styles: { input: { fontFamily: 'var(--mantine-font-family-monospace)' } } })}
    />
  );
}

type OwnProps = Props & {
  value: string;
  own: { label: string; description?: string | undefined; error?: string | undefined };
};

/** How many of the EMR's values have a button of their own. */
const buttons_max = 8;

/** A field whose valid values the EMR named when it rejected the request. */
function AcceptedInput({ field: { accepted }, emr, value, onChange, own }: OwnProps) {
  return (
    <div>
      <Autocomplete
        {...own}
        description={`${emr} accepts the values below`}
        data={accepted}
        value={value}
        onChange={onChange}
      />
      <Group gap={6} mt={6} role="group" aria-label={`Values that ${emr} accepts`}>
        {accepted.slice(0, buttons_max).map((each) => (
          <Button
            key={each}
            size="compact-xs"
            variant={each === value ? 'filled' : 'light'}
            aria-pressed={each === value}
            onClick={() => onChange(each)}
          >
            {each}
          </Button>
        ))}
      </Group>
    </div>
  );
}

/** A field that names a record or code of the practice, or a free time. What is typed can be used as well. */
function RecordInput({ field, job_id, value, onChange, own, readRequest }: OwnProps) {
  const { client_id } = useClient();
  const [search, setSearch] = useState('');
  const [opened, setOpened] = useState(false);
  const [chosen, setChosen] = useState(field.names);
  const [searched] = useDebouncedValue(search, 250);
  const labels = new Map(chosen.map((each) => [each.value, toLabel(each)]));
  // The text of the selected option is not a search.
  const wanted = [...labels.values()].includes(searched) ? '' : searched.slice(0, 100);
  const { data, isFetching } = useReactQuery({
    queryKey: ['edit-choices', job_id, field.name, wanted, opened && JSON.stringify(readRequest())],
    queryFn: () =>
      call(
        'jobs.edit.choices',
        { client_id, job_id: String(job_id) },
        {
          body: { field: field.name, search: wanted, request: readRequest() },
          background: true,
        },
      ),
    enabled: opened,
    retry: false,
  });
  const choices = data?.choices ?? [];
  const options = choices.map((each) => ({ value: each.value, label: toLabel(each) }));
  const current =
    value === '' || options.some((each) => each.value === value) ? [] : [{ value, label: labels.get(value) ?? value }];
  const typed =
    wanted === '' || options.length > 0 || wanted === value ? [] : [{ value: wanted, label: `Use “${wanted}”` }];
  return (
    <Select
      {...own}
      searchable
      clearable
      data={[...current, ...options, ...typed]}
      // The service has searched.
      filter={({ options: all }) => all}
      value={value === '' ? null : value}
      onChange={(next) => {
        const named = choices.find((each) => each.value === next);
        if (named) setChosen([...chosen, named]);
        onChange(next ?? '');
      }}
      onSearchChange={setSearch}
      onDropdownOpen={() => setOpened(true)}
      onDropdownClose={() => setOpened(false)}
      nothingFoundMessage={isFetching ? 'Searching…' : 'Nothing found'}
      placeholder={field.cleared ? 'Cleared in the EMR' : 'Not sent'}
      rightSection={isFetching ? <Loader size={14} /> : undefined}
    />
  );
}

function toLabel({ value, label }: { value: string; label: string }): string {
  // Of a time, the label says all.
  return /^\d{4}-\d\d-\d\dT/.test(value) || label === value ? label : `${label} (${value})`;
}
