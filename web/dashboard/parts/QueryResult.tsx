import { Skeleton, Stack } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { ApiError } from '../service/api.ts';
import { ErrorAlert } from './errors.tsx';

/** The data of a query once it is loaded; before that a placeholder, and an error if there was one. */
export function QueryResult<Data>({
  query,
  children,
}: {
  query: UseQueryResult<Data, ApiError>;
  children: (data: Data) => ReactNode;
}) {
  return (
    <>
      {query.error && <ErrorAlert error={query.error} retry={query.refetch} />}
      {query.data !== undefined && (
        // Data of the previous query stays visible, but marked as busy and inert, until the new data arrives.
        <div className="result" aria-busy={query.isPlaceholderData} inert={query.isPlaceholderData}>
          {children(query.data)}
        </div>
      )}
      {query.isPending && (
        <Stack aria-busy="true" aria-label="Loading">
          <Skeleton height={36} />
          <Skeleton height={36} />
          <Skeleton height={36} />
        </Stack>
      )}
    </>
  );
}
