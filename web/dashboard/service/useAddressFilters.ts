import { useSearchParams } from 'wouter';

/** The filters that stand in the address, so that a look can be kept and sent on. An empty one is taken out. */
export function useAddressFilters() {
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
