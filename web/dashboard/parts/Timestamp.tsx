import { TextInput, Tooltip } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { createContext, use, useEffect, useRef, useSyncExternalStore } from 'react';
import { useLocation } from 'wouter';

/** Whether the row of a table around this has a link or a checkbox, so that times in it are no tab stops of their own. */
export const InFocusableRow = createContext(false);

type Show =
  /** “14 min ago”, “in 3 h”; the date if it is more than a week away. */
  | 'relative'
  /** “10:53 AM”, with the date on other days: for sentences such as “since …”. */
  | 'clock'
  /** “10:53:07 AM”, with the date on other days: for logs and timelines. */
  | 'exact';

/** A time in the operator's time zone. The exact one with its zone is shown while it is hovered or has the focus. */
export function Timestamp({ at, show = 'relative' }: { at: string | null; show?: Show }) {
  if (at === null) return <>–</>;
  return <Time at={at} show={show} />;
}

function Time({ at, show }: { at: string; show: Show }) {
  const date = new Date(at);
  // The text and not the time, so that only those that change are rendered again.
  const text = useSyncExternalStore(onTick, () => formats[show](date, new Date()));
  const ago = useSyncExternalStore(onTick, () => formatRelative(date, new Date()));
  const [opened, { open, close }] = useDisclosure();
  const in_row = use(InFocusableRow);
  const time = useRef<HTMLTimeElement>(null);
  const entered = useRef({ x: 0, y: 0 });
  const [location] = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: navigation closes it, also if the time is on both pages.
  useEffect(() => close, [location, close]);
  useEffect(() => {
    const row = in_row && time.current?.closest('tr');
    if (!row) return;
    const onFocus = ({ target }: FocusEvent) => {
      if (target instanceof Element && target.matches(':focus-visible')) open();
    };
    row.addEventListener('focusin', onFocus);
    row.addEventListener('focusout', close);
    return () => {
      row.removeEventListener('focusin', onFocus);
      row.removeEventListener('focusout', close);
    };
  }, [in_row, open, close]);
  return (
    <Tooltip
      label={show === 'relative' ? full.format(date) : `${full.format(date)} · ${ago}`}
      opened={opened}
      multiline
      maw="min(320px, 80vw)"
      fz="xs"
    >
      <time
        ref={time}
        dateTime={at}
        // Without a mouse, the exact time is shown on focus.
        {...(in_row || show === 'exact' ? {} : { tabIndex: 0 })}
        // Only when the mouse moves: a new page can put a time under one that rests.
        onMouseEnter={({ clientX: x, clientY: y }) => {
          entered.current = { x, y };
        }}
        onMouseMove={({ clientX, clientY }) => {
          if (clientX !== entered.current.x || clientY !== entered.current.y) open();
        }}
        onMouseLeave={close}
        onFocus={open}
        onBlur={close}
        // Before the click opens another page.
        onPointerDown={close}
      >
        {text}
      </time>
    </Tooltip>
  );
}

const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });
const seconds = { hour: 'numeric', minute: '2-digit', second: '2-digit' } as const;
const minutes = { hour: 'numeric', minute: '2-digit' } as const;
const day = { month: 'short', day: 'numeric' } as const;
const year = { year: 'numeric' } as const;
const clock = new Intl.DateTimeFormat(undefined, minutes);
const clock_with_day = new Intl.DateTimeFormat(undefined, { ...day, ...minutes });
const clock_with_year = new Intl.DateTimeFormat(undefined, { ...year, ...day, ...minutes });
const exact = new Intl.DateTimeFormat(undefined, seconds);
const exact_with_day = new Intl.DateTimeFormat(undefined, { ...day, ...seconds });
const exact_with_year = new Intl.DateTimeFormat(undefined, { ...year, ...day, ...seconds });
const day_only = new Intl.DateTimeFormat(undefined, day);
const day_with_year = new Intl.DateTimeFormat(undefined, { ...year, ...day });

const formats: Record<Show, (date: Date, now: Date) => string> = {
  relative: formatRelative,
  clock: (date, now) => choose(date, now, [clock, clock_with_day, clock_with_year]).format(date),
  exact: (date, now) => choose(date, now, [exact, exact_with_day, exact_with_year]).format(date),
};

const units = [
  { name: 'min', ms: 60_000, below: 60 },
  { name: 'h', ms: 3_600_000, below: 24 },
  { name: 'd', ms: 86_400_000, below: 7 },
];

/** Rounded down, as people count: 89 minutes are “1 h ago”. */
function formatRelative(date: Date, now: Date): string {
  const distance_ms = now.getTime() - date.getTime();
  const amount_ms = Math.abs(distance_ms);
  if (amount_ms < 60_000) return distance_ms < 0 ? 'in less than 1 min' : 'just now';
  const unit = units.find(({ ms, below }) => amount_ms < below * ms);
  if (!unit) return (isSameYear(date, now) ? day_only : day_with_year).format(date);
  const amount = `${Math.floor(amount_ms / unit.ms)} ${unit.name}`;
  return distance_ms < 0 ? `in ${amount}` : `${amount} ago`;
}

type Formats = [today: Intl.DateTimeFormat, this_year: Intl.DateTimeFormat, other_year: Intl.DateTimeFormat];

function choose(date: Date, now: Date, [today, this_year, other_year]: Formats): Intl.DateTimeFormat {
  if (date.toDateString() === now.toDateString()) return today;
  return isSameYear(date, now) ? this_year : other_year;
}

function isSameYear(date: Date, now: Date): boolean {
  return date.getFullYear() === now.getFullYear();
}

const tick_ms = 15_000;
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** One timer for all times that are shown. */
function onTick(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    for (const each of listeners) each();
  }, tick_ms);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** An input for a time in the operator's time zone; its value is in UTC, or empty. */
export function TimestampInput(props: { label: string; value: string; onChange: (value: string) => void }) {
  return (
    <TextInput
      label={props.label}
      type="datetime-local"
      w={205}
      value={toLocal(props.value)}
      onChange={({ currentTarget }) => props.onChange(toUtc(currentTarget.value))}
    />
  );
}

/** A UTC time as a `datetime-local` input shows it. */
export function toLocal(iso: string): string {
  const date = new Date(iso);
  if (iso === '' || Number.isNaN(date.getTime())) return '';
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}

/** The value of a `datetime-local` input in UTC. */
export function toUtc(text: string): string {
  const date = new Date(text);
  return text === '' || Number.isNaN(date.getTime()) ? '' : date.toISOString();
}
