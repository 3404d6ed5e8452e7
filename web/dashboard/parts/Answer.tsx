import { Skeleton, Stack } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Problem } from '../service/ask.ts';
import { Failure } from './Failure.tsx';

/** What was asked for once it is there; until then where it will be, and what went wrong if something did. */
export function Answer<Data>({
  to,
  children,
}: {
  to: UseQueryResult<Data, Problem>;
  children: (data: Data) => ReactNode;
}) {
  return (
    <>
      {to.error && <Failure problem={to.error} retry={to.refetch} />}
      {to.data !== undefined && (
        // What was asked for before stays in its place meanwhile, and is not taken for the answer.
        <div className="answer" aria-busy={to.isPlaceholderData} inert={to.isPlaceholderData}>
          {children(to.data)}
        </div>
      )}
      {to.isPending && (
        <Stack aria-busy="true" aria-label="Loading">
          <Skeleton height={36} />
          <Skeleton height={36} />
          <Skeleton height={36} />
        </Stack>
      )}
    </>
  );
}
