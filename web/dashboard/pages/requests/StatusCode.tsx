import { Badge } from '@mantine/core';

export function StatusCode({ status }: { status: number }) {
  const color = status >= 500 ? 'red' : status >= 400 ? 'orange' : 'green';
  return (
    <Badge color={color} variant="light">
      {status}
    </Badge>
  );
}
