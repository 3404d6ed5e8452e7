import { Skeleton, Stack } from '@mantine/core';

/** The placeholder of everything that is being loaded, about as high as what replaces it, so that nothing jumps. */
export function Loading({ rows = 3 }: { rows?: number }) {
  const numbers = Array.from({ length: rows }, (_, row) => row);
  if (rows < list_rows) {
    return (
      <Stack gap="sm" role="status" aria-busy="true" aria-label="Loading">
        {numbers.map((row) => (
          <Skeleton key={row} height={52} />
        ))}
      </Stack>
    );
  }
  return (
    <div className="scroll skeleton" role="status" aria-busy="true" aria-label="Loading">
      {numbers.map((row) => (
        <div key={row} className="skeleton-line">
          <Skeleton height={14} width={row === 0 ? '30%' : `${60 + ((row * 17) % 35)}%`} />
        </div>
      ))}
    </div>
  );
}

/** A list: its head and the rows that fit on a screen. */
export const list_rows = 9;
