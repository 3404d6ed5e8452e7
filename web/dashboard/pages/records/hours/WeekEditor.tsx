import { Alert, Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { ErrorAlert } from '../../../parts/errors.tsx';
import { weekdays } from '../../../service/api.gen.ts';
import { useAction } from '../../../service/queries.ts';
import type { Hours } from '../../../service/types.ts';
import { type DraftRange, type DraftWeek, isSame, newRange, toDraft, toHours, type Weekday } from './draft.ts';
import { RangeRow } from './RangeRow.tsx';
import type { Options } from './useOptions.ts';
import { type Errors, inputId, serverErrors, validateWeek } from './validation.ts';
import { WeekChart } from './WeekChart.tsx';

/** Edits the hours of a week. Nothing is sent before it is saved. */
export function WeekEditor({
  hours,
  options,
  editable,
  save,
}: {
  hours: Hours;
  options: Options;
  editable: boolean;
  save: (hours: Hours) => Promise<unknown>;
}) {
  const { week, setWeek, changed_elsewhere } = useDraft(hours);
  const saving = useAction((draft: DraftWeek) => save(toHours(draft)));
  const [invalid, setInvalid] = useState<Errors>({});
  const focus = useFocus();
  const dirty = !isSame(week, hours);
  const { error, variables: sent } = saving;
  const rejected = error && sent ? serverErrors(sent, error.message) : {};
  const errors = { ...rejected, ...invalid };

  const change = (day: Weekday, ranges: DraftRange[]) => {
    setWeek({ ...week, [day]: ranges });
    setInvalid({});
    saving.reset();
  };
  const add = (day: Weekday, range: DraftRange) => {
    change(day, [...week[day], range]);
    focus(inputId(range.key, 'start'));
  };
  const send = () => {
    const problems = validateWeek(week);
    setInvalid(problems);
    const [first] = Object.keys(problems);
    if (first) focus(first);
    else saving.mutate(week);
  };
  return (
    <Stack>
      <WeekChart
        week={week}
        editable={editable}
        onPick={(range) => focus(inputId(range.key, 'start'))}
        onAdd={(day, start, end) => add(day, newRange(start, end, lastLocation(week, day)))}
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
                onClick={() => add(day, newRange('', '', lastLocation(week, day)))}
                aria-label={`Add range on ${day}`}
              >
                Add range
              </Button>
            )}
          </Group>
          {week[day].length === 0 && (
            <Text size="sm" c="dimmed">
              Not working
            </Text>
          )}
          <Stack gap="xs">
            {week[day].map((range, n) => (
              <RangeRow
                key={range.key}
                name={`${day}, range ${n + 1}`}
                range={range}
                options={options}
                editable={editable}
                errors={errors}
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
      {changed_elsewhere && dirty && (
        <Alert color="yellow">These hours were changed elsewhere. Saving overwrites those changes.</Alert>
      )}
      {error && Object.keys(rejected).length === 0 && <ErrorAlert error={error} />}
      {Object.keys(errors).length > 0 && (
        <Alert color="red" role="alert">
          Not saved. Fix the errors above.
        </Alert>
      )}
      {editable && (
        <Group>
          <Button onClick={send} loading={saving.isPending} disabled={!dirty}>
            Save hours
          </Button>
          <Button variant="default" disabled={!dirty} onClick={() => setWeek(toDraft(hours))}>
            Discard changes
          </Button>
          <Text size="sm" role="status">
            {dirty ? 'Unsaved changes' : saving.isSuccess ? 'Saved' : ''}
          </Text>
        </Group>
      )}
    </Stack>
  );
}

/** The edited week. Refetched hours replace it unless there are unsaved changes. */
function useDraft(hours: Hours) {
  const [seen, setSeen] = useState(hours);
  const [week, setWeek] = useState(() => toDraft(hours));
  const [changed_elsewhere, setChanged] = useState(false);
  if (JSON.stringify(seen) !== JSON.stringify(hours)) {
    const edited = !isSame(week, seen) && !isSame(week, hours);
    setSeen(hours);
    setChanged(edited);
    if (!edited) setWeek(toDraft(hours));
  }
  return { week, setWeek, changed_elsewhere };
}

/** Focuses an element by its id after the next render. */
function useFocus(): (id: string) => void {
  const wanted = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (wanted.current === undefined) return;
    document.getElementById(wanted.current)?.focus();
    wanted.current = undefined;
  });
  const [, rerender] = useState({});
  return (id) => {
    wanted.current = id;
    rerender({});
  };
}

/** A new range usually has the same location as the previous one. */
function lastLocation(week: DraftWeek, day: Weekday): string {
  return week[day].at(-1)?.facility_id ?? '';
}
