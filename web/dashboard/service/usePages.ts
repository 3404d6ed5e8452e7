import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { ask, type Problem } from './ask.ts';
import type { Topic } from './useService.ts';

type Page<Row> = { rows: Row[]; next: string | null };
type Options = {
  live?: readonly Topic[];
  /** Filters that may stand in an address; empty ones are left out. */
  filters?: Record<string, string | undefined>;
  /** What is searched for and must not stand in an address: the list is then asked for by POST. */
  search?: Record<string, unknown> | undefined;
};

/** A long list, newest first, that grows at its end: `before` is where the next page begins. */
export function usePages<Row>(path: string, { live = [], filters = {}, search }: Options = {}) {
  const asked = Object.entries(filters).filter((pair): pair is [string, string] => !!pair[1]);
  const list = useInfiniteQuery<Page<Row>, Problem, Row[], unknown[], string | null>({
    queryKey: [live, path, asked, search ?? null],
    initialPageParam: null,
    queryFn: ({ pageParam, signal }) => {
      const paged: [string, string][] = pageParam === null ? asked : [...asked, ['before', pageParam]];
      if (search === undefined) return ask(`${path}?${new URLSearchParams(paged)}`, { signal, background: true });
      return ask(path, { method: 'POST', body: { ...Object.fromEntries(paged), ...search }, signal, background: true });
    },
    getNextPageParam: ({ next }) => next,
    select: ({ pages }) => pages.flatMap((page) => page.rows),
    placeholderData: keepPreviousData,
  });
  return list;
}
