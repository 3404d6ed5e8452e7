import { Tooltip } from '@mantine/core';

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });
const of_today = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const to_the_minute = { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' } as const;
const of_another_day = new Intl.DateTimeFormat(undefined, to_the_minute);
const of_another_year = new Intl.DateTimeFormat(undefined, { year: 'numeric', ...to_the_minute });

/** A time in the reader's zone, short; the exact one on hover and for screen readers. */
export function Moment({ at }: { at: string | null }) {
  if (at === null) return <>–</>;
  const moment = new Date(at);
  return (
    <Tooltip label={`${exact.format(moment)} (${at})`}>
      <time dateTime={at}>{formOf(moment).format(moment)}</time>
    </Tooltip>
  );
}

function formOf(moment: Date): Intl.DateTimeFormat {
  const now = new Date();
  if (moment.toDateString() === now.toDateString()) return of_today;
  return moment.getFullYear() === now.getFullYear() ? of_another_day : of_another_year;
}
