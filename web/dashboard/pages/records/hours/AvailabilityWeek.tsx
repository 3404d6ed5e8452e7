import { Group, NativeSelect, Text, TextInput, VisuallyHidden } from '@mantine/core';
import { type MouseEvent, useState } from 'react';
import type { ResponseOf } from '../../../service/api.ts';
import { hourLabel, timeRange } from './times.ts';

type Results = ResponseOf<'availability.list'>['results'];
type Free = Results['availability'][number];
type Explanation = NonNullable<Results['explanations']>[number];
type Reason = Explanation['reason'];
type QuotaReason = 'quota_full' | 'visit_type';

/** Why a time is not free, as a person asks. */
const reason_texts: Record<Exclude<Reason, QuotaReason>, string> = {
  location: 'The shift is at another location.',
  inactive_location: 'The location takes no appointments.',
  daily_limit: 'The day already has as many appointments as the limit allows.',
  past: 'This time has passed.',
  appointment: 'Booked: an appointment in the EMR.',
  booking: 'Booked: accepted by Chartwire, not in the EMR yet.',
  block: 'Blocked in the EMR.',
  buffer: 'Kept free after an appointment.',
  no_rule: 'No quota covers this part of the shift.',
  too_short: 'Shorter than a slot.',
  outside_dates: 'The hours apply to other dates.',
  recurrence: 'The hours do not recur on this day.',
  invalid_shift: 'The hours cannot be read. Correct them.',
  no_hours: 'The provider has no hours.',
  inactive_provider: 'The provider is inactive.',
  hidden_provider: 'The provider is hidden from availability.',
  first_sync: 'The first sync has not read the schedule yet.',
  outside_hours: 'Outside the provider’s hours.',
  clock_change: 'Clocks go forward: this time does not exist on this day.',
};

/** The same for quotas, with the name of the visit type. */
const quota_texts: Record<QuotaReason, (visit_type: string) => string> = {
  quota_full: (visit_type) => `The quota for ${visit_type} is used up.`,
  visit_type: (visit_type) => `The quota here is for ${visit_type}.`,
};

/** Reasons that are drawn: where somebody or something takes the time. Others look like the time outside of shifts. */
const taken: ReadonlySet<Reason> = new Set(['appointment', 'booking', 'block', 'buffer', 'quota_full', 'daily_limit']);

type Span = { start: number; end: number };
type Picked = { date: string; time: string };

const hour_px = 36;
/** A block of this height has room for its times. */
const labeled_px = 40;

type Props = {
  results: Results;
  dates: readonly string[];
  /** The names of all locations: one without a free time is named only here. */
  locations: ReadonlyMap<string, string>;
  /** The names of all visit types, by code. */
  visit_types: ReadonlyMap<string, string>;
};

/**
 * Free times as a week. A click on any time says why it is or is not free; the fields below the picture do the same by
 * keyboard.
 */
export function AvailabilityWeek({ results, dates, locations, visit_types }: Props) {
  const { availability, explanations = [] } = results;
  const [picked, setPicked] = useState<Picked>({ date: dates[0] ?? '', time: '' });
  const drawn = [...availability, ...explanations.filter(({ reason }) => taken.has(reason))].map(toSpan);
  const first = Math.min(8, ...drawn.map(({ start }) => Math.floor(start / 60)));
  const last = Math.max(18, ...drawn.map(({ end }) => Math.ceil(end / 60)));
  const weeks = Array.from({ length: Math.ceil(dates.length / 7) }, (_, n) => dates.slice(n * 7, n * 7 + 7));
  const date = dates.includes(picked.date) ? picked.date : (dates[0] ?? '');
  return (
    <>
      {weeks.map((week) => (
        <div key={week[0]} className="free-week">
          <div className="free-hours" aria-hidden="true" style={{ height: (last - first) * hour_px }}>
            {[first, Math.round((first + last) / 2), last].map((hour) => (
              <span key={hour}>{hourLabel(hour)}</span>
            ))}
          </div>
          {week.map((day) => (
            <DayColumn
              key={day}
              day={day}
              hours={{ first, last }}
              free={availability.filter((each) => each.date === day)}
              explained={explanations.filter((each) => each.date === day && taken.has(each.reason))}
              picked={picked.time !== '' && date === day ? toMinutes(picked.time) : undefined}
              onPick={(time) => setPicked({ date: day, time })}
            />
          ))}
        </div>
      ))}
      <div className="free-legend" aria-hidden="true">
        <span className="free-time">Free</span>
        <span className="free-taken">Booked or full</span>
        <span className="free-taken free-block">Blocked</span>
      </div>
      <Group gap="sm" mt="sm" align="flex-end">
        <NativeSelect
          label="Day"
          value={date}
          data={dates.map((value) => ({ value, label: dayLabel(value) }))}
          onChange={(event) => setPicked({ ...picked, date: event.currentTarget.value })}
        />
        <TextInput
          type="time"
          label="Why not at"
          value={picked.time}
          onChange={(event) => setPicked({ date, time: event.currentTarget.value })}
        />
      </Group>
      <div role="status" className="free-answer">
        {picked.time === '' ? (
          <Text size="sm" c="dimmed">
            Click a time, or enter one, to see why it is or is not free.
          </Text>
        ) : (
          <Answer results={results} locations={locations} visit_types={visit_types} date={date} time={picked.time} />
        )}
      </div>
    </>
  );
}

