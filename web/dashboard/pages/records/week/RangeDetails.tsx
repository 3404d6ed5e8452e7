import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { type Choices, type DraftQuota, type DraftRange, newQuota } from './draft.ts';
import { type Faults, inputId } from './faults.ts';

type Shape = {
  name: string;
  range: DraftRange;
  choices: Choices;
  faults: Faults;
  onChange: (range: DraftRange) => void;
};

/** What few ranges have: the days between which it holds, a rhythm other than weekly, quotas by visit type. */
export function RangeDetails(shape: Shape) {
  return (
    <Stack gap="xs" mt="xs">
      <Validity {...shape} />
      <Rhythm {...shape} />
      <Quotas {...shape} />
    </Stack>
  );
}

type Input = {
  field: 'first_day' | 'last_day' | 'description' | 'every' | 'every_from' | 'every_until';
  /** Its name in what is sent, by which a fault finds it. */
  wire: string;
  label: string;
  type: 'date' | 'text' | 'number';
  width: number;
};

const validity: readonly Input[] = [
  { field: 'first_day', wire: 'set_start_date', label: 'First day', type: 'date', width: 145 },
  { field: 'last_day', wire: 'set_end_date', label: 'Last day', type: 'date', width: 145 },
  { field: 'description', wire: 'set_description', label: 'Description', type: 'text', width: 200 },
];
const rhythm: readonly Input[] = [
  { field: 'every', wire: 'recur_interval_amount', label: 'How many', type: 'number', width: 90 },
  { field: 'every_from', wire: 'rec_start_date', label: 'Counted from', type: 'date', width: 145 },
  { field: 'every_until', wire: 'rec_end_date', label: 'Until', type: 'date', width: 145 },
];

function Inputs({ name, range, faults, onChange, of }: Shape & { of: readonly Input[] }) {
  return of.map(({ field, wire, label, type, width }) => (
    <TextInput
      key={field}
      id={inputId(range.key, wire)}
      type={type}
      size="xs"
      label={label}
      aria-label={`${name}, ${label.toLowerCase()}`}
      value={range[field]}
      error={faults[inputId(range.key, wire)]}
      onChange={(event) => onChange({ ...range, [field]: event.currentTarget.value })}
      w={width}
    />
  ));
}

function Validity(shape: Shape) {
  return (
    <Group gap="xs" align="flex-start">
      <Inputs {...shape} of={validity} />
    </Group>
  );
}

const units = [
  { value: '', label: 'Every week' },
  { value: 'days', label: 'Every so many days' },
  { value: 'weeks', label: 'Every so many weeks' },
  { value: 'months', label: 'Every so many months' },
];

function Rhythm(shape: Shape) {
  const { name, range, onChange } = shape;
  return (
    <Group gap="xs" align="flex-start">
      <NativeSelect
        size="xs"
        label="Repeats"
        aria-label={`${name}, repeats`}
        value={range.every_unit}
        data={units}
        // The options are those of the type.
        onChange={(event) => onChange({ ...range, every_unit: event.currentTarget.value as DraftRange['every_unit'] })}
        w={180}
      />
      {range.every_unit !== '' && <Inputs {...shape} of={rhythm} />}
    </Group>
  );
}

function Quotas({ name, range, choices, faults, onChange }: Shape) {
  const [first] = choices.visit_types;
  const set = (quotas: DraftQuota[]) => onChange({ ...range, quotas });
  return (
    <div>
      <Text size="xs" fw={600}>
        Quotas by visit type
      </Text>
      {range.quotas.length === 0 && (
        <Text size="xs" c="dimmed">
          None: any visit may be booked.
        </Text>
      )}
      <Stack gap="xs" my={4}>
        {range.quotas.map((quota, n) => (
          <Quota
            key={quota.key}
            name={`${name}, quota ${n + 1}`}
            quota={quota}
            visit_types={choices.visit_types}
            faults={faults}
            onChange={(next) => set(range.quotas.map((each) => (each.key === quota.key ? next : each)))}
            onRemove={() => set(range.quotas.filter((each) => each.key !== quota.key))}
          />
        ))}
      </Stack>
      {first && (
        <Button
          size="compact-xs"
          variant="light"
          aria-label={`${name}, add a quota`}
          onClick={() => set([...range.quotas, newQuota(range.start, range.end, first.value)])}
        >
          Add a quota
        </Button>
      )}
    </div>
  );
}

function Quota({
  name,
  quota,
  visit_types,
  faults,
  onChange,
  onRemove,
}: {
  name: string;
  quota: DraftQuota;
  visit_types: Choices['visit_types'];
  faults: Faults;
  onChange: (quota: DraftQuota) => void;
  onRemove: () => void;
}) {
  const known = visit_types.some(({ value }) => value === quota.visit_type_id);
  const input = (field: 'start_time' | 'end_time' | 'visits', wire: string, label: string, type: string, w: number) => (
    <TextInput
      id={inputId(quota.key, wire)}
      type={type}
      size="xs"
      aria-label={`${name}, ${label}`}
      value={quota[field]}
      error={faults[inputId(quota.key, wire)]}
      onChange={(event) => onChange({ ...quota, [field]: event.currentTarget.value })}
      w={w}
    />
  );
  return (
    <Group gap="xs" align="flex-start">
      {input('start_time', 'start_time', 'from', 'time', 118)}
      {input('end_time', 'end_time', 'to', 'time', 118)}
      <NativeSelect
        id={inputId(quota.key, 'visit_type_id')}
        size="xs"
        aria-label={`${name}, visit type`}
        value={quota.visit_type_id}
        data={known ? visit_types : [...visit_types, { value: quota.visit_type_id, label: quota.visit_type_id }]}
        error={faults[inputId(quota.key, 'visit_type_id')]}
        onChange={(event) => onChange({ ...quota, visit_type_id: event.currentTarget.value })}
        w={170}
      />
      {input('visits', 'total_visits', 'visits', 'number', 80)}
      <Button size="compact-sm" mt={3} variant="subtle" color="red" aria-label={`Remove ${name}`} onClick={onRemove}>
        Remove
      </Button>
    </Group>
  );
}
