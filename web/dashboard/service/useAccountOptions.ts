import { useClient } from './client.tsx';
import { useQuery } from './queries.ts';

/** The client's accounts as options of a select. */
export function useAccountOptions(): { value: string; label: string }[] {
  const { client_id } = useClient();
  const accounts = useQuery('accounts.list', { client_id }, { live: ['accounts'] });
  return (accounts.data?.organizations ?? []).flatMap(({ org_id, accounts }) =>
    accounts.map(({ id, user_id }) => ({ value: id, label: `${org_id} · ${user_id}` })),
  );
}
