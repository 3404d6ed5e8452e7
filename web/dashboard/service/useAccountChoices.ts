import type { OrganizationRow } from '../../../src/model/dashboard/accounts.ts';
import { useClient } from './client.tsx';
import { useAnswer } from './useService.ts';

/** The accounts of the client that is looked at, to choose from. */
export function useAccountChoices(): { value: string; label: string }[] {
  const { of } = useClient();
  const linked = useAnswer<{ organizations: OrganizationRow[] }>(of('accounts'), { live: ['accounts'] });
  return (linked.data?.organizations ?? []).flatMap(({ org_id, accounts }) =>
    accounts.map(({ id, user_id }) => ({ value: id, label: `${org_id} · ${user_id}` })),
  );
}
