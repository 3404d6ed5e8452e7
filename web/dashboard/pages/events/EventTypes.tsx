import { Checkbox, Code, Group, Input, Stack, Switch, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useQuery } from '../../service/queries.ts';
import { type EventGroup, type EventType, groupEventTypes, searchEventTypes } from './eventGroups.ts';

const chosen_field = 'event_types';
const choice_field = 'event_types_chosen';

/** The event types an endpoint receives: all, also later ones, or the chosen ones. */
export function EventTypes({ selected }: { selected: readonly string[] }) {
  const types = useEventTypes();
  const [all, setAll] = useState(selected.length === 0);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(selected));
  const [search, setSearch] = useState('');
  const groups = groupEventTypes(search.trim() === '' ? types : searchEventTypes(types, search.trim()));
  const choose = (changed: readonly string[], to: boolean) => {
    const next = new Set(chosen);
    for (const type of changed) {
      if (to) next.add(type);
      else next.delete(type);
    }
    setChosen(next);
  };
  return (
    <fieldset className="event-types">
      <Input.Label component="legend">Event types</Input.Label>
      <Stack gap="xs">
        <Switch
          label="All events"
          description="Including types that are added later"
          checked={all}
          onChange={({ currentTarget }) => setAll(currentTarget.checked)}
        />
        {!all && (
          <>
            <input type="hidden" name={choice_field} value="yes" />
            {[...chosen].map((type) => (
              <input key={type} type="hidden" name={chosen_field} value={type} />
            ))}
            <Group gap="sm" wrap="nowrap">
              <TextInput
                flex={1}
                aria-label="Search event types"
                placeholder="Search event types"
                value={search}
                onChange={({ currentTarget }) => setSearch(currentTarget.value)}
                // Enter would submit the form.
                onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
              />
              <Text size="sm" c="dimmed" role="status" className="nowrap">
                {chosen.size} of {types.length}
              </Text>
            </Group>
            {groups.length === 0 ? (
              <Text size="sm" c="dimmed">
                No event type matches. Change the search.
              </Text>
            ) : (
              <div className="event-types-list">
                {groups.map((group) => (
                  <Types key={group.noun} group={group} chosen={chosen} choose={choose} />
                ))}
              </div>
            )}
          </>
        )}
      </Stack>
    </fieldset>
  );
}

type TypesProps = {
  group: EventGroup;
  chosen: ReadonlySet<string>;
  choose: (types: readonly string[], to: boolean) => void;
};

function Types({ group: { label, types }, chosen, choose }: TypesProps) {
  const names = types.map(({ type }) => type);
  const count = names.filter((name) => chosen.has(name)).length;
  return (
    <div className="event-types-group">
      <Checkbox
        label={`${label}: all`}
        fw={600}
        checked={count === names.length}
        indeterminate={count > 0 && count < names.length}
        onChange={({ currentTarget }) => choose(names, currentTarget.checked)}
      />
      {types.map(({ type, summary }) => (
        <Checkbox
          key={type}
          ml="lg"
          label={<Code>{type}</Code>}
          description={summary}
          checked={chosen.has(type)}
          onChange={({ currentTarget }) => choose([type], currentTarget.checked)}
        />
      ))}
    </div>
  );
}

/** The chosen types, or undefined for all types. */
export function selectedTypes(form: FormData): string[] | undefined {
  return form.get(choice_field) === null ? undefined : form.getAll(chosen_field).map(String);
}

export function useEventTypes(): EventType[] {
  return useQuery('eventTypes.list', {}).data?.event_types ?? [];
}
