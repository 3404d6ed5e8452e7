import { Tooltip } from '@mantine/core';
import { useOrganization } from './organization.tsx';

/** A time in the practice's time zone, which it names. The tooltip has the operator's. */
export function PracticeTime({ at }: { at: string }) {
  const { timezone } = useOrganization().organization;
  const date = new Date(at);
  return (
    <Tooltip label={`${own.format(date)} (your time)`}>
      <time dateTime={at}>{practiceFormat(timezone).format(date)}</time>
    </Tooltip>
  );
}

const own = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });

const formats = new Map<string, Intl.DateTimeFormat>();

/** One per zone: creating a format takes longer than using it for a whole page. */
function practiceFormat(timeZone: string): Intl.DateTimeFormat {
  const cached = formats.get(timeZone);
  if (cached) return cached;
  const format = new Intl.DateTimeFormat(undefined, {
    timeZone,
    timeZoneName: 'short',
    weekday: 'short',
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: 'numeric',
    minute: '2-digit',
  });
  formats.set(timeZone, format);
  return format;
}
