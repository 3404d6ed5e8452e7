import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { type DraftQuota, type DraftRange, newQuota } from './draft.ts';
import type { Options } from './useOptions.ts';
import { type Errors, inputId } from './validation.ts';

type Props = {
  name: string;
  range: DraftRange;
  options: Options;
  errors: Errors;
  onChange: (range: DraftRange) => void;
};

/** Settings that few ranges have: validity, recurrence and quotas. */
export function RangeDetails(props: Props) {
  return (
    <Stack gap="xs" mt="xs">
      <Validity {...props} />
      <Recurrence {...props} />
      <Quotas {...props} />
    </Stack>
  );
}

type Input = {
  field: 'first_day' | 'last_day' | 'description' | 'every' | 'every_from' | 'every_until';
  /** Its name in the API, to which errors refer. */
  wire: string;
  label: string;
  type: 'date' | 'text' | 'number';
  width: number;
};

const validity: readonly Input[] = [
  { field: 'first_day', wire: 'set_start_date', label: 'Start date', type: 'date', width: 145 },
  { field: 'last_day', wire: 'set_end_date', label: 'End date', type: 'date', width: 145 },
  { field: 'description', wire: 'set_description', label: 'Description', type: 'text', width: 200 },
];
const recurrence: readonly Input[] = [
  { field: 'every', wire: 'recur_interval_amount', label: 'Interval', type: 'number', width: 90 },
  { field: 'every_from', wire: 'rec_start_date', label: 'Starting on', type: 'date', width: 145 },
  { field: 'every_until', wire: 'rec_end_date', label: 'Ending on', type: 'date', width: 145 },
];

function Inputs({ name, range, errors, onChange, of }: Props & { of: readonly Input[] }) {
  return of.map(({ field, wire, label, type, width }) => (
    <TextInput
      key={field}
      id={inputId(range.key, wire)}
      type={type}
      size="xs"
      label={label}
      aria-label={`${name}, ${label.toLowerCase()}`}
      value={range[field]}
      error={errors[inputId(range.key, wire)]}
      onChange={(event) => onChange({ ...range, [field]: event.currentTarget.value })}
      w={width}
    />
  ));
}

function Validity(props: Props) {
  return (
    <Group gap="xs" align="flex-start">
      <Inputs {...props} of={validity} />
    </Group>
  );
}

const units = [
  { value: '', label: 'Every week' },
  { value: 'days', label: 'Every N days' },
  { value: 'weeks', label: 'Every N weeks' },
  { value: 'months', label: 'Every N months' },
  { value: 'years', label: 'Every N years' },
];

function Recurrence(props: Props) {
  const { name, range, onChange } = props;
  return (
    <Group gap="xs" align="flex-start">
      <NativeSelect
        size="xs"
        label="Repeats"
        aria-label={`${name}, repeats`}
        value={range.every_unit}
        data={units}
        onChange={(event) => onChange({ ...range, every_unit: event.currentTarget.value as DraftRange['every_unit'] })}
        w={180}
      />
      {range.every_unit !== '' && <Inputs {...props} of={recurrence} />}
    </Group>
  );
}

function Quotas({ name, range, options, errors, onChange }: Props) {
  const [first] = options.visit_types;
  const set = (quotas: DraftQuota[]) => onChange({ ...range, quotas });
  return (
    <div>
      <Text size="xs" fw={600}>
        Quotas by visit type
      </Text>
      {range.quotas.length === 0 && (
        <Text size="xs" c="dimmed">
          No quotas: any visit type can be booked.
        </Text>
      )}
      <Stack gap="xs" my={4}>
        {range.quotas.map((quota, n) => (
          <Quota
            key={quota.key}
            name={`${name}, quota ${n + 1}`}
            quota={quota}
            visit_types={options.visit_types}
            errors={errors}
            onChange={(next) => set(range.quotas.map((each) => (each.key === quota.key ? next : each)))}
            onRemove={() => set(range.quotas.filter((each) => each.key !== quota.key))}
          />
        ))}
      </Stack>
      {first && (
        <Button
          size="compact-xs"
          variant="light"
          aria-label={`${name}, add quota`}
          onClick={() => set([...range.quotas, newQuota(range.start, range.end, first.value)])}
        >
          Add quota
        </Button>
      )}
    </div>
  );
}

/** `wire`: what the API calls the field, if not the same. */
type QuotaInput = { wire?: string; label: string; type: string; w: number };

function Quota({
  name,
  quota,
  visit_types,
  errors,
  onChange,
  onRemove,
}: {
  name: string;
  quota: DraftQuota;
  visit_types: Options['visit_types'];
  errors: Errors;
  onChange: (quota: DraftQuota) => void;
  onRemove: () => void;
}) {
  const is_listed = visit_types.some(({ value }) => value === quota.visit_type_id);
  const input = (field: 'start_time' | 'end_time' | 'visits', { wire = field, label, type, w }: QuotaInput) => (
    <TextInput
      id={inputId(quota.key, wire)}
      type={type}
      size="xs"
      aria-label={`${name}, ${label}`}
      value={quota[field]}
      error={errors[inputId(quota.key, wire)]}
      onChange={(event) => onChange({ ...quota, [field]: event.currentTarget.value })}
      w={w}
    />
  );
  return (
    <Group gap="xs" align="flex-start">
      {input('start_time', { label: 'from', type: 'time', w: 118 })}
      {input('end_time', { label: 'to', type: 'time', w: 118 })}
      <NativeSelect
        id={inputId(quota.key, 'visit_type_id')}
        size="xs"
        aria-label={`${name}, visit type`}
        value={quota.visit_type_id}
        data={is_listed ? visit_types : [...visit_types, { value: quota.visit_type_id, label: quota.visit_type_id }]}
        error={errors[inputId(quota.key, 'visit_type_id')]}
        onChange={(event) => onChange({ ...quota, visit_type_id: event.currentTarget.value })}
        w={170}
      />
      {input('visits', { wire: 'total_visits', label: 'visits', type: 'number', w: 80 })}
      <Button size="compact-sm" mt={3} variant="subtle" color="red" aria-label={`Remove ${name}`} onClick={onRemove}>
        Remove
      </Button>
    </Group>
  );
}
