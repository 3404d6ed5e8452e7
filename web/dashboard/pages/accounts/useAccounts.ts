import type { EmrRow, OrganizationRow } from '../../../../src/model/dashboard/accounts.ts';
import { useClient } from '../../service/client.tsx';
import { useAnswer } from '../../service/useService.ts';
import { isSyncing } from './SyncState.tsx';

/** A sync says kind by kind how far it is, and nobody rings for each. */
const while_syncing_ms = 1_000;

/** The client's organizations and accounts, kept fresh. */
export function useAccounts() {
  const { of } = useClient();
  const options = { live: ['accounts', 'jobs'] as const };
  const accounts = useAnswer<{ organizations: OrganizationRow[]; emrs: EmrRow[] }>(of('accounts'), options);
  const syncing = accounts.data?.organizations.some(isSyncing) ?? false;
  // The same question again: it shares its answer with the one above, and adds the beat.
  useAnswer(of('accounts'), { ...options, enabled: syncing, refresh_ms: while_syncing_ms });
  return accounts;
}
