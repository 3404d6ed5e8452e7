import { Tooltip } from '@mantine/core';

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });
const of_today = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' });
const of_other_day = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: 'numeric',
  minute: '2-digit',
});

/** A time for sentences, as a clock shows it: `10:53 AM`. The tooltip has the exact one. */
export function ClockTime({ at }: { at: string }) {
  return (
    <Tooltip label={`${exact.format(new Date(at))} (${at})`}>
      <time dateTime={at}>{formatClock(at)}</time>
    </Tooltip>
  );
}

/** With the date, unless it is today. */
export function formatClock(at: string): string {
  const date = new Date(at);
  const today = date.toDateString() === new Date().toDateString();
  return (today ? of_today : of_other_day).format(date);
}
