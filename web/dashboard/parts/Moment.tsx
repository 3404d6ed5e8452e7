import { Tooltip } from '@mantine/core';

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });
const of_today = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const of_another_day = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
});

/** A time in the reader's zone, short; the exact one on hover and for screen readers. */
export function Moment({ at }: { at: string | null }) {
  if (at === null) return <>–</>;
  const moment = new Date(at);
  const today = moment.toDateString() === new Date().toDateString();
  return (
    <Tooltip label={`${exact.format(moment)} (${at})`}>
      <time dateTime={at}>{(today ? of_today : of_another_day).format(moment)}</time>
    </Tooltip>
  );
}
