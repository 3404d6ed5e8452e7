import { Button, Group, NativeSelect, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { DraftRange } from './draft.ts';
import { RangeDetails } from './RangeDetails.tsx';
import type { Options } from './useOptions.ts';
import { type Errors, inputId } from './validation.ts';

/** One range of a day: start, end and location, with the rest under Details. */
export function RangeRow({
  name,
  range,
  options,
  editable,
  errors,
  onChange,
  onRemove,
}: {
  name: string;
  range: DraftRange;
  options: Options;
  editable: boolean;
  errors: Errors;
  onChange: (range: DraftRange) => void;
  onRemove: () => void;
}) {
  const error_inside = detailIds(range).some((id) => errors[id] !== undefined);
  const [opened, setOpened] = useState(false);
  const open = opened || error_inside;
  return (
    <fieldset className="range" disabled={!editable}>
      <legend className="visually-hidden">{name}</legend>
      <Group gap="xs" align="flex-start">
        {(['start', 'end'] as const).map((field) => (
          <TextInput
            key={field}
            id={inputId(range.key, field)}
            type="time"
            size="xs"
            aria-label={`${name}, ${field === 'start' ? 'from' : 'to'}`}
            value={range[field]}
            error={errors[inputId(range.key, field)]}
            onChange={(event) => onChange({ ...range, [field]: event.currentTarget.value })}
            w={114}
          />
        ))}
        <NativeSelect
          id={inputId(range.key, 'facility_id')}
          size="xs"
          aria-label={`${name}, location`}
          value={range.facility_id}
          data={withCurrent([{ value: '', label: 'No location' }, ...options.locations], range.facility_id)}
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
      {open && <RangeDetails name={name} range={range} options={options} errors={errors} onChange={onChange} />}
    </fieldset>
  );
}

/** The current value stays an option even if the EMR no longer has it. */
function withCurrent(options: { value: string; label: string }[], current: string) {
  return options.some(({ value }) => value === current) ? options : [...options, { value: current, label: current }];
}

function Summary({ range }: { range: DraftRange }) {
  const parts = [
    range.description,
    range.every_unit === '' ? '' : `every ${range.every} ${range.every_unit}`,
    range.last_day === '' ? '' : `until ${range.last_day}`,
    range.quotas.length === 0 ? '' : range.quotas.length === 1 ? '1 quota' : `${range.quotas.length} quotas`,
  ].filter((part) => part !== '');
  if (parts.length === 0) return null;
  return (
    <Text size="xs" c="dimmed" mt={2}>
      {parts.join(' · ')}
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
