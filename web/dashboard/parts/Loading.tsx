import { Skeleton, Stack } from '@mantine/core';

/** The placeholder of everything that is being loaded, about as high as what replaces it, so that nothing jumps. */
export function Loading({ rows = 3 }: { rows?: number }) {
  return (
    <Stack gap="sm" role="status" aria-busy="true" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all the same.
        <Skeleton key={row} height={row === 0 && rows > 3 ? 36 : 52} />
      ))}
    </Stack>
  );
}

/** A list: its head and the rows that fit on a screen. */
export const list_rows = 9;
