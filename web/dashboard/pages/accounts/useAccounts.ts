import { useClient } from '../../service/client.tsx';
import { useQuery } from '../../service/queries.ts';
import type { Organization, ReportRow } from '../../service/types.ts';

/** The live stream does not report each step of a sync, so its progress is polled. */
const while_syncing_ms = 1_000;

/** The client's organizations and accounts. */
export function useAccounts() {
  const { client_id } = useClient();
  const options = { live: ['accounts', 'jobs'] as const };
  const accounts = useQuery('accounts.list', { client_id }, options);
  const syncing = accounts.data?.organizations.some(isSyncing) ?? false;
  // The same query again: it shares its data with the one above and adds the interval.
  useQuery('accounts.list', { client_id }, { ...options, enabled: syncing, refresh_ms: while_syncing_ms });
  return accounts;
}

/** The connection reports of accounts and of links that failed. Components share one query. */
export function useReports(): readonly ReportRow[] {
  const { client_id } = useClient();
  return useQuery('connection-reports.list', { client_id }, { live: ['accounts'] }).data?.reports ?? [];
}

export function isSyncing({ sync }: Organization): boolean {
  return sync !== null && ['queued', 'running'].includes(sync.state);
}
