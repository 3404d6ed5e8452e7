import {
  keepPreviousData,
  type QueryClient,
  useInfiniteQuery,
  useMutation,
  useQueryClient,
  useQuery as useReactQuery,
} from '@tanstack/react-query';
import { endpoints } from './api.gen.ts';
import {
  type ApiError,
  type Body,
  callWith,
  type EndpointId,
  type PagedId,
  type Params,
  type Query,
  type ResponseOf,
  type RowOf,
} from './api.ts';

declare module '@tanstack/react-query' {
  interface Register {
    queryMeta: { isFinal?: () => boolean };
  }
}

/** The topics of the server's live stream. */
export const topics = ['jobs', 'events', 'accounts'] as const;
export type Topic = (typeof topics)[number];

type Options<Id extends EndpointId> = {
  query?: Query<Id>;
  /** Refetched when one of these changes. */
  live?: readonly Topic[];
  /** Whether a response can no longer change, so that live updates skip it. */
  isFinal?: (response: ResponseOf<Id>) => boolean;
  enabled?: boolean;
  refresh_ms?: number;
};

/** Reads from the dashboard's API: `useQuery('jobs.get', { client_id, job_id })`. */
export function useQuery<Id extends EndpointId>(
  id: Id,
  params: Params<Id>,
  { query = {}, live = [], isFinal, enabled = true, refresh_ms }: Options<Id> = {},
) {
  const client = useQueryClient();
  // `refreshTopic` finds queries by the topics in their key.
  const queryKey = [live, id, params, query];
  const isFinalNow = () => {
    const response = client.getQueryData<ResponseOf<Id>>(queryKey);
    return response !== undefined && isFinal?.(response) === true;
  };
  return useReactQuery<ResponseOf<Id>, ApiError>({
    queryKey,
    queryFn: ({ signal }) => {
      // Failed requests count too: retries must not keep an unattended session open.
      const { dataUpdateCount = 0, errorUpdateCount = 0 } = client.getQueryState(queryKey) ?? {};
      const options = { query, signal, background: dataUpdateCount + errorUpdateCount > 0 };
      return callWith(id, params, options);
    },
    placeholderData: keepPreviousData,
    enabled,
    meta: { isFinal: isFinalNow },
    ...(refresh_ms === undefined ? {} : { refetchInterval: refresh_ms }),
  });
}

type Filters<Id extends EndpointId> = Query<Id> & Partial<Body<Id>>;

/** Reads a long list page by page. Filters are sent in the query of a GET and in the body of a POST. */
export function usePages<Id extends PagedId>(
  id: Id,
  params: Params<Id>,
  { live = [], filters = {} }: { live?: readonly Topic[]; filters?: Filters<Id> } = {},
) {
  const used = Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined && value !== ''));
  return useInfiniteQuery<ResponseOf<Id>, ApiError, RowOf<Id>[], unknown[], string | null>({
    queryKey: [live, id, params, used],
    initialPageParam: null,
    queryFn: ({ pageParam, signal }) => {
      const input = pageParam === null ? used : { ...used, before: pageParam };
      const options = endpoints[id].method === 'GET' ? { query: input } : { body: input };
      return callWith(id, params, { ...options, signal, background: true });
    },
    getNextPageParam: ({ next }) => next,
    select: ({ pages }) => pages.flatMap((page): RowOf<Id>[] => page.rows),
    placeholderData: keepPreviousData,
  });
}

/** Refetches every query that depends on a topic. */
export function refreshTopic(client: QueryClient, topic: Topic): Promise<void> {
  return client.invalidateQueries({
    predicate: ({ queryKey, meta }) =>
      Array.isArray(queryKey[0]) && queryKey[0].includes(topic) && meta?.isFinal?.() !== true,
  });
}

/** Something the operator does. Afterwards everything on the page is refetched. */
export function useAction<Input, Result = unknown>(action: (input: Input) => Promise<Result>) {
  const client = useQueryClient();
  return useMutation<Result, ApiError, Input>({
    mutationFn: action,
    // A result may be a secret, which must not outlive the component that showed it.
    gcTime: 0,
    onSettled: () => client.invalidateQueries(),
  });
}
