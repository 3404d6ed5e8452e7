import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { ApiError } from '../service/api.ts';
import { ErrorAlert } from './errors.tsx';
import { Loading } from './Loading.tsx';

/** The data of a query once it is loaded; before that a placeholder, and an error if there was one. */
export function QueryResult<Data>({
  query,
  rows,
  placeholder = <Loading {...(rows && { rows })} />,
  children,
}: {
  query: UseQueryResult<Data, ApiError>;
  /** The height of the placeholder, see Loading. */
  rows?: number;
  /** Shown instead, where more is known of what is being loaded. */
  placeholder?: ReactNode;
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
      {query.isPending && placeholder}
    </>
  );
}
