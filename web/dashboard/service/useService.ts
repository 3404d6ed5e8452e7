import { keepPreviousData, type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { ask, type Problem } from './ask.ts';

declare module '@tanstack/react-query' {
  interface Register {
    queryMeta: { isSettled?: () => boolean };
  }
}

/** What changes by itself, as the service names it in its stream. */
export const topics = ['jobs', 'events', 'accounts'] as const;
export type Topic = (typeof topics)[number];

type Options<Answer> = {
  /** Fetched anew when one of these changes. */
  live?: readonly Topic[];
  /** Whether nothing of an answer can change any more: it is then not fetched anew by itself. */
  settled?: (answer: Answer) => boolean;
  enabled?: boolean;
  /** Search by POST, where what is searched for must not stand in an address. */
  body?: unknown;
  refresh_ms?: number;
};

/** What the service says to a question, kept while it is looked at and fetched anew when something has changed. */
export function useAnswer<Answer>(
  path: string,
  { live = [], settled, enabled = true, body, refresh_ms }: Options<Answer> = {},
) {
  const client = useQueryClient();
  // Topics stand first, so that a change finds every question it concerns.
  const queryKey = [live, path, body ?? null];
  const isSettled = () => {
    const answer = client.getQueryData<Answer>(queryKey);
    return answer !== undefined && settled?.(answer) === true;
  };
  return useQuery<Answer, Problem>({
    queryKey,
    queryFn: ({ signal }) => {
      // One that was refused was asked too: asking it again and again must not keep an unattended session open.
      const { dataUpdateCount = 0, errorUpdateCount = 0 } = client.getQueryState(queryKey) ?? {};
      return ask<Answer>(path, {
        background: dataUpdateCount + errorUpdateCount > 0,
        signal,
        ...(body === undefined ? {} : { method: 'POST' as const, body }),
      });
    },
    placeholderData: keepPreviousData,
    enabled,
    meta: { isSettled },
    ...(refresh_ms === undefined ? {} : { refetchInterval: refresh_ms }),
  });
}

/** Everything that shows something of a topic is fetched anew. */
export function refresh(client: QueryClient, topic: Topic): Promise<void> {
  return client.invalidateQueries({
    predicate: ({ queryKey, meta }) =>
      Array.isArray(queryKey[0]) && queryKey[0].includes(topic) && meta?.isSettled?.() !== true,
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
