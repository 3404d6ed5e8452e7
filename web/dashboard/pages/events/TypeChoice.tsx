import { MultiSelect } from '@mantine/core';
import { useEventTypes } from './useEventTypes.ts';

const divider = ' ';

/** Which types of events an endpoint is told of; the form's field `event_types`. */
export function TypeChoice({ chosen }: { chosen: readonly string[] }) {
  const types = useEventTypes();
  return (
    <MultiSelect
      label="Event types"
      description="Choose none to send all types."
      name="event_types"
      data={types.map(({ type }) => type)}
      defaultValue={[...chosen]}
      hiddenInputValuesDivider={divider}
      searchable
      comboboxProps={{ transitionProps: { duration: 0 } }}
    />
  );
}

/** What was chosen in a form; undefined: all types. */
export function typesIn(typed: FormData): string[] | undefined {
  const types = String(typed.get('event_types') ?? '')
    .split(divider)
    .filter(Boolean);
  return types.length === 0 ? undefined : types;
}
