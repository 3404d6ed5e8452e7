import { useSearchParams } from 'wouter';

/** Filters in the URL, so that a filtered view can be bookmarked and shared. Empty ones are removed. */
export function useUrlFilters() {
  const [params, setParams] = useSearchParams();
  const setAll = (values: Record<string, string>) =>
    setParams(
      (before) => {
        const after = new URLSearchParams(before);
        for (const [name, value] of Object.entries(values)) {
          if (value === '') after.delete(name);
          else after.set(name, value);
        }
        return after;
      },
      { replace: true },
    );
  return {
    get: (name: string) => params.get(name) ?? '',
    set: (name: string, value: string) => setAll({ [name]: value }),
    setAll,
    clear: () => setParams(new URLSearchParams(), { replace: true }),
  };
}
