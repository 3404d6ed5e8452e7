/** A moment as a date-time field shows it: in the reader's zone, to the minute. */
export function toLocal(iso: string): string {
  const moment = new Date(iso);
  if (iso === '' || Number.isNaN(moment.getTime())) return '';
  const shifted = new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}

/** What a person chose in such a field, as a moment that means the same everywhere. */
export function fromLocal(text: string): string {
  const moment = new Date(text);
  return text === '' || Number.isNaN(moment.getTime()) ? '' : moment.toISOString();
}