type ColumnProps = {
  day: string;
  hours: { first: number; last: number };
  free: readonly Free[];
  explained: readonly Explanation[];
  picked: number | undefined;
  onPick: (time: string) => void;
};

function DayColumn({ day, hours: { first, last }, free, explained, picked, onPick }: ColumnProps) {
  const place = ({ start, end }: Span) => ({
    top: ((start - first * 60) * hour_px) / 60,
    height: Math.max(2, ((end - start) * hour_px) / 60),
  });
  const pick = (event: MouseEvent<HTMLElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const minute = first * 60 + ((event.clientY - box.top) * 60) / hour_px;
    const step = Math.min(last * 60 - 5, Math.max(first * 60, Math.floor(minute / 5) * 5));
    onPick(`${String(Math.floor(step / 60)).padStart(2, '0')}:${String(step % 60).padStart(2, '0')}`);
  };
  return (
    <div className="free-day">
      <Text size="xs" ta="center" fw={600}>
        {shortDay(day)}
      </Text>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the fields below the picture offer the same by keyboard. */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: as above. */}
      <div className="free-column" data-day={day} style={{ height: (last - first) * hour_px }} onClick={pick}>
        {explained.map((each) => (
          <div
            key={JSON.stringify(each)}
            className={each.reason === 'block' ? 'free-taken free-block' : 'free-taken'}
            aria-hidden="true"
            style={place(toSpan(each))}
          />
        ))}
        {free.length > 0 && (
          <ul aria-label={`Free on ${dayLabel(day)}`}>
            {free.map((each) => {
              const position = place(toSpan(each));
              const text = `${describeRange(each)}${visitsLeft(each)}`;
              return (
                <li key={JSON.stringify(each)} className="free-time" style={position} title={text}>
                  {position.height >= labeled_px ? text : <VisuallyHidden>{text}</VisuallyHidden>}
                </li>
              );
            })}
          </ul>
        )}
        {picked !== undefined && picked >= first * 60 && picked < last * 60 && (
          <div className="free-picked" aria-hidden="true" style={{ top: ((picked - first * 60) * hour_px) / 60 }} />
        )}
      </div>
    </div>
  );
}

/** Whether a time is free, and the reason at each location if not. */
function Answer({ results, locations, visit_types, date, time }: Omit<Props, 'dates'> & Picked) {
  const minute = toMinutes(time);
  const covers = (each: Free | Explanation) => {
    const { start, end } = toSpan(each);
    return each.date === date && start <= minute && minute < end;
  };
  const free = results.availability.filter(covers);
  const explanations = (results.explanations ?? []).filter(covers);
  const skipped = explanations.filter(({ reason }) => reason === 'clock_change');
  const reasons = skipped.length > 0 ? skipped : explanations;
  const findLocation = ({ facility_id }: Explanation) =>
    facility_id === null ? undefined : locations.get(facility_id);
  const title = `${dayLabel(date)}, ${timeLabel(time)}`;
  return (
    <>
      <Text size="sm" fw={600}>
        {title}: {free.length > 0 && skipped.length === 0 ? 'free' : 'not free'}
      </Text>
      {free.map((each) => (
        <Text key={JSON.stringify(each)} size="sm">
          {describeRange(each)}
          {each.facility_name === null ? '' : ` at ${each.facility_name}`}
          {visitsLeft(each)}
        </Text>
      ))}
      {reasons.map((each) => (
        <Text key={JSON.stringify(each)} size="sm">
          {describeReason(each, visit_types)} <span className="secondary">{describeRange(each)}</span>
          {findLocation(each) === undefined ? null : <span className="secondary"> · {findLocation(each)}</span>}
        </Text>
      ))}
    </>
  );
}

function describeReason({ reason, visit_type }: Explanation, names: Props['visit_types']): string {
  if (reason !== 'quota_full' && reason !== 'visit_type') return reason_texts[reason];
  const name = visit_type === null ? undefined : names.get(visit_type);
  return quota_texts[reason](name === undefined ? (visit_type ?? 'another visit type') : `${name} (${visit_type})`);
}

function visitsLeft({ available_appointments, max_visits }: Free): string {
  return available_appointments === null ? '' : ` · ${available_appointments} of ${max_visits} left`;
}

/** Minutes of the day; a range that ends at midnight ends at 24:00. */
function toSpan({ date, range_start, range_end }: Free | Explanation): Span {
  const end = range_end.slice(0, 10) > date ? 1_440 : toMinutes(range_end.slice(11, 16));
  return { start: toMinutes(range_start.slice(11, 16)), end };
}

function toMinutes(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5));
}

function describeRange({ range_start, range_end }: Free | Explanation): string {
  return timeRange(range_start.slice(11, 16), range_end.slice(11, 16));
}

const day_format = new Intl.DateTimeFormat('en-US', {
  weekday: 'short',
  month: 'short',
  day: 'numeric',
  timeZone: 'UTC',
});
const weekday_format = new Intl.DateTimeFormat('en-US', { weekday: 'short', timeZone: 'UTC' });
const time_format = new Intl.DateTimeFormat('en-US', { hour: 'numeric', minute: '2-digit', timeZone: 'UTC' });

function dayLabel(date: string): string {
  return day_format.format(new Date(`${date}T00:00:00Z`));
}

/** `Thu 19` */
function shortDay(date: string): string {
  return `${weekday_format.format(new Date(`${date}T00:00:00Z`))} ${Number(date.slice(8))}`;
}

function timeLabel(time: string): string {
  return time_format.format(new Date(`1970-01-01T${time}Z`));
}
