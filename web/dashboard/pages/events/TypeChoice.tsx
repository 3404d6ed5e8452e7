import { Checkbox, Input, Stack } from '@mantine/core';
import { useEventTypes } from './useEventTypes.ts';

/** Which types of events an endpoint is told of; the form's field `event_types`. */
export function TypeChoice({ chosen }: { chosen: readonly string[] }) {
  const types = useEventTypes();
  return (
    <fieldset className="choices">
      <Input.Label component="legend">Event types</Input.Label>
      <Input.Description mb="xs">Choose none to send all types.</Input.Description>
      <Stack gap={6}>
        {types.map(({ type }) => (
          <Checkbox
            key={type}
            name="event_types"
            value={type}
            label={type}
            size="md"
            defaultChecked={chosen.includes(type)}
          />
        ))}
      </Stack>
    </fieldset>
  );
}

/** What was chosen in a form; undefined: all types. */
export function typesIn(typed: FormData): string[] | undefined {
  const types = typed.getAll('event_types').map(String);
  return types.length === 0 ? undefined : types;
}
