import { TextInput, Tooltip } from '@mantine/core';

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });
const time_only = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit', second: '2-digit' });
const to_the_minute = { month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit' } as const;
const without_year = new Intl.DateTimeFormat(undefined, to_the_minute);
const with_year = new Intl.DateTimeFormat(undefined, { year: 'numeric', ...to_the_minute });

/** A time in the operator's time zone; the tooltip has the exact one. */
export function Timestamp({ at }: { at: string | null }) {
  if (at === null) return <>–</>;
  const date = new Date(at);
  return (
    <Tooltip label={`${exact.format(date)} (${at})`}>
      <time dateTime={at}>{formatFor(date).format(date)}</time>
    </Tooltip>
  );
}

function formatFor(date: Date): Intl.DateTimeFormat {
  const now = new Date();
  if (date.toDateString() === now.toDateString()) return time_only;
  return date.getFullYear() === now.getFullYear() ? without_year : with_year;
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
