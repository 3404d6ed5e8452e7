import { groupCommit } from '../../platform/db/batches.ts';
import { addKeyFetches } from '../accounts/emrApps.ts';
import type { Context } from '../context.ts';

/** The EMR app whose key set was fetched. */
export type AppOfClient = { client_id: string; app_id: string };

/** Anyone may fetch a key set, so that fetches are counted by one statement per application and second at most. */
const interval_ms = 1_000;

/**
 * Counts the fetches of key sets by EMR app: an EMR that cannot reach ours refuses every sign-in, and only says that it
 * does not know the client.
 */
export function countKeySetFetches({ db, log }: Pick<Context, 'db' | 'log'>) {
  const group = groupCommit<AppOfClient>(
    async (fetches) => {
      for (const client_id of new Set(fetches.map((each) => each.client_id))) {
        const ids = fetches.filter((each) => each.client_id === client_id).map(({ app_id }) => app_id);
        await db.tenant(client_id, (tx) => addKeyFetches(tx, ids));
      }
      return [];
    },
    { interval_ms },
  );
  return {
    add: (fetched: AppOfClient) => {
      group.add(fetched).catch((error: unknown) => log.warn({ err: error }, 'fetches of key sets were not counted'));
    },
    flushed: () => group.flushed(),
  };
}
