import { Button, Group, NativeSelect, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Choices, DraftRange } from './draft.ts';
import { type Faults, inputId } from './faults.ts';
import { RangeDetails } from './RangeDetails.tsx';

/** One range of a day: from, to, where; the rest behind a button that says whether there is any. */
export function RangeRow({
  name,
  range,
  choices,
  editable,
  faults,
  onChange,
  onRemove,
}: {
  name: string;
  range: DraftRange;
  choices: Choices;
  editable: boolean;
  faults: Faults;
  onChange: (range: DraftRange) => void;
  onRemove: () => void;
}) {
  const inside = detailIds(range).some((id) => faults[id] !== undefined);
  const [opened, setOpened] = useState(false);
  const open = opened || inside;
  return (
    <fieldset className="range" disabled={!editable}>
      <legend className="unseen">{name}</legend>
      <Group gap="xs" align="flex-start">
        {(['start', 'end'] as const).map((field) => (
          <TextInput
            key={field}
            id={inputId(range.key, field)}
            type="time"
            size="xs"
            aria-label={`${name}, ${field === 'start' ? 'from' : 'to'}`}
            value={range[field]}
            error={faults[inputId(range.key, field)]}
            onChange={(event) => onChange({ ...range, [field]: event.currentTarget.value })}
            w={114}
          />
        ))}
        <NativeSelect
          id={inputId(range.key, 'facility_id')}
          size="xs"
          aria-label={`${name}, location`}
          value={range.facility_id}
          data={withOwn([{ value: '', label: 'No location' }, ...choices.locations], range.facility_id)}
          onChange={(event) => onChange({ ...range, facility_id: event.currentTarget.value })}
          w={172}
        />
        <Button
          size="compact-xs"
          mt={5}
          variant="subtle"
          aria-expanded={open}
          aria-label={`${name}, details`}
          onClick={() => setOpened(!open)}
        >
          Details
        </Button>
        {editable && (
          <Button
            size="compact-xs"
            mt={5}
            variant="subtle"
            color="red"
            aria-label={`Remove ${name}`}
            onClick={onRemove}
          >
            Remove
          </Button>
        )}
      </Group>
      {!open && <Summary range={range} />}
      {open && <RangeDetails name={name} range={range} choices={choices} faults={faults} onChange={onChange} />}
    </fieldset>
  );
}

/** A value that is not among the choices any more is still what holds. */
function withOwn(choices: { value: string; label: string }[], own: string) {
  return choices.some(({ value }) => value === own) ? choices : [...choices, { value: own, label: own }];
}

function Summary({ range }: { range: DraftRange }) {
  const said = [
    range.description,
    range.every_unit === '' ? '' : `every ${range.every} ${range.every_unit}`,
    range.last_day === '' ? '' : `until ${range.last_day}`,
    range.quotas.length === 0 ? '' : range.quotas.length === 1 ? '1 quota' : `${range.quotas.length} quotas`,
  ].filter((part) => part !== '');
  if (said.length === 0) return null;
  return (
    <Text size="xs" c="dimmed" mt={2}>
      {said.join(' · ')}
    </Text>
  );
}

function detailIds(range: DraftRange): string[] {
  const own = [
    'set_start_date',
    'set_end_date',
    'set_description',
    'recur_interval_amount',
    'rec_start_date',
    'rec_end_date',
  ];
  const of_quota = ['start_time', 'end_time', 'total_visits', 'visit_type_id'];
  return [
    ...own.map((field) => inputId(range.key, field)),
    ...range.quotas.flatMap((quota) => of_quota.map((field) => inputId(quota.key, field))),
  ];
}
