import { Alert, Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { weekdays } from '../../../../../src/model/weekdays.ts';
import { Failure } from '../../../parts/Failure.tsx';
import type { Problem } from '../../../service/ask.ts';
import { useAct } from '../../../service/useService.ts';
import {
  type Choices,
  type DraftRange,
  type DraftWeek,
  draftOf,
  type Hours,
  hoursOf,
  isSame,
  newRange,
  type Weekday,
} from './draft.ts';
import { checkWeek, type Faults, inputId, placeFault } from './faults.ts';
import { RangeRow } from './RangeRow.tsx';
import { WeekPicture } from './WeekPicture.tsx';

/**
 * The hours of a week: each weekday with its ranges, every one of them inputs that a keyboard reaches. The picture of
 * the week follows what is typed; nothing is sent before it is saved.
 */
export function WeekEditor({
  hours,
  choices,
  editable,
  save,
}: {
  hours: Hours;
  choices: Choices;
  editable: boolean;
  save: (hours: Hours) => Promise<unknown>;
}) {
  const { week, setWeek, changed_meanwhile } = useDraft(hours);
  const saving = useAct<DraftWeek>((draft) => save(hoursOf(draft)));
  const [faults, setFaults] = useState<Faults>({});
  const focus = useFocus();
  const dirty = !isSame(week, hours);
  const told = placedFaults(saving.error, saving.variables);

  const change = (day: Weekday, ranges: DraftRange[]) => {
    setWeek({ ...week, [day]: ranges });
    setFaults({});
    saving.reset();
  };
  const add = (day: Weekday, range: DraftRange) => {
    change(day, [...week[day], range]);
    focus(inputId(range.key, 'start'));
  };
  const send = () => {
    const found = checkWeek(week);
    setFaults(found);
    const [first] = Object.keys(found);
    if (first) focus(first);
    else saving.mutate(week);
  };
  return (
    <Stack>
      <WeekPicture
        week={week}
        editable={editable}
        onPick={(range) => focus(inputId(range.key, 'start'))}
        onAdd={(day, start, end) => add(day, newRange(start, end, lastPlace(week, day)))}
      />
      {weekdays.map((day) => (
        <Paper key={day} withBorder p="sm" component="section" aria-label={day}>
          <Group justify="space-between" mb={week[day].length > 0 ? 'xs' : 0}>
            <Title order={4} size="h6">
              {day}
            </Title>
            {editable && (
              <Button
                id={`add-${day}`}
                size="compact-xs"
                variant="light"
                onClick={() => add(day, newRange('', '', lastPlace(week, day)))}
                aria-label={`Add a range on ${day}`}
              >
                Add a range
              </Button>
            )}
          </Group>
          {week[day].length === 0 && (
            <Text size="sm" c="dimmed">
              Not worked
            </Text>
          )}
          <Stack gap="xs">
            {week[day].map((range, n) => (
              <RangeRow
                key={range.key}
                name={`${day}, range ${n + 1}`}
                range={range}
                choices={choices}
                editable={editable}
                faults={{ ...told, ...faults }}
                onChange={(next) =>
                  change(
                    day,
                    week[day].map((each) => (each.key === range.key ? next : each)),
                  )
                }
                onRemove={() => {
                  change(
                    day,
                    week[day].filter((each) => each.key !== range.key),
                  );
                  focus(`add-${day}`);
                }}
              />
            ))}
          </Stack>
        </Paper>
      ))}
      {changed_meanwhile && dirty && (
        <Alert color="yellow">These hours were changed elsewhere meanwhile. Saving replaces them.</Alert>
      )}
      {saving.error && Object.keys(told).length === 0 && <Failure problem={saving.error} />}
      {Object.keys({ ...told, ...faults }).length > 0 && (
        <Alert color="red" role="alert">
          The hours were not saved. See what is marked above.
        </Alert>
      )}
      {editable && (
        <Group>
          <Button onClick={send} loading={saving.isPending} disabled={!dirty}>
            Save the hours
          </Button>
          <Button variant="default" disabled={!dirty} onClick={() => setWeek(draftOf(hours))}>
            Discard changes
          </Button>
          <Text size="sm" role="status">
            {dirty ? 'Not saved yet.' : saving.isSuccess ? 'Saved.' : ''}
          </Text>
        </Group>
      )}
    </Stack>
  );
}

/** What is edited. Hours that arrive anew take its place, unless something was typed that they do not have. */
function useDraft(hours: Hours) {
  const [seen, setSeen] = useState(hours);
  const [week, setWeek] = useState(() => draftOf(hours));
  const [changed_meanwhile, setChanged] = useState(false);
  if (JSON.stringify(seen) !== JSON.stringify(hours)) {
    const typed = !isSame(week, seen) && !isSame(week, hours);
    setSeen(hours);
    setChanged(typed);
    if (!typed) setWeek(draftOf(hours));
  }
  return { week, setWeek, changed_meanwhile };
}

/** Puts the focus on an element by its id once it is there. */
function useFocus(): (id: string) => void {
  const wanted = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (wanted.current === undefined) return;
    document.getElementById(wanted.current)?.focus();
    wanted.current = undefined;
  });
  const [, again] = useState({});
  return (id) => {
    wanted.current = id;
    again({});
  };
}

function placedFaults(problem: Problem | null, sent: DraftWeek | undefined): Faults {
  return problem && sent ? placeFault(sent, problem.message) : {};
}

/** A further range of a day is most often at the same place as the one before it. */
function lastPlace(week: DraftWeek, day: Weekday): string {
  return week[day].at(-1)?.facility_id ?? '';
}
