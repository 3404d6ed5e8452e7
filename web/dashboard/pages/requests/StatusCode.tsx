import { Badge } from '@mantine/core';

/** Only errors have a color: most responses are successes. */
export function StatusCode({ status }: { status: number }) {
  if (status < 400) return <span className="nowrap">{status}</span>;
  return (
    <Badge color={status >= 500 ? 'red' : 'orange'} variant="light">
      {status}
    </Badge>
  );
}
