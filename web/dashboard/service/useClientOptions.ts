import { useQuery } from './queries.ts';

/** All clients as options of a select. */
export function useClientOptions(): { value: string; label: string }[] {
  const { data } = useQuery('clients.list', {}, { live: ['accounts'] });
  return (data?.clients ?? []).map(({ client_id, name }) => ({ value: client_id, label: name }));
}
