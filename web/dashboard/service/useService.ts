import { keepPreviousData, type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { ask, type Problem } from './ask.ts';

/** What changes by itself, as the service names it in its stream. */
export type Topic = 'jobs' | 'events' | 'accounts';

type Options = {
  /** Fetched anew when one of these changes. */
  live?: readonly Topic[];
  enabled?: boolean;
  /** Search by POST, where what is searched for must not stand in an address. */
  body?: unknown;
  refresh_ms?: number;
};

/** What the service says to a question, kept while it is looked at and fetched anew when something has changed. */
export function useAnswer<Answer>(path: string, { live = [], enabled = true, body, refresh_ms }: Options = {}) {
  const client = useQueryClient();
  return useQuery<Answer, Problem>({
    // Topics stand first, so that a change finds every question it concerns.
    queryKey: [live, path, body ?? null],
    queryFn: ({ signal, queryKey }) => {
      const again = client.getQueryData(queryKey) !== undefined;
      return ask<Answer>(path, {
        background: again,
        signal,
        ...(body === undefined ? {} : { method: 'POST' as const, body }),
      });
    },
    placeholderData: keepPreviousData,
    enabled,
    ...(refresh_ms === undefined ? {} : { refetchInterval: refresh_ms }),
  });
}

/** Everything that shows something of a topic is fetched anew. */
export function refresh(client: QueryClient, topic: Topic): Promise<void> {
  return client.invalidateQueries({
    predicate: ({ queryKey }) => Array.isArray(queryKey[0]) && queryKey[0].includes(topic),
  });
}

/** Something the person does. Afterwards everything on the page is fetched anew. */
export function useAct<Input, Answer = unknown>(act: (input: Input) => Promise<Answer>) {
  const client = useQueryClient();
  return useMutation<Answer, Problem, Input>({
    mutationFn: act,
    // What was answered may be a secret that was shown: it goes with the part that showed it.
    gcTime: 0,
    onSettled: () => client.invalidateQueries(),
  });
}
