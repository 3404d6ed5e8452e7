import { useSearchParams } from 'wouter';

/** Filters in the URL, so that a filtered view can be bookmarked and shared. Empty ones are removed. */
export function useUrlFilters() {
  const [params, setParams] = useSearchParams();
  const set = (name: string, value: string) =>
    setParams(
      (before) => {
        const after = new URLSearchParams(before);
        if (value === '') after.delete(name);
        else after.set(name, value);
        return after;
      },
      { replace: true },
    );
  return {
    get: (name: string) => params.get(name) ?? '',
    set,
    clear: () => setParams(new URLSearchParams(), { replace: true }),
  };
}
